# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde rpc: calls over OpenSSL and Go's crypto/tls, by threads, goroutines and event loops. Each request carries its
client's port."""
import asyncio
import collections
import glob
import os
import re
import ssl
import struct
import subprocess
import sys
import threading
import socket

import pytest

import helpers
from gocalls import gotree

DATA = os.path.join(helpers.ROOT, "tests", "data", "tls")
SOURCE = os.path.join(os.path.dirname(__file__), "tls_server.c")
CONNECTIONS = int(os.environ.get("SONDE_TLS_CONNECTIONS", "32"))
CALLS = int(os.environ.get("SONDE_TLS_CALLS", "20"))     # of a connection
AT_ONCE = 16

# A connection reads whole answers: "200 OK" to a path that ends in an even number, else "404 Not Found".
CLIENT = """
import asyncio, socket, ssl, sys, threading
how, port, connections, calls, at_once = eval(sys.stdin.read())
context = ssl._create_unverified_context()
todo = list(range(connections))

def request(me, i):
    return b"GET /%d/%d HTTP/1.1\\r\\nHost: here\\r\\n\\r\\n" % (me, i)

def thread():
    while True:
        try:
            todo.pop()
        except IndexError:
            return
        with socket.create_connection(("127.0.0.1", port)) as plain, context.wrap_socket(plain) as s:
            for i in range(calls):
                s.sendall(request(s.getsockname()[1], i))
                got = b""
                while not got.endswith(b"end"):
                    got += s.recv(65536)

async def task():
    while todo:
        todo.pop()
        r, w = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        for i in range(calls):
            w.write(request(w.get_extra_info("sockname")[1], i))
            await r.readuntil(b"end")
        w.close()

async def tasks():
    await asyncio.gather(*[task() for _ in range(at_once)])

if how == "loop":
    asyncio.run(tasks())
else:
    threads = [threading.Thread(target=thread) for _ in range(at_once)]
    [t.start() for t in threads]
    [t.join() for t in threads]
"""

SERVER = """
import asyncio, socket, ssl, sys, threading
how, data = eval(sys.stdin.readline())
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(data + "/cert.pem", data + "/key.pem")

def answer(request):
    even = int(request.split()[1].split(b"/")[2]) % 2 == 0
    return b"HTTP/1.1 %s\\r\\nContent-Length: 3003\\r\\n\\r\\n" % (b"200 OK" if even else b"404 Not Found") + \\
        b"x" * 3000 + b"end"

def serve(plain):
    with plain, context.wrap_socket(plain, server_side=True) as s:
        while True:
            got = b""
            while not got.endswith(b"\\r\\n\\r\\n"):
                more = s.recv(65536)
                if not more:
                    return
                got += more
            s.sendall(answer(got))

async def handle(r, w):
    try:
        while True:
            w.write(answer(await r.readuntil(b"\\r\\n\\r\\n")))
            await w.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        w.close()

async def loop():
    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

if how == "loop":
    asyncio.run(loop())
listener = socket.create_server(("127.0.0.1", 0), backlog=100)
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


@pytest.fixture
def started():
    """started(WORD...): a server, which prints its port: its pid, and the port."""
    made = []

    def start(*words, text=""):
        child = subprocess.Popen([str(w) for w in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        made.append(child)
        child.stdin.write(text)
        child.stdin.flush()
        return child.pid, int(child.stdout.readline())
    yield start
    for child in made:
        child.kill()
        child.wait()
        child.stdin.close()
        child.stdout.close()


@pytest.fixture
def server(started):
    return lambda how: started(sys.executable, "-c", SERVER, text=repr((how, DATA)) + "\n")


@pytest.fixture(scope="module")
def static_server(tmp_path_factory):
    """A program with OpenSSL inside, and the same without symbols."""
    folder = tmp_path_factory.mktemp("tls")
    helpers.sh("cc", "-O1", "-pthread", "-o", folder / "named", SOURCE, "-l:libssl.a", "-l:libcrypto.a",
               "-Wl,--as-needed", "-lz", "-lzstd", timeout=100)    # the last two: since 3.5
    helpers.sh("strip", "-o", folder / "stripped", folder / "named")
    return folder


@pytest.fixture(scope="module")
def boring_server(tmp_path_factory):
    """The same program over BoringSSL."""
    folder = glob.glob("/usr/lib/*-linux-gnu/android/libssl.so")
    if not folder:
        pytest.skip("android-libboringssl-dev is not installed")
    folder, program = os.path.dirname(folder[0]), tmp_path_factory.mktemp("boring") / "server"
    helpers.sh("cc", "-O1", "-pthread", "-I/usr/include/android", "-o", program, SOURCE, f"-L{folder}",
               f"-Wl,-rpath,{folder}", "-lssl", "-lcrypto", timeout=100)
    return program


@pytest.fixture(params=[("bookworm", "stripped"), ("trixie", "stripped-pie")], ids=lambda p: p[0], scope="module")
def go_program(request):
    try:
        return gotree.tls(*request.param)
    except gotree.Unavailable as e:
        pytest.skip(str(e))


def run_client(how, port, connections=CONNECTIONS, calls=CALLS, timeout=100):
    child = subprocess.Popen([sys.executable, "-c", CLIENT], stdin=subprocess.PIPE, text=True)
    child.communicate(repr((how, port, connections, calls, AT_ONCE)), timeout=timeout)
    assert child.returncode == 0
    return child.pid


def calls_of(child, pids):
    return [ev for ev in child.events if ev["type"] == "rpc.call" and ev["proc"]["pid"] in pids]


def check(child, port, pids, ways, n=CONNECTIONS * CALLS):
    """All calls of both sides, once each, on their connections. @pids: of server and client; @ways: by side, how
    the socket is found, and the source."""
    sides = dict(zip(("server", "client"), pids))
    helpers.wait_until(lambda: len(calls_of(child, set(pids))) >= 2 * n)
    child.finish()
    seen = calls_of(child, set(pids))
    assert all(ev["path"].split("/")[1] == str(ev["conn"]["sport"]) for ev in seen)    # none on a wrong connection
    once = collections.Counter((ev["side"], ev["path"]) for ev in seen)
    assert len(once) == 2 * n and set(once.values()) == {1}
    for ev in seen:
        assert ev["http_status"] == (200 if int(ev["path"].split("/")[2]) % 2 == 0 else 404) and ev["end"] == "done"
        assert ev["conn"]["dport"] == port and ev["proc"]["pid"] == sides[ev["side"]]
        source, *found_by = ways[ev["side"]]
        assert ev["source"] == source and ev["tls_by"] in found_by, ev
    assert collections.Counter(ev["side"] for ev in seen) == {"client": n, "server": n}


THREADS = ("openssl", "nested", "kept")
LOOP = ("openssl", "random", "kept")
GO = ("gotls", "descriptor")


@pytest.mark.parametrize("serves, asks, kernel", [
    ("threads", "threads", "this"), ("loop", "loop", "this"), ("threads", "loop", "this"), ("threads", "loop", "6.1"),
], indirect=["kernel"])
def test_each_call_once_on_its_connection(sonde, server, serves, asks, kernel):
    served_by, port = server(serves)
    child = sonde("rpc", "--json", "--source", "socket", "--port", str(port), before=kernel)
    asked_by = run_client(asks, port)
    ways = {"server": LOOP if serves == "loop" else THREADS, "client": LOOP if asks == "loop" else THREADS}
    check(child, port, (served_by, asked_by), ways)


@pytest.mark.parametrize("serves", ["threads", "loop"])
def test_library_inside_the_program(sonde, started, static_server, serves):
    served_by, port = started(static_server / "named", serves, DATA)
    child = sonde("rpc", "--json", "--source", "socket", "--port", str(port))
    asked_by = run_client("threads", port)
    check(child, port, (served_by, asked_by), {"server": LOOP if serves == "loop" else THREADS, "client": THREADS})


@pytest.mark.parametrize("serves", ["threads", "loop"])
def test_boringssl(sonde, started, boring_server, serves):
    served_by, port = started(boring_server, serves, DATA)
    child = sonde("rpc", "--json", "--source", "socket", "--port", str(port))
    asked_by = run_client("threads", port)
    check(child, port, (served_by, asked_by), {"server": LOOP if serves == "loop" else THREADS, "client": THREADS})


# Asks for TLS in its own protocol. The first query follows within some milliseconds.
POSTGRESQL = """
import socket, ssl, sys
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1] + "/cert.pem", sys.argv[1] + "/key.pem")
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    plain = listener.accept()[0]
    assert plain.recv(8)[4:] == bytes.fromhex("04d2162f")
    plain.sendall(b"S")
    with context.wrap_socket(plain, server_side=True) as s:
        s.recv(65536)
        s.sendall(b"R\\0\\0\\0\\x08\\0\\0\\0\\0" + b"Z\\0\\0\\0\\x05I")
        while s.recv(65536):
            s.sendall(b"C\\0\\0\\0\\x0dSELECT 1\\0" + b"Z\\0\\0\\0\\x05I")
"""


def test_database_that_starts_tls(sonde, started):
    served_by, port = started(sys.executable, "-c", POSTGRESQL, DATA)
    child = sonde("rpc", "--json", "--source", "postgresql", "--port", str(port))
    n, query = 16, b"select n from items\0"
    for _ in range(n):
        with socket.create_connection(("127.0.0.1", port)) as plain:
            plain.sendall(bytes.fromhex("0000000804d2162f"))
            assert plain.recv(1) == b"S"
            with ssl._create_unverified_context().wrap_socket(plain) as s:
                s.sendall(struct.pack(">II", 16, 0x30000) + b"user\0a\0\0")
                s.recv(65536)
                for _ in range(2):
                    s.sendall(b"Q" + struct.pack(">I", len(query) + 4) + query)
                    s.recv(65536)
    pids = {served_by, os.getpid()}
    helpers.wait_until(lambda: len(calls_of(child, pids)) >= 4 * n)
    child.finish()
    assert collections.Counter((ev["side"], ev["resource"], ev["source"], ev["end"]) for ev in calls_of(child, pids)
                               ) == {(side, "items", "openssl", "done"): 2 * n for side in ("client", "server")}


def addresses(program):
    """Of its functions, {name: address}."""
    names = "SSL_read|SSL_write|SSL_get_client_random|SSL_do_handshake"
    return {name: int(addr, 16) for addr, name in
            re.findall(rf"^(\w+) T ({names})$", helpers.sh("nm", program).stdout, re.M)}


@pytest.mark.parametrize("serves", ["threads", "loop"])
def test_library_without_symbols(sonde, started, static_server, serves):
    at = addresses(static_server / "named")
    served_by, port = started(static_server / "stripped", serves, DATA)
    words = ",".join(f"{name}={addr:#x}" for name, addr in at.items())
    child = sonde("rpc", "--json", "--source", "socket", "--port", str(port),
                  "--tls-at", f"{static_server}/stripped:{words}")
    asked_by = run_client("threads", port)
    check(child, port, (served_by, asked_by), {"server": LOOP if serves == "loop" else THREADS, "client": THREADS})


def test_explained_without_symbols(sonde, started, static_server):
    served_by, port = started(static_server / "stripped", "threads", DATA)
    child = sonde("rpc", "explain", "--json", "--source", "socket", "--duration", "1m", str(served_by))
    with socket.create_connection(("127.0.0.1", port)) as plain, \
            ssl._create_unverified_context().wrap_socket(plain) as client:
        client.sendall(b"GET /1/2 HTTP/1.1\r\n\r\n")
        got = b""
        while not got.endswith(b"end"):
            got += client.recv(65536)
        child.stop()
    assert [(row["protocol"], row["calls"], row["why"]) for row in child.events] == \
        [("tls", 0, "stripped static OpenSSL: --tls-at names its functions")]


@pytest.mark.parametrize("kernel, why", [
    ("5.10", "no TLS library is watched on this kernel (since Linux 5.15)"), ("this", "")], indirect=["kernel"])
def test_explained_on_an_older_kernel(sonde, server, kernel, why):
    served_by, port = server("threads")
    child = sonde("rpc", "explain", "--json", "--source", "socket", "--duration", "1m", str(served_by), before=kernel)
    with socket.create_connection(("127.0.0.1", port)) as plain, \
            ssl._create_unverified_context().wrap_socket(plain) as client:
        client.sendall(b"GET /1/2 HTTP/1.1\r\n\r\n")
        got = b""
        while not got.endswith(b"end"):
            got += client.recv(65536)
        child.stop()
    assert [(row["protocol"], row["calls"], row["why"]) for row in child.events] == \
        ([("tls", 0, why)] if why else [("http", 1, "")])


def test_refused_addresses(sonde, static_server):
    read = addresses(static_server / "named")["SSL_read"]
    file = f"{static_server}/stripped"
    for given, why in [
            (f"{file}:SSL_read={read + 1:#x}", f"no function begins there, the one before it begins at {read:#x}"),
            (f"{file}:SSL_read=0x10", "not an address of the file's code"),
            (f"{file}:SSL_reed={read:#x}", "did you mean SSL_read?"),
            (f"{file}:SSL_read", "expected an address"), (f"{file}:SSL_read=12z", "expected an address"),
            (f"{file}", "expected FILE:SSL_read="), ("/nowhere:SSL_read=0x10", "No such file or directory"),
            (f"{__file__}:SSL_read=0x10", "not a 64-bit ELF file")]:
        done = sonde.run("rpc", "--source", "socket", "--tls-at", given)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1) and why in done.stderr, done.stderr


def test_go_server(sonde, started, go_program):
    """Its listener wraps its connections."""
    served_by, port = started(go_program, "server", f"{DATA}/cert.pem", f"{DATA}/key.pem")
    child = sonde("rpc", "--json", "--source", "socket", "--port", str(port))
    asked_by = run_client("threads", port)
    check(child, port, (served_by, asked_by), {"server": GO, "client": THREADS})


def test_go_client(sonde, server, go_program):
    served_by, port = server("threads")
    child = sonde("rpc", "--json", "--source", "socket", "--port", str(port), "--prefetch", str(go_program))
    with subprocess.Popen([go_program, "client", str(port), str(CONNECTIONS), str(CALLS)]) as client:
        assert client.wait(timeout=100) == 0
    check(child, port, (served_by, client.pid), {"server": THREADS, "client": GO})
