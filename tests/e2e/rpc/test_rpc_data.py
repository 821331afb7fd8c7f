# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde rpc: bytes, tables by method, filters and traces of calls, live, against the log of the test's program."""
import collections
import json
import math

import pytest

import gocalls
import test_rpc
import test_rpc_otlp
from gocalls import gotree
from test_rpc import calls  # noqa: F401  a fixture
from test_rpc_otlp import collector  # noqa: F401  likewise

# Calls that end in order: of others nobody knows what was on its way when they ended.
KINDS = (("unary", 5), ("fail", 2), ("server", 2), ("client", 2), ("bidi", 2), ("large", 1), ("nap", 3))


def by_call(seen):
    return {(ev["side"], gocalls.name_of(ev)): ev for ev in seen}


def check_bytes(truth, seen):
    found = by_call(seen)
    wrong = [(want, ev.get("sent", 0), ev.get("received", 0)) for want in truth
             for ev in (found[want["side"], want["id"]],)
             if (ev.get("sent", 0), ev.get("received", 0)) != (want["sent"], want["received"])]
    assert not wrong, wrong[:5]
    assert sum(want["sent"] for want in truth) > 0


def check_table(rows, seen):
    """Each row says what the calls of its method say."""
    by_method = collections.defaultdict(list)
    for ev in seen:
        by_method[ev["side"], ev["method"]].append(ev)
    assert {(r["side"], r["name"]) for r in rows} == set(by_method)
    for r in rows:
        group = by_method[r["side"], r["name"]]
        latencies = sorted(ev["latency"] for ev in group)
        assert r["calls"] == r["timed"] == len(group) and r["errors"] == sum(ev["error"] for ev in group)
        assert r["total_ns"] == sum(latencies) and r["max_ns"] == latencies[-1]
        for name, part in (("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99)):
            exact = latencies[math.ceil(part * len(latencies)) - 1]
            assert abs(r[name] - exact) <= 0.04 * exact, (r, latencies)


def lines(done):
    return [json.loads(line) for line in done.stdout.split("\n") if line]


@pytest.mark.parametrize("suite", gotree.SUITES)
def test_bytes_table_and_traces(sonde, calls, collector, tmp_path, suite):  # noqa: F811
    one = calls(gocalls.program(suite))
    server, rec = collector(), str(tmp_path / "rec")
    child = sonde("rpc", "--source", "go", "--json", "--pid", str(one.pid), "--probes", "data", "--header", "x-call",
                  "--header", "authorization", "-o", f"rec:{rec}", "-o", f"otlp:{server.url}/v1/traces")
    n = test_rpc.run_kinds(one, KINDS)
    one.quit()
    gocalls.wait_for_calls(child, one.pid, 2 * n)
    child.finish()
    seen, truth = gocalls.seen_calls(child.events, one.pid), one.calls()
    assert len(by_call(seen)) == len(seen) == 2 * n
    check_bytes(truth, seen)
    check_table(lines(sonde.run("rpc", "-r", rec, "-c", "--json")), seen)

    # the same calls, once each, as spans; of the secret header only that it was there
    spans = {span.span_id: test_rpc_otlp.plain(span.attributes) for _, span in server.spans()}
    assert len(spans) == len(seen)
    assert {(a["rpc.request.metadata.x-call"][0], a["rpc.method"], a["rpc.status_code"]) for a in spans.values()} == \
        {(gocalls.name_of(ev), ev["method"], ev["status"]) for ev in seen}
    assert {a.get("rpc.request.metadata.authorization") for a in spans.values()} == {None, ("(hidden)",)}
    told = [span for _, span in server.spans() if span.parent_span_id]
    assert {span.trace_id.hex() for span in told} == {"4bf92f3577b34da6a3ce929d0e0e4736"} and len(told) == 2
    assert not any(b"hunter2" in request[3] for request in server.requests)


def test_filters_live_and_replayed(sonde, calls, tmp_path):  # noqa: F811
    """One expression, the same calls: live, and of a recording of all."""
    words = ("rpc.method", "contains", "Fail", "and", "rpc.status!=OK", "and", "rpc.latency>1us")
    one = calls(gocalls.program("trixie"))
    rec = str(tmp_path / "rec")
    child = sonde("rpc", "--source", "go", "--json", "--pid", str(one.pid), "--header", "x-call", "-o", f"rec:{rec}",
                  *words)
    test_rpc.run_kinds(one, (("unary", 5), ("fail", 3), ("missing", 1)))
    one.quit()
    gocalls.wait_for_calls(child, one.pid, 6)
    child.finish()
    # by the client's log: a server's goroutine may be about to write its own when the program ends
    names = [c["id"] for c in one.calls() if c["method"].endswith("Fail") and c["side"] == "client"]
    want = sorted((side, name) for side in ("client", "server") for name in names)
    assert sorted(by_call(gocalls.seen_calls(child.events, one.pid))) == want
    again = [ev for ev in lines(sonde.run("rpc", "-r", rec, "--json", *words)) if ev["type"] == "rpc.call"]
    assert sorted(by_call(again)) == want
    everything = [ev for ev in lines(sonde.run("rpc", "-r", rec, "--json")) if ev["type"] == "rpc.call"]
    assert len(everything) == 18


# ---- payload ----

PAYLOAD = 200
PREFIX = bytes.fromhex("0000000066" "0a64")    # of a message of gRPC: its length; BytesValue: a hundred bytes
MESSAGE = PREFIX + bytes(100)
WEB = ("http", "h2c")


def frames_of(events, pid):
    """Of each side, stream (of one connection) and direction the frames, in order: bytes, those that are here."""
    found = collections.defaultdict(list)
    for ev in events:
        if ev["type"] == "rpc.data" and ev["proc"]["pid"] == pid:
            found[ev["side"], ev["rpc_stream"], "sent" if ev.get("frame_sent") else "received"].append(
                (ev["frame_bytes"], bytes.fromhex(ev["payload_hex"])))
    return found


def check_frames(found, seen):
    """All frames that the calls count are there, with as many bytes as were asked for; both sides say the same."""
    for ev in seen:
        for way in ("sent", "received"):
            frames = found.get((ev["side"], ev["rpc_stream"], way), [])
            assert sum(n for n, _ in frames) == ev.get(way, 0), (ev, frames)
            assert all(len(data) == min(n, PAYLOAD) for n, data in frames), (ev, frames)
    for (side, stream, way), frames in found.items():
        if side == "client" and all(n <= PAYLOAD for n, _ in frames):
            other = found["server", stream, "received" if way == "sent" else "sent"]
            assert b"".join(data for _, data in frames) == b"".join(data for _, data in other)


@pytest.mark.parametrize("suite", gotree.SUITES)
@pytest.mark.parametrize("kind", ("grpc", "grpchttp") + WEB)
def test_payload(sonde, calls, suite, kind):  # noqa: F811
    """The first bytes of every DATA frame, sent and received, of gRPC's own transport and of the web's."""
    one = calls(gocalls.program(suite), "-kind", kind)
    child = sonde("rpc", "--json", "--pid", str(one.pid), "--header", "x-call", "--payload", str(PAYLOAD))
    web = (("get", 1), ("post", 2))
    n = test_rpc.run_kinds(one, web if kind in WEB else (("unary", 3), ("bidi", 1), ("fail", 1)))
    one.quit()
    gocalls.wait_for_calls(child, one.pid, 2 * n)
    child.finish()
    found, seen = frames_of(child.events, one.pid), gocalls.seen_calls(child.events, one.pid)
    assert len(seen) == 2 * n
    check_frames(found, seen)
    if kind in WEB:
        assert sorted((ev.get("sent", 0), ev.get("received", 0)) for ev in seen) == [(0, 0)] * 2 + [(3000, 3000)] * 4
        assert all(data == bytes(len(data)) for frames in found.values() for _, data in frames)
        return
    unary = [ev for ev in seen if ev["method"].endswith("Unary")]
    assert len(unary) == 6
    for ev in unary:
        for way in ("sent", "received"):
            assert b"".join(data for _, data in found[ev["side"], ev["rpc_stream"], way]) == MESSAGE
