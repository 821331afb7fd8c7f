# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde rpc: calls at sockets of programs in any language, against the counts of the test's clients and servers."""
import collections
import contextlib
import fcntl
import json
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import termios
import threading
import time

import pytest

import helpers
import older_kernel

N = 500     # calls of a client; each is seen at both ends
SO_SNDBUFFORCE = 32  # include/uapi/asm-generic/socket.h


class Server:
    """HTTP/1, a thread per connection: /NUMBER answers with that many bytes, /e with 404, /late without length."""

    def __init__(self, family=socket.AF_INET, address=("127.0.0.1", 0)):
        self.listener = socket.socket(family, socket.SOCK_STREAM)
        self.listener.bind(address)
        self.listener.listen(64)
        self.address = self.listener.getsockname()
        self.served = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(conn,), daemon=True).start()

    @staticmethod
    def _answer(path):
        if path == "/e":
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        if path == "/late":
            return b"HTTP/1.0 200 OK\r\n\r\nuntil the end"
        if path.startswith("/chunked"):
            return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        size = int(path[1:])
        return f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode() + b"x" * size

    def _serve(self, conn):
        with conn, conn.makefile("rb") as lines:
            while True:
                request = lines.readline()
                if not request:
                    return
                while lines.readline() not in (b"\r\n", b""):
                    pass
                path = request.split()[1].decode()
                conn.sendall(self._answer(path))
                self.served += 1
                if path == "/late":
                    return

    def close(self):
        self.listener.close()


CLIENT = """
import socket, sys
family, address, n, depth, paths = eval(sys.stdin.read())
for at in range(0, n, 100):
    with socket.socket(family) as s, s.makefile("rb") as answers:
        s.connect(address)
        mine = [paths[i % len(paths)] for i in range(at, min(at + 100, n))]
        for first in range(0, len(mine), depth):
            batch = mine[first:first + depth]
            s.sendall(b"".join(b"GET %s HTTP/1.1\\r\\nHost: here\\r\\n\\r\\n" % p.encode() for p in batch))
            for p in batch:
                length = 0
                while True:
                    line = answers.readline()
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                    if line == b"\\r\\n":
                        break
                if p.startswith("/chunked"):
                    while answers.readline() != b"0\\r\\n":
                        pass
                    answers.readline()
                answers.read(length)
"""


@pytest.fixture
def server():
    made = []

    def make(*words, **options):
        made.append(Server(*words, **options))
        return made[-1]
    yield make
    for one in made:
        one.close()


def run_client(server, n, paths, depth=1, family=socket.AF_INET):
    child = subprocess.Popen([sys.executable, "-c", CLIENT], stdin=subprocess.PIPE, text=True)
    child.communicate(repr((int(family), server.address, n, depth, paths)), timeout=60)
    assert child.returncode == 0
    return child.pid


def calls_of(child, pids):
    return [ev for ev in child.events if ev["type"] == "rpc.call" and ev["proc"]["pid"] in pids]


def count(events):
    return collections.Counter((ev["side"], ev["path"], ev.get("http_status"), ev["end"]) for ev in events)


def wait_for(child, pids, n):
    helpers.wait_until(lambda: len(calls_of(child, pids)) >= n)


@pytest.mark.parametrize("family, address", [(socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_INET6, ("::1", 0)),
                                             (socket.AF_UNIX, None)])
def test_every_call_once_at_both_ends(sonde, server, tmp_path, kernel, family, address):
    one = server(family, address or str(tmp_path / "socket"))
    child = sonde("rpc", "--json", "--source", "socket", before=kernel)
    paths = ["/5", "/e", "/100000", "/chunked", "/700"]
    pid = run_client(one, N, paths, family=family)
    both = {pid, os.getpid()}
    wait_for(child, both, 2 * N)
    child.finish()
    each = N // len(paths)
    assert count(calls_of(child, both)) == {
        (side, path, 404 if path == "/e" else 200, "done"): each for side in ("client", "server") for path in paths}
    for ev in calls_of(child, both):
        assert ev["kind"] == "http" and ev["source"] == "socket" and not ev.get("incomplete")
        assert ev["error"] == (ev["path"] == "/e" and ev["side"] == "client")
        assert ev["received" if ev["side"] == "client" else "sent"] >= int(
            ev["path"][1:] if ev["path"][1:].isdigit() else 0)
        assert 0 < ev["latency"] < 10**10
    if family != socket.AF_UNIX:
        numbers = {ev["call_id"]: ev for ev in calls_of(child, both)}
        assert len(numbers) == 2 * N
        assert all(numbers[ev["peer_call"]]["path"] == ev["path"] for ev in numbers.values())


PAIR = """
import os, socket, sys
listener = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listener.getsockname())
server = listener.accept()[0]
for i in range(int(sys.argv[1])):
    client.sendall(b"GET /5 HTTP/1.1\\r\\nHost: here\\r\\n\\r\\n")
    server.recv(1000)
    server.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello")
    client.recv(1000)
print(os.getpid())
"""


def test_a_network_namespace_selects(sonde, netns):
    """Calls of one namespace, and none of another in which the same program ran before."""
    inside, other = netns(), netns()
    child = sonde("rpc", "--json", "--source", "http", "--netns", inside.name)
    without, within = (int(ns.run(sys.executable, "-c", PAIR, str(N)).stdout) for ns in (other, inside))
    wait_for(child, {within}, 2 * N)
    child.finish()
    assert len(calls_of(child, {within})) == 2 * N and not calls_of(child, {without})
    assert {ev["netns"] for ev in child.events if ev["type"] == "rpc.call"} == {inside.inode}


def test_record_shows_calls_of_sockets(sonde, netns, tmp_path):
    """Their type has the number of another probe, which does not run."""
    ns, store = netns(), str(tmp_path / "store")
    child = sonde("record", "--set", "call:source=http", "--netns", ns.name, "--json", "--where", "evt.type=rpc.call",
                  "-o", f"store:{store}")
    pid = int(ns.run(sys.executable, "-c", PAIR, "10").stdout)
    wait_for(child, {pid}, 20)
    child.finish()
    assert len(calls_of(child, {pid})) == 20
    again = helpers.sh(helpers.BINARY, "record", "-r", store, "--json", "--where", "evt.type=rpc.call").stdout
    assert [json.loads(line)["path"] for line in again.splitlines() if "rpc.call" in line] == ["/5"] * 20


@pytest.mark.parametrize("kernel", ["this", "5.10"], indirect=True)
def test_answer_until_the_end_of_the_connection(sonde, server, kernel):
    one = server()
    child = sonde("rpc", "--json", "--source", "socket", "--pid", str(os.getpid()), before=kernel)
    with socket.create_connection(one.address) as s:
        s.sendall(b"GET /late?token=secret HTTP/1.0\r\nHost: here\r\n\r\n".replace(b"?token=secret", b""))
        while s.recv(100):
            pass
    wait_for(child, {os.getpid()}, 2)
    child.finish()
    assert count(calls_of(child, {os.getpid()})) == {(side, "/late", 200, "done"): 1 for side in ("client", "server")}


def test_pipelined_calls_are_whole_or_cut(sonde, server, kernel):
    """Each call is shown once; those whose answers were not kept say so."""
    one = server()
    child = sonde("rpc", "--json", "--source", "socket", before=kernel)
    pid = run_client(one, N, ["/200"], depth=10)
    wait_for(child, {pid}, N)
    child.finish()
    seen = calls_of(child, {pid})
    assert len(seen) == N
    assert all(ev.get("http_status") == 200 or "cut" in ev["incomplete"] for ev in seen)
    assert len([ev for ev in seen if ev.get("incomplete")]) < N


def exchange_at_once(sonde, requests, answers, n, **options):
    """All requests in one operation, then all responses; the calls of both ends."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        child = sonde("rpc", "--json", "--source", "http", "--port", str(listener.getsockname()[1]), **options)
        with socket.create_connection(listener.getsockname()) as client, listener.accept()[0] as conn:
            client.sendall(requests)
            assert conn.recv(len(requests), socket.MSG_WAITALL) == requests
            conn.sendall(answers)
            assert client.recv(len(answers), socket.MSG_WAITALL) == answers
        wait_for(child, {os.getpid()}, 2 * n)
    child.finish()
    return calls_of(child, {os.getpid()})


@pytest.mark.parametrize("kernel", ["this", "5.10"], indirect=True)
def test_first_turn_of_many_requests(sonde, kernel):
    """Each request is kept, also beyond --head, before anybody knows that they follow each other."""
    n = 40
    answers = Server._answer("/5") * n
    requests = b"GET /5 HTTP/1.1\r\nHost: here\r\nCookie: %s\r\n\r\n" % (b"c" * 80) * n
    seen = exchange_at_once(sonde, requests, answers, n, before=kernel)
    assert [sum(ev["side"] == side for ev in seen) for side in ("client", "server")] == [n, n]
    assert {ev["path"] for ev in seen} == {"/5"}


def test_operations_beyond_a_record(sonde):
    """Requests and responses that follow each other, 50 KiB in one operation each: all have their own status."""
    n, kinds = 300, [("/7", Server._answer("/7")), ("/e", Server._answer("/e"))]
    asked = [kinds[i * i % 3 % 2] for i in range(n)]
    requests = b"".join(b"GET %s HTTP/1.1\r\nHost: here\r\nCookie: %s\r\n\r\n" % (path.encode(), b"c" * 130)
                        for path, _ in asked)
    answers = b"".join(answer.replace(b"\r\n", b"\r\nX-Long: %s\r\n" % (b"x" * 100), 1) for _, answer in asked)
    seen = exchange_at_once(sonde, requests, answers, n)
    assert count(seen) == collections.Counter(
        (side, path, 404 if path == "/e" else 200, "done") for side in ("client", "server") for path, _ in asked)


NGINX = """daemon off; master_process off; pid {0}/pid; error_log {0}/error;
events {{}}
http {{ access_log off; client_max_body_size 0; client_body_temp_path {0}; proxy_temp_path {0};
    server {{ listen unix:{0}/ready; listen 127.0.0.1:{1}; root {0};
    location /200 {{ return 200 yes; }} location /302 {{ return 302 /; }} location /404 {{ return 404; }}
    location /take {{ return 202; }} location /pass {{ proxy_pass http://127.0.0.1:{1}/take; }} }} }}
"""


@pytest.fixture
def nginx(tmp_path):
    """Its port and process."""
    if not shutil.which("nginx"):
        pytest.skip("nginx is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (tmp_path / "conf").write_text(NGINX.format(tmp_path, port))
    with subprocess.Popen([shutil.which("nginx"), "-c", tmp_path / "conf", "-e", tmp_path / "error"]) as child:
        helpers.wait_until(lambda: os.path.exists(tmp_path / "ready"))
        yield port, child.pid
        child.terminate()


def ask_at_once(port, requests):
    """Sends all of them, in one operation that does not wait, before a response is read. Returns the statuses."""
    with socket.create_connection(("127.0.0.1", port)) as s, s.makefile("rb") as answers:
        s.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 128 << 20)
        assert s.send(b"".join(requests)) == sum(map(len, requests))
        statuses = []
        for _ in requests:
            statuses.append(int(answers.readline().split()[1]))
            head = dict(line.lower().split(b": ", 1) for line in iter(answers.readline, b"\r\n"))
            answers.read(int(head[b"content-length"]))
    return statuses


def test_requests_behind_each_other_at_nginx(sonde, nginx):
    """It reads 1 KiB, then 8, that end within a head, and writes each response alone: each has its own status."""
    port, server = nginx
    child, sent = sonde("rpc", "--json", "--source", "http", "--port", str(port)), 0
    for n in [1, 30, 64, 65, 100, 200]:
        paths = [f"/{(200, 302, 404)[i * i % 3 if i % 5 else 2]}/{i}" for i in range(sent, sent + n)]
        assert ask_at_once(port, [b"GET %s HTTP/1.1\r\nHost: here\r\n\r\n" % path.encode() for path in paths]) == [
            int(path[1:4]) for path in paths]
        sent += n
    wait_for(child, {os.getpid(), server}, 2 * sent)
    child.finish()
    for pid in (os.getpid(), server):
        seen = calls_of(child, {pid})
        assert sorted(int(ev["path"].split("/")[2]) for ev in seen) == list(range(sent))
        assert [ev for ev in seen if ev.get("http_status", int(ev["path"][1:4])) != int(ev["path"][1:4])] == []
        assert pid != server or all("http_status" in ev for ev in seen)


def content_of(path, chunked):
    """A request and its status; the number in the path is the size of its content, or of a file's."""
    size = int(path.rpartition("/")[2])
    if path.startswith("/f/"):
        return b"GET %s HTTP/1.1\r\nHost: here\r\n\r\n" % path.encode(), 200
    head, content = b"POST %s HTTP/1.1\r\nHost: here\r\n" % path.encode(), b"x" * size
    if chunked:
        return head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (size, content), 202
    return head + b"Content-Length: %d\r\n\r\n" % size + content, 202


def test_content_behind_each_other_at_nginx(sonde, nginx, tmp_path):
    """Contents of all sizes, both ways, of requests that do not wait: each call is shown once, with its status."""
    port, server = nginx
    sizes = [1, 300, 5000, 20000, 70000, 1000000]
    (tmp_path / "f").mkdir()
    for size in sizes:
        (tmp_path / "f" / str(size)).write_bytes(b"f" * size)
    child, made, passed = sonde("rpc", "--json", "--source", "http", "--port", str(port)), collections.Counter(), 0
    for seed in range(16):
        rnd = random.Random(seed)
        paths = [f"/{rnd.choice(['f', 'take', 'pass'])}/{rnd.choice(sizes)}" for _ in range(rnd.choice([1, 4, 20]))]
        asked = [content_of(path, rnd.random() < 0.5) for path in paths]
        assert ask_at_once(port, [request for request, _ in asked]) == [status for _, status in asked]
        made += collections.Counter((path, status, "done") for path, (_, status) in zip(paths, asked))
        passed += sum(path.startswith("/pass") for path in paths)
    wait_for(child, {os.getpid(), server}, 2 * sum(made.values()) + 2 * passed)
    child.finish()

    def side_of(pid, side):
        seen = count(ev for ev in calls_of(child, {pid}) if ev["side"] == side)
        return collections.Counter({row[1:]: n for row, n in seen.items()})
    assert side_of(os.getpid(), "client") == made
    between = side_of(server, "client")
    assert sum(between.values()) == passed and side_of(server, "server") == made + between
    assert not [ev for ev in child.events if ev["type"] == "sonde.lost" and ev["probe"] == "call"]


@pytest.mark.parametrize("kernel", ["5.10"], indirect=True)
def test_calls_of_which_nothing_is_kept(sonde, kernel):
    """Content hides the second and third call of each end: at least one of them is told as lost, never too many."""
    asks, answers = content_of("/20000", False)[0] * 3, Server._answer("/20000") * 3
    with socket.create_server(("127.0.0.1", 0)) as listener:
        child = sonde("rpc", "--json", "--source", "http", "--port", str(listener.getsockname()[1]), before=kernel)
        with socket.create_connection(listener.getsockname()) as client, listener.accept()[0] as conn:
            client.sendall(asks)
            assert conn.recv(len(asks), socket.MSG_WAITALL) == asks
            conn.sendall(answers)
            assert client.recv(len(answers), socket.MSG_WAITALL) == answers
        helpers.wait_until(lambda: len([ev for ev in child.events if ev["type"] == "sonde.lost"]) == 2)
    child.finish()
    assert [(ev["cause"], ev["count"]) for ev in child.events if ev["type"] == "sonde.lost"] == [("no_bytes", 1)] * 2
    assert len(calls_of(child, {os.getpid()})) in (2, 4)
    assert "2 of " in child.stderr and "neither their requests nor their responses were kept" in child.stderr


def test_responses_beyond_requests(sonde, tmp_path):
    """Each response that belongs to no request is told, live and by a replay: event, ledger, last line, explain."""
    request, answer = b"GET /5 HTTP/1.1\r\nHost: here\r\n\r\n", Server._answer("/5")
    rec = str(tmp_path / "calls.rec")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        words = ["--source", "http", "--port", str(listener.getsockname()[1])]
        child = sonde("rpc", "--json", *words, "-o", f"rec:{rec}", "--payload", "64")
        explains = sonde("rpc", "explain", "--json", *words, "--duration", "1m", str(os.getpid()))
        with socket.create_connection(listener.getsockname()) as client, listener.accept()[0] as conn:
            for answers in (1, 2, 1):
                client.sendall(request)
                assert conn.recv(1000) == request
                conn.sendall(answer * answers)
                got = b""
                while len(got) < len(answer) * answers:
                    got += client.recv(1000)
            wait_for(child, {os.getpid()}, 6)
            explains.stop()
    child.finish()
    runs = [child.events, [json.loads(line) for line in
                           helpers.sh(helpers.BINARY, "rpc", "-r", rec, "--json").stdout.splitlines()]]
    for events in runs:
        lost = [ev for ev in events if ev["type"] == "sonde.lost"]
        assert [(ev["cause"], ev["count"], ev["proc"]["pid"]) for ev in lost] == [("no_request", 1, os.getpid())] * 2
        ledger = [ev for ev in events if ev["type"] == "sonde.ledger" and ev.get("lost_by", {}).get("no_request")]
        assert [ev["lost_by"] for ev in ledger] == [{"no_request": 2}], events[-3:]
    assert "2 of " in child.stderr and "their responses were seen without their requests" in child.stderr
    assert {row["why"].split(";")[0] for row in explains.events if row["calls"]} == {
        "their responses were seen without their requests"}


def test_last_bytes_that_come_with_the_end(sonde):
    """One read takes the response and the FIN behind it, which is a sequence number, too."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        child = sonde("rpc", "--json", "--source", "http", "--port", str(listener.getsockname()[1]))
        with socket.create_connection(listener.getsockname()) as client, listener.accept()[0] as conn:
            client.sendall(b"GET /late HTTP/1.0\r\nHost: here\r\n\r\n")
            conn.recv(1000)
            conn.sendall(b"HTTP/1.0 404 Not Found\r\n\r\nuntil the end")
            conn.shutdown(socket.SHUT_WR)
            helpers.wait_until(lambda: client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1) == b"\x08")
            assert client.recv(1000).endswith(b"until the end")     # CLOSE_WAIT before
        wait_for(child, {os.getpid()}, 2)
    child.finish()
    assert count(calls_of(child, {os.getpid()})) == {(side, "/late", 404, "done"): 1 for side in ("client", "server")}


@contextlib.contextmanager
def splicing():
    """A function that reads a number of bytes of a socket through a pipe."""
    out, into = os.pipe()

    def splice(s, left):
        while left:
            moved = os.splice(s.fileno(), into, left)
            left -= moved
            while moved:
                moved -= len(os.read(out, moved))
    yield splice
    os.close(out)
    os.close(into)


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_UNIX])
def test_bytes_that_splice_reads(sonde, server, tmp_path, family):
    """
    No hook sees splice(2) read a socket. TCP's count, or that of the other end of a local socket, says how many bytes
    went by: behind contents the calls stay right, behind a response with its head they are unknown.
    """
    one = server(family, ("127.0.0.1", 0) if family == socket.AF_INET else str(tmp_path / "socket"))
    child = sonde("rpc", "--json", "--source", "http", "--pid", str(os.getpid()))
    contents, behind = ["/20000", "/e", "/7"] * 20, ["/e", "/7"] * 20
    with splicing() as splice, socket.socket(family) as s:
        s.connect(one.address)
        for path in contents + ["/9"] + behind:
            head, end, content = Server._answer(path).partition(b"\r\n\r\n")
            read = 0 if path == "/9" else len(head + end)
            s.sendall(b"GET %s HTTP/1.1\r\nHost: here\r\n\r\n" % path.encode())
            s.recv(read, socket.MSG_WAITALL)
            splice(s, len(head + end + content) - read)
        wait_for(child, {os.getpid()}, 2 * len(contents + behind) + 2)
    child.finish()

    def right(side, paths):
        return collections.Counter((side, path, 404 if path == "/e" else 200, "done") for path in paths)
    seen = calls_of(child, {os.getpid()})
    assert count(ev for ev in seen if ev["side"] == "server") == right("server", contents + ["/9"] + behind)
    assert count(ev for ev in seen if ev["side"] == "client") == right("client", contents) + collections.Counter(
        ("client", path, None, "lost") for path in ["/9"] + behind)
    assert all("cut" in ev["incomplete"] for ev in seen if ev["end"] == "lost")


def test_latency_is_between_the_clocks_of_both_programs(sonde):
    """It spans what the server took between its own calls, and is within what the client took around its own."""
    request, answer, inside, outside = b"GET /5 HTTP/1.1\r\nHost: here\r\n\r\n", Server._answer("/5"), [], []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        child = sonde("rpc", "--json", "--source", "http", "--port", str(listener.getsockname()[1]))
        with socket.create_connection(listener.getsockname()) as client, listener.accept()[0] as conn:
            for pause in [0.0, 0.002, 0.02] * 10:
                before = time.monotonic_ns()
                client.sendall(request)
                sent = time.monotonic_ns()
                assert conn.recv(1000) == request
                read = time.monotonic_ns()
                time.sleep(pause)
                answering = time.monotonic_ns()
                conn.sendall(answer)
                answered = time.monotonic_ns()
                assert client.recv(1000) == answer
                end = time.monotonic_ns()
                inside.append({"server": answering - read, "client": answered - sent})
                outside.append({"server": answered - sent, "client": end - before})
            wait_for(child, {os.getpid()}, 2 * len(inside))
    child.finish()
    for side in ("server", "client"):
        seen = [ev["latency"] for ev in calls_of(child, {os.getpid()}) if ev["side"] == side]
        assert len(seen) == len(inside)
        assert all(least[side] <= took <= most[side] for least, took, most in zip(inside, seen, outside)), (
            side, list(zip(inside, seen, outside)))


def test_time_in_the_queue(sonde):
    """Between the clock's times around the arrival and around the read."""
    def pending():
        return struct.unpack("i", fcntl.ioctl(conn, termios.FIONREAD, bytes(4)))[0]
    request, answer = b"GET /5 HTTP/1.1\r\nHost: here\r\n\r\n", Server._answer("/5")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        child = sonde("rpc", "--json", "--source", "http", "--port", str(listener.getsockname()[1]), "--show=queue")
        with socket.create_connection(listener.getsockname()) as client, listener.accept()[0] as conn:
            for _ in range(2):
                before = time.monotonic_ns()
                client.sendall(request)
                helpers.wait_until(lambda: pending() == len(request))
                arrived = time.monotonic_ns()
                time.sleep(0.01)
                begin = time.monotonic_ns()
                assert conn.recv(1000) == request
                end = time.monotonic_ns()
                conn.sendall(answer)
                assert client.recv(1000) == answer
            wait_for(child, {os.getpid()}, 4)
    child.finish()
    first, second = [ev for ev in calls_of(child, {os.getpid()}) if ev["side"] == "server"]
    assert "queue" not in first and begin - arrived <= second["queue"] <= end - before
    done = sonde.run("rpc", "--show", "queue", "--source", "go")
    assert done.returncode == 2 and "--source" in done.stderr


def test_doctor_says_which_hook_is_used(tmp_path):
    for before, spare in (((), None), (older_kernel.without(tmp_path, *older_kernel.LACKS["6.1"]), "ok")):
        lines = subprocess.run([*before, helpers.BINARY, "doctor", "--json"], capture_output=True, text=True,
                               timeout=100, check=False).stdout.splitlines()
        rows = {row["hook"]: row for row in map(json.loads, lines) if row.get("probe") == "call"}
        assert rows.get("sockets by system calls", {}).get("state") == spare
        for hook in ("sockets sent", "sockets received"):
            assert rows[hook]["state"] == ("absent" if spare else "ok"), rows[hook]


def ask_by_parts(client, conn, request, header, answer):
    """The server reads the header of the request first, as unbound and MariaDB do."""
    client.sendall(request)
    assert conn.recv(header) + conn.recv(1000) == request
    conn.sendall(answer)
    assert client.recv(1000) == answer


@pytest.mark.parametrize("kind, header", [("dns", 2), ("mysql", 4)])
def test_servers_that_read_the_length_first(sonde, kind, header):
    if kind == "dns":
        name = b"\x04shop\x04test\0\0\x01\0\x01"
        asked, answered = (b"\0\x07" + flags + b"\0\x01\0\0\0\0\0\0" + name for flags in (b"\x01\0", b"\x81\x83"))
        request, answer = (struct.pack(">H", len(m)) + m for m in (asked, answered))
        wanted = ("A", "shop.test", "NXDOMAIN")
    else:
        request, answer = b"\x0e\0\0\0\x03delete from t", b"\x07\0\0\x01\0\x02\0\2\0\0\0"
        wanted = ("DELETE", "t", None)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(listener.getsockname()) as client, listener.accept()[0] as conn:
            if kind == "mysql":     # a connection from before the start, without greeting
                ask_by_parts(client, conn, request, header, answer)
            child = sonde("rpc", "--json", "--source", kind, "--port", f"dns:{port},{port}" if kind == "dns" else
                          str(port))
            for _ in range(3):
                ask_by_parts(client, conn, request, header, answer)
            with contextlib.suppress(AssertionError):   # the counts say more than a time-out
                wait_for(child, {os.getpid()}, 6)
    child.finish()
    seen = calls_of(child, {os.getpid()})
    assert collections.Counter((ev["side"], ev["operation"], ev["resource"], ev.get("status")) for ev in seen) == {
        (side, *wanted): 3 for side in ("client", "server")}


def test_choice_in_the_kernel(sonde, server):
    """Another port, another kind, another process: nothing is shown."""
    one = server()
    for words in (("--source", "socket", "--port", str(one.address[1] ^ 1)), ("--source", "redis"),
                  ("--source", "socket", "--pid", "1")):
        child = sonde("rpc", "--json", *words)
        pid = run_client(one, 10, ["/5"])
        child.finish()
        assert not calls_of(child, {pid, os.getpid()}), words
    child = sonde("rpc", "--json", "--source", "redis,http", "--port", str(one.address[1]))
    pid = run_client(one, 10, ["/5"])
    wait_for(child, {pid}, 10)
    child.finish()


# First bytes of a side, with random ones behind them; some look like a request of a protocol that is known.
NOISE = [
    b"", b"SSH-2.0-OpenSSH_9.2p1\r\n", b"\x16\x03\x01\x00\xc8", b"\x17\x03\x03\x00\xc8", b"@RSYNCD: 31.0\n",
    b"220 mail ESMTP\r\n", b"\x00\x00\x00\xc8", b"\xc8\x00\x00\x00", b"get key\r\n", b"stats\r\n",
    b"\x80\x00\x00\x01", b"AMQP\0\0\x09\x01", b"\x01\x01\x00\x01\x00\x08\x00\x00\x00\x01",
    b"\x00\x00\x00\xc8\x00\x03\x00\x01\x00\x00\x00\x01\xff\xff",
    b"\x04\x00\x00\x01\x07\x00\x00\x00\xc3", b"PUB a 100\r\n", b"INFO {", b"*1\r\n$4\r\nPING\r\n",
]


def test_noise_is_no_call(sonde):
    child = sonde("rpc", "--json", "--source", "socket", "--pid", str(os.getpid()))
    for i in range(len(NOISE) * 20):
        a, b = socket.socketpair()
        with a, b:
            for turn in range(3):
                a.sendall((b"" if turn else NOISE[i % len(NOISE)]) + os.urandom(100 + i % 100))
                b.recv(4096)
                b.sendall(b"\x17\x03\x03\x00\xc8" + os.urandom(200) if turn else NOISE[1] + os.urandom(i % 50))
                a.recv(4096)
    child.finish()
    assert not [ev for ev in child.events if ev["type"] == "rpc.call"]


def test_recordings_need_consent_and_replay_equals_live(sonde, server, tmp_path):
    rec = str(tmp_path / "rec")
    done = sonde.run("rpc", "--source", "socket", "-o", f"rec:{rec}")
    assert done.returncode == 2 and "--payload" in done.stderr and not os.path.exists(rec)
    one = server()
    child = sonde("rpc", "--json", "--source", "socket", "--payload", "1", "-o", f"rec:{rec}")
    pid = run_client(one, 50, ["/5", "/e"])
    wait_for(child, {pid}, 50)
    child.finish()
    again = [json.loads(line) for line in sonde.run("rpc", "-r", rec, "--json").stdout.splitlines()]
    live = calls_of(child, {pid})
    assert [ev for ev in again if ev["type"] == "rpc.call" and ev["proc"]["pid"] == pid] and len(live) == 50
    assert count(ev for ev in again if ev["type"] == "rpc.call" and ev["proc"]["pid"] == pid) == count(live)
