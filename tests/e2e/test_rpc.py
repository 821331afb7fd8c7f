# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde rpc against a program that logs its own calls: every call once, and what is said of it is true.

Programs are built once, with the toolchains of tests/workloads/go/gotree.py, into build/go; without them (no package
source, and nothing built before) these tests are skipped.
"""
import collections
import json
import os
import subprocess
import sys
import threading

import pytest

import helpers

sys.path.insert(0, os.path.join(helpers.ROOT, "tests", "workloads", "go"))
import gotree  # noqa: E402  the path above is needed first

LATENCY_SLACK_NS = 1_000_000
# The names of codes.Code.String() that are not those of the wire in capitals.
STATUS = {"OK": "OK", "Canceled": "CANCELLED", "DeadlineExceeded": "DEADLINE_EXCEEDED", "NotFound": "NOT_FOUND",
          "Unimplemented": "UNIMPLEMENTED", "Unavailable": "UNAVAILABLE"}


def program(suite, variant="plain"):
    try:
        return gotree.calls(suite, variant)
    except gotree.Unavailable as e:
        pytest.skip(f"no Go of {suite}: {e}")


class Calls:
    """The program, running; its log is the truth."""

    def __init__(self, path, tmp_path, *words):
        self.log = str(tmp_path / f"calls-{os.path.basename(path)}-{len(os.listdir(tmp_path))}.log")
        self.child = subprocess.Popen([path, "-log", self.log, *words], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        self.timer = threading.Timer(60, self.child.kill)
        self.timer.start()
        self.addr = self.answer().split()[1]

    @property
    def pid(self):
        return self.child.pid

    def answer(self):
        line = self.child.stdout.readline()
        assert line, "the program of the test ended early"
        return line

    def run(self, *words):
        self.child.stdin.write(" ".join(map(str, words)) + "\n")
        self.child.stdin.flush()
        assert self.answer().startswith("done")

    def quit(self):
        if self.child.poll() is None:
            self.child.stdin.write("quit\n")
            self.child.stdin.close()
            self.child.wait(20)
        self.timer.cancel()

    def calls(self):
        with open(self.log, encoding="utf-8") as f:
            return [json.loads(line) for line in f]


@pytest.fixture
def calls(tmp_path):
    made = []

    def start(path, *words):
        made.append(Calls(path, tmp_path, *words))
        return made[-1]
    yield start
    for one in made:
        if one.child.poll() is None:
            one.child.kill()
            one.child.wait()
        one.timer.cancel()


def name_of(ev):
    """The x-call header that sonde was asked for."""
    for line in ev.get("headers", "").split("\n"):
        if line.startswith("x-call: "):
            return line[8:]
    return None


def seen_calls(child, pid):
    return [ev for ev in child.events if ev["type"] == "rpc.call" and ev["proc"]["pid"] == pid]


def wait_for_calls(child, pid, n):
    return child.wait_for(lambda ev: ev["type"] == "rpc.call" and ev["proc"]["pid"] == pid, n)


def address(conn, which):
    ip = conn["src" if which == "client" else "dst"]
    return f"{ip}:{conn['sport' if which == 'client' else 'dport']}"


def check_grpc(truth, seen):
    """Each call of the program once, and right."""
    by_key = collections.defaultdict(list)
    for ev in seen:
        by_key[ev["side"], name_of(ev)].append(ev)
    streams = {}
    wrong, late = [], []
    for want in truth:
        got = by_key.pop((want["side"], want["id"]), [])
        if len(got) != 1:
            wrong.append(f"{want['side']} {want['id']} {want['method']}: {len(got)} events, not one")
            continue
        ev = got[0]
        if "/" + ev["method"] != want["method"]:
            wrong.append(f"{want}: method {ev['method']}")
        status = STATUS[want["status"]]
        if ev.get("derived") and want["side"] == "server":
            # the client gave up: which of its own timer and the reset the handler saw first is not on the wire
            assert status in ("CANCELLED", "DEADLINE_EXCEEDED")
            status = "CANCELLED"
        if ev.get("status") != status:
            wrong.append(f"{want}: status {ev.get('status')}")
        late.append(ev["latency"] - want["latency"])
        if want["stream"] and ev["rpc_stream"] != want["stream"]:
            wrong.append(f"{want}: stream {ev['rpc_stream']}")
        # the client's side has no number of its own: it is the server's
        if streams.setdefault(want["id"], ev["rpc_stream"]) != ev["rpc_stream"]:
            wrong.append(f"{want}: stream {ev['rpc_stream']}, on the other side {streams[want['id']]}")
        if ":" in want["local"]:
            other = "server" if want["side"] == "client" else "client"
            if address(ev["conn"], want["side"]) != want["local"] or address(ev["conn"], other) != want["peer"]:
                wrong.append(f"{want}: addresses {ev['conn']}")
    assert not wrong, "\n".join(wrong[:10])
    # The program looks at its clock on another goroutine than the frames are written and read on: where the machine
    # is busy some calls wait in between.
    near = [ns for ns in late if abs(ns) <= LATENCY_SLACK_NS]
    assert len(near) >= 0.7 * len(late), f"latencies are off by {sorted(late)} ns"
    for side, name in list(by_key):     # gRPC calls nobody for a method that there is not: no log of the server's
        if side == "server" and by_key[side, name][0].get("status") == "UNIMPLEMENTED" and name in streams:
            assert len(by_key.pop((side, name))) == 1
    assert not by_key, f"calls that nobody made: {list(by_key)[:5]}"


KINDS = (("unary", 20, 4), ("fail", 2), ("missing", 2), ("server", 2), ("client", 2), ("bidi", 2), ("cancel", 2),
         ("deadline", 2), ("large", 2))


def run_kinds(program_, kinds=KINDS):
    for words in kinds:
        program_.run("run", *words)
    return sum(words[1] for words in kinds)


@pytest.mark.parametrize("suite, variant", gotree.BUILDS)
def test_every_call_once(sonde, calls, suite, variant):
    """Client and server in one program, on a connection that is older than the run."""
    one = calls(program(suite, variant))
    child = sonde("rpc", "--json", "--pid", str(one.pid), "--header", "x-call")
    n = run_kinds(one)
    one.quit()
    wait_for_calls(child, one.pid, 2 * n)
    child.finish()
    check_grpc(one.calls(), seen_calls(child, one.pid))


@pytest.mark.parametrize("suite", gotree.SUITES)
@pytest.mark.parametrize("words", (("-tls",), ("-addr", "unix:")), ids=("tls", "unix"))
def test_grpc_over(sonde, calls, tmp_path, suite, words):
    """What stands around a connection is taken off; a unix socket has no addresses and its calls are there."""
    if words[-1] == "unix:":
        words = ("-addr", f"unix:{tmp_path}/s")
    one = calls(program(suite), *words)
    child = sonde("rpc", "--json", "--pid", str(one.pid), "--header", "x-call")
    n = run_kinds(one, (("unary", 5), ("fail", 1), ("cancel", 1), ("bidi", 1)))
    one.quit()
    wait_for_calls(child, one.pid, 2 * n)
    child.finish()
    seen = seen_calls(child, one.pid)
    check_grpc(one.calls(), seen)
    if words[0] == "-addr":
        assert {ev["peer"] for ev in seen} == {"unix"}


def test_a_thousand_streams_at_once(sonde, calls):
    one = calls(program("trixie"))
    child = sonde("rpc", "--json", "--pid", str(one.pid), "--header", "x-call")
    one.run("run", "many", 1000)
    one.quit()
    wait_for_calls(child, one.pid, 2000)
    ledger = [ev for ev in child.finish() if ev["type"] == "sonde.ledger" and ev.get("probe") == "gorpc"][-1]
    assert ledger["lost"] == 0
    seen = seen_calls(child, one.pid)
    assert collections.Counter((ev["side"], name_of(ev)) for ev in seen) == collections.Counter(
        (c["side"], c["id"]) for c in one.calls())
    assert sorted(ev["rpc_stream"] for ev in seen if ev["side"] == "server") == list(range(1, 2000, 2))


@pytest.mark.parametrize("suite", gotree.SUITES)
@pytest.mark.parametrize("kind", ("http", "h2c"))
def test_http2(sonde, calls, suite, kind):
    """net/http over TLS, and golang.org/x/net/http2 without: servers and clients."""
    one = calls(program(suite), "-kind", kind)
    child = sonde("rpc", "--json", "--pid", str(one.pid), "--header", "x-call")
    n = run_kinds(one, (("get", 6, 3), ("missing", 2), ("empty", 2), ("post", 2)))
    one.quit()
    wait_for_calls(child, one.pid, 2 * n)
    child.finish()
    truth = [c for c in one.calls() if c["method"] != "/dialled"]
    seen = seen_calls(child, one.pid)
    assert all(ev["kind"] == "http" and ev["end"] == "done" for ev in seen), seen

    for side in ("server", "client"):
        want = collections.Counter((c["method"], int(c["status"]), c["local"], c["peer"]) for c in truth
                                   if c["side"] == side)
        other = "server" if side == "client" else "client"
        assert collections.Counter((ev["path"], ev["http_status"], address(ev["conn"], side),
                                    address(ev["conn"], other)) for ev in seen if ev["side"] == side) == want
    # both sides number the streams alike
    assert len({ev["rpc_stream"] for ev in seen}) == n
    assert {name_of(ev) for ev in seen if ev["side"] == "server"} == {c["id"] for c in truth if c["side"] == "server"}


def test_a_command_and_its_first_call(sonde, tmp_path):
    """Behind "--" nothing is missed, and secrets are not shown."""
    log = str(tmp_path / "log")
    child = subprocess.Popen(
        [helpers.BINARY, "rpc", "--json", "--header", "x-call", "--header", "authorization", "--", program("trixie"),
         "-log", log], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = child.communicate("run large 2\nquit\n", timeout=60)
    assert child.returncode == 0, err
    seen = [json.loads(line) for line in out.split("\n") if line.startswith("{")]
    seen = [ev for ev in seen if ev["type"] == "rpc.call"]
    with open(log, encoding="utf-8") as f:
        check_grpc([json.loads(line) for line in f], seen)
    assert all(ev["trace"] == "4bf92f3577b34da6a3ce929d0e0e4736" and ev["span"] == "00f067aa0ba902b7" for ev in seen)
    assert all("authorization: (hidden)" in ev["headers"] for ev in seen)
    assert "hunter2" not in out


def test_counted_by_method_and_replayed(sonde, calls, tmp_path):
    one = calls(program("trixie"))
    rec = str(tmp_path / "rec")
    child = sonde("rpc", "-o", f"rec:{rec}", "--pid", str(one.pid))
    one.run("run", "unary", 10)
    one.run("run", "fail", 3)
    one.quit()
    assert child.stop() == 130
    assert b"hunter2" not in open(rec, "rb").read()
    rows = [json.loads(line) for line in sonde.run("rpc", "-r", rec, "-c", "--json").stdout.split("\n") if line]
    got = {(r["side"], r["name"]): (r["calls"], r["errors"]) for r in rows}
    assert got == {(side, "sonde.test.Echo/" + name): count for side in ("client", "server")
                   for name, count in (("Unary", (10, 0)), ("Fail", (3, 3)))}
    assert all(0 < r["p50_ns"] <= r["p90_ns"] <= r["p99_ns"] <= r["max_ns"] for r in rows)
    slow = sonde.run("rpc", "-r", rec, "rpc.status=NOT_FOUND and rpc.side=server", "--json").stdout
    assert sum(json.loads(line)["type"] == "rpc.call" for line in slow.split("\n") if line) == 3


def test_connection_and_process_end(sonde, calls):
    """Calls that nobody ends are ended by what carried them, once."""
    path = program("trixie")
    server = calls(path, "-mode", "server")
    client = calls(path, "-mode", "client", "-addr", server.addr)
    child = sonde("rpc", "--json", "--type", "rpc.open", "--type", "rpc.call", "--header", "x-call")
    client.child.stdin.write("run slow 1\n")
    client.child.stdin.flush()
    child.wait_for(lambda ev: ev["type"] == "rpc.open" and ev["proc"]["pid"] in (server.pid, client.pid), 2)
    client.child.kill()
    ended = child.wait_for(lambda ev: ev["type"] == "rpc.call" and ev["proc"]["pid"] in (server.pid, client.pid), 2)
    assert {(ev["side"], ev["end"]) for ev in ended} <= {("client", "exit"), ("server", "connection"),
                                                         ("client", "connection"), ("server", "reset")}
    server.quit()
    child.finish()
    assert len([ev for ev in child.events if ev["type"] == "rpc.call" and
                ev["proc"]["pid"] in (server.pid, client.pid)]) == 2
