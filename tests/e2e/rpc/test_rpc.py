# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde rpc against a program that logs its own calls: every call once, and what is said of it is true.

Programs are built once, with the toolchains of tests/workloads/go/gotree.py, into build/go; without them (no package
source, and nothing built before) these tests are skipped.
"""
import collections
import json
import os
import re
import signal
import subprocess

import pytest

import helpers
from gocalls import (Calls, address, check_grpc, check_http, gotree, name_of, program, seen_calls, wait_for_calls,
                     wrong_in)

NEWEST = gotree.SUITES[-1]


@pytest.fixture
def calls(tmp_path):
    made = []

    def start(path, *words):
        made.append(Calls((path, *words), tmp_path))
        return made[-1]
    yield start
    for one in made:
        one.kill()


def watch(sonde, one, *headers):
    asked = [word for name in ("x-call", *headers) for word in ("--header", name)]
    return sonde("rpc", "--json", "--pid", str(one.pid), *asked)


def events_of(child, one, n):
    """The program ends, then sonde: the @n calls of one.pid."""
    one.quit()
    wait_for_calls(child, one.pid, n)
    child.finish()
    return seen_calls(child.events, one.pid)


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
    child = watch(sonde, one)
    n = run_kinds(one)
    seen = events_of(child, one, 2 * n)
    pinned = check_grpc(one.calls(), seen)
    print(f"{pinned} of {2 * n} latencies are known to 1 ms by the program's own log")


def sockets_of(pid):
    """Numbers of the sockets that are open there, by /proc."""
    fds = f"/proc/{pid}/fd"
    names = [os.readlink(os.path.join(fds, fd)) for fd in os.listdir(fds)]
    return {int(name[8:-1]) for name in names if name.startswith("socket:[")}


@pytest.mark.parametrize("suite, variant", gotree.SUITE_BUILDS)
@pytest.mark.parametrize("words", (("-tls",), ("-addr", "unix:")), ids=("tls", "unix"))
def test_grpc_over(sonde, calls, tmp_path, suite, variant, words):
    """What stands around a connection is taken off; a unix socket has no addresses and its calls are there."""
    if words[-1] == "unix:":
        words = ("-addr", f"unix:{tmp_path}/s")
    one = calls(program(suite, variant), *words)
    helpers.sh("ss", "-x")      # gives each unix socket a cookie, which is not its key
    child = watch(sonde, one)
    n = run_kinds(one, KINDS if gotree.ALL_BUILDS else (("unary", 5), ("fail", 1), ("cancel", 1), ("bidi", 1)))
    inodes = sockets_of(one.pid)
    seen = events_of(child, one, 2 * n)
    check_grpc(one.calls(), seen)
    if words[0] == "-addr":
        assert {ev["peer"] for ev in seen} == {"unix"}
        keys = {side: {ev["sock_inode"] for ev in seen if ev["side"] == side} for side in ("client", "server")}
        assert all(keys.values()) and not keys["client"] & keys["server"]
        assert set().union(*keys.values()) <= inodes


@pytest.mark.parametrize("suite, variant", gotree.ONE_BUILD)
def test_a_thousand_streams_at_once(sonde, calls, suite, variant):
    one = calls(program(suite, variant))
    child = watch(sonde, one)
    one.run("run", "many", 1000)
    one.quit()
    wait_for_calls(child, one.pid, 2000)
    ledger = [ev for ev in child.finish() if ev["type"] == "sonde.ledger" and ev.get("probe") == "gohttp2"][-1]
    assert ledger["lost"] == 0
    seen = seen_calls(child.events, one.pid)
    check_grpc(one.calls(), seen)
    assert sorted(ev["rpc_stream"] for ev in seen if ev["side"] == "server") == list(range(1, 2000, 2))


@pytest.mark.parametrize("suite, variant", gotree.SUITE_BUILDS)
def test_connections_one_after_the_other(sonde, calls, suite, variant):
    """Objects of connections come to lie where those of closed ones lay: each call has the addresses of its own."""
    one = calls(program(suite, variant))
    child = watch(sonde, one)
    one.run("run", "renew", 20)
    seen = events_of(child, one, 2 * 2 * 20)
    check_grpc(one.calls(), seen)
    assert len({address(ev["conn"], "client") for ev in seen}) == 20
    assert all(ev["goid"] for ev in seen)


@pytest.mark.parametrize("suite, variant", gotree.SUITE_BUILDS)
def test_memory_that_is_used_again(sonde, calls, suite, variant):
    """Values of one length, where others lay that the garbage collector has freed: each call has its own."""
    one = calls(program(suite, variant))
    child = watch(sonde, one)
    one.run("run", "traced", 1000, 4)
    seen = events_of(child, one, 2 * 1000)
    check_grpc(one.calls(), seen)
    assert [ev for ev in seen if bytes.fromhex(ev["trace"]).lstrip(b"\0").decode() != name_of(ev)] == []


@pytest.mark.parametrize("suite, variant", gotree.SUITE_BUILDS)
def test_headers_that_repeat(sonde, calls, suite, variant):
    """Frames of the same headers, in between those of others, on connections new and old: what is remembered of one
    is not told of another."""
    one = calls(program(suite, variant))
    child = sonde("rpc", "--json", "--pid", str(one.pid))
    n = 0
    for _ in range(2):
        one.run("run", "renew", 3)
        n += 2 * 3 + run_kinds(one, (("traced", 100, 4), ("unary", 300, 4), ("fail", 100, 2), ("server", 50, 2)))
    seen = events_of(child, one, 2 * n)
    assert len(seen) == 2 * n
    sides = {side: {(address(ev["conn"], "client"), ev["rpc_stream"]): ev for ev in seen if ev["side"] == side}
             for side in ("client", "server")}
    truth = [want for want in one.calls() if want["side"] == "server"]
    assert len(truth) == len(sides["server"]) == len(sides["client"]) == n
    for want in truth:
        key = want["peer"], want["stream"]
        assert not wrong_in(want, sides["server"][key], None)
        told = [[sides[side][key].get(name) for name in ("method", "status", "message", "authority", "user_agent",
                                                         "trace", "http_status")] for side in sides]
        assert told[0] == told[1], want


@pytest.mark.parametrize("suite, variant", gotree.SUITE_BUILDS)
@pytest.mark.parametrize("kind", ("http", "h2c"))
def test_http2(sonde, calls, suite, variant, kind):
    """net/http over TLS, and golang.org/x/net/http2 without: servers and clients."""
    one = calls(program(suite, variant), "-kind", kind)
    child = watch(sonde, one)
    n = run_kinds(one, (("get", 6, 3), ("missing", 2), ("empty", 2), ("post", 2)))
    seen = events_of(child, one, 2 * n)
    assert all(ev["kind"] == "http" and ev["end"] == "done" for ev in seen), seen
    check_http([c for c in one.calls() if c["method"] != "/dialled"], seen)


@pytest.mark.parametrize("suite, variant", gotree.SUITE_BUILDS)
@pytest.mark.parametrize("kind", ("http", "h2c"))
def test_headers_of_requests_over_net_http(sonde, calls, suite, variant, kind):
    """A client's are in a map before they are in a frame: both sides show the same ones, and no secret."""
    one = calls(program(suite, variant), "-kind", kind)
    child = watch(sonde, one, "authorization", "x-more-0", "X-More-17", "x-more-39", "x-none")
    n = run_kinds(one, (("many", 20, 4), ("get", 2)))
    seen = events_of(child, one, 2 * n)
    check_http([c for c in one.calls() if c["method"] != "/dialled"], seen)
    many = [ev for ev in seen if ev["path"] == "/many"]
    assert len(many) == 40
    for ev in many:
        assert sorted(ev["headers"].strip().split("\n")) == [
            "authorization: (hidden)", f"x-call: {name_of(ev)}", "x-more-0: m", "x-more-17: " + "m" * 18,
            "x-more-39: " + "m" * 40], ev
        assert (ev["trace"], ev["span"], ev["user_agent"]) == ("4bf92f3577b34da6a3ce929d0e0e4736",
                                                               "00f067aa0ba902b7", "calls/1"), ev
    assert "hunter2" not in json.dumps(child.events)
    assert [ev for ev in seen if ev["path"] == "/get" and ev["headers"] != f"x-call: {name_of(ev)}\n"] == []


@pytest.mark.parametrize("suite, variant", gotree.SUITE_BUILDS)
def test_grpc_inside_net_http(sonde, calls, suite, variant):
    """A server that net/http calls (ServeHTTP): status and message are in a map of trailers, and headers in one."""
    one = calls(program(suite, variant), "-kind", "grpchttp")
    child = sonde("rpc", "--json", "--pid", str(one.pid), "--header", "x-call", "--header", "x-answer-19")
    n = run_kinds(one, (("unary", 5, 2), ("fail", 2), ("missing", 1), ("server", 2), ("client", 2), ("bidi", 2),
                        ("large", 200, 4)))
    seen = events_of(child, one, 2 * n)
    check_grpc(one.calls(), seen)
    assert not any(ev.get("derived") for ev in seen)
    assert {ev.get("message") for ev in seen if ev["status"] == "NOT_FOUND"} == {"no such thing: \u00e4 100%"}
    asked = [ev for ev in seen if f"x-answer-19: {'a' * 19}\n" in ev["headers"]]
    assert collections.Counter(ev["side"] for ev in asked) == {"client": 200, "server": 200}, \
        (asked, [ev for ev in child.events if ev["type"] == "rpc.miss"])


def test_a_command_and_its_first_call(sonde, tmp_path):
    """Behind "--" nothing is missed, and secrets are not shown."""
    log = str(tmp_path / "log")
    child = subprocess.Popen(
        [helpers.BINARY, "rpc", "--json", "--header", "x-call", "--header", "authorization", "--", program(NEWEST),
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
    one = calls(program(NEWEST))
    rec = str(tmp_path / "rec")
    child = sonde("rpc", "--source", "go", "-o", f"rec:{rec}", "--pid", str(one.pid))
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
    path = program(NEWEST)
    server = calls(path, "-mode", "server")
    client = calls(path, "-mode", "client", "-addr", server.addr)
    child = sonde("rpc", "--json", "--where", "evt.type in (rpc.open, rpc.call)", "--header", "x-call")
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


def test_many_calls_are_counted_exactly(sonde, calls):
    """By method, and by interval; what is not there, the ledger has lost. (tests/soak/rpc_count makes 100,000.)"""
    n = 5000
    one = calls(program(NEWEST))
    child = sonde("rpc", "--top", "--interval", "200ms", "--json", "-v", "--pid", str(one.pid))
    one.run("run", "unary", n, 16)
    one.quit()
    assert child.stop() == 130
    lost = int(re.search(r"gohttp2: .* lost (\d+)", child.stderr).group(1))
    views = [r for r in child.events if r["type"] == "view.row"]
    rows = {(r["key"]["rpc.side"], r["key"]["rpc.name"]): r["calls"] for r in views if r["final"]}
    for row, count in rows.items():    # each call is of one interval
        shown = [r for r in views if not r["final"] and (r["key"]["rpc.side"], r["key"]["rpc.name"]) == row]
        assert sum(r["calls"] for r in shown) == count
    if lost:    # a frame that is not there leaves its call open, or without a beginning
        assert all(n - lost <= count <= n for count in rows.values()), (rows, lost)
    else:
        assert rows == {(side, "sonde.test.Echo/Unary"): n for side in ("client", "server")}


def test_the_rates_of_top_are_those_of_its_interval(calls):
    """Without new calls there is no row, and not the mean of the whole run."""
    one = calls(program(NEWEST))
    top = subprocess.Popen([helpers.BINARY, "rpc", "--top", "--interval", "200ms", "-v", "--pid", str(one.pid)],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    next(line for line in top.stderr if helpers.READY.search(line))
    one.run("run", "unary", 50, 1)
    rates, empty = [], False
    for line in top.stdout:
        words = line.split()
        if words[:1] == ["client"] and words[-1].endswith("Echo/Unary"):
            rates.append(words[2])
            empty = False
        elif rates and words[:1] == ["SIDE"]:
            empty = True
        elif empty and not words:    # a block with a heading only
            break
    top.send_signal(signal.SIGINT)
    top.communicate(timeout=helpers.READY_S)
    one.quit()
    assert rates and all(rate != "0" for rate in rates), rates
