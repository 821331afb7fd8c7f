# SPDX-License-Identifier: GPL-2.0-or-later
"""The Go program of tests/workloads/go/calls, and what its log says against what sonde saw of it.

Instants are held against the program's own, with no tolerance: a request is seen after the client began and before
the server knows of it, an answer after the server's handler was done and before the client has it. That is true on a
machine of any load; where the program's instants lie close together, so does what sonde says.
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

PINNED_NS = 1_000_000
# The names of codes.Code.String() that are not those of the wire in capitals.
STATUS = {"OK": "OK", "Canceled": "CANCELLED", "DeadlineExceeded": "DEADLINE_EXCEEDED", "NotFound": "NOT_FOUND",
          "Unimplemented": "UNIMPLEMENTED", "Unavailable": "UNAVAILABLE", "PermissionDenied": "PERMISSION_DENIED"}
GAVE_UP = ("CANCELLED", "DEADLINE_EXCEEDED")


def program(suite, variant="plain"):
    try:
        return gotree.calls(suite, variant)
    except gotree.Unavailable as e:
        pytest.skip(f"no Go of {suite}: {e}")


class Calls:
    """The program, running; its log is the truth."""

    def __init__(self, words, tmp_path, limit_s=60):
        self.log = str(tmp_path / f"calls-{len(os.listdir(tmp_path))}.log")
        self.child = subprocess.Popen([words[0], "-log", self.log, *words[1:]], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        self.timer = threading.Timer(limit_s, self.child.kill)
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

    def kill(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        self.timer.cancel()

    def calls(self):
        with open(self.log, encoding="utf-8") as f:
            return [json.loads(line) for line in f]


def name_of(ev):
    """The x-call header that sonde was asked for."""
    for line in ev.get("headers", "").split("\n"):
        if line.startswith("x-call: "):
            return line[8:]
    return None


def seen_calls(events, pid):
    return [ev for ev in events if ev["type"] == "rpc.call" and ev["proc"]["pid"] == pid]


def wait_for_calls(child, pid, n):
    return child.wait_for(lambda ev: ev["type"] == "rpc.call" and ev["proc"]["pid"] == pid, n)


def address(conn, which):
    ip = conn["src" if which == "client" else "dst"]
    return f"{ip}:{conn['sport' if which == 'client' else 'dport']}"


def brackets(want, other):
    """When the call of one side's log can have begun and ended there, by what both sides say of it."""
    client, server = (want, other) if want["side"] == "client" else (other, want)
    begin = client["begin"] if client else 0
    arrived = server["begin"] if server else want["done"]
    end = max(server["done"] if server else begin, begin), client["done"] if client else float("inf")
    if client and client["due"]:    # what ends the call is sent when the client has given up, and nobody waits for it
        end = (client["due"] if want["side"] == "client" else begin), float("inf")
        # the handler knows because the reset was read; of a deadline also by a timer of its own, since gRPC 1.70,
        # which resets the stream after that
        if server and want["side"] == "server" and want["status"] == "Canceled" and not client["timed"]:
            end = client["due"], server["done"]
    return (begin, arrived), end


def wrong_times(want, other, ev):
    """Texts of what cannot be, and how wide the program's own bounds are."""
    (begin_lo, begin_hi), (end_lo, end_hi) = brackets(want, other)
    begin, end = ev["opened"], ev["ts_ns"]
    wrong = []
    if not begin_lo <= begin <= begin_hi:
        wrong.append(f"{want}: begins {begin - begin_lo} ns after, {begin_hi - begin} before what it must")
    if not end_lo <= end <= end_hi:
        wrong.append(f"{want}: ends {end - end_lo} ns after, {end_hi - end} before what it must")
    if ev["latency"] != end - begin:
        wrong.append(f"{want}: latency {ev['latency']} is not the time between {begin} and {end}")
    return wrong, (end_hi - end_lo) + (begin_hi - begin_lo)


def wrong_in(want, ev, client):
    """Texts of what of one call is not as the program's log says. @client: the client's side in it, or None."""
    wrong = []
    if "/" + ev["method"] != want["method"]:
        wrong.append(f"{want}: method {ev['method']}")
    status = [STATUS[want["status"]]]
    if ev.get("derived") and want["side"] == "server":
        # the client gave up: which of its own timer and the reset the handler saw first is not on the wire
        assert status[0] in GAVE_UP
        if not client or ev["latency"] >= (client["due"] - client["begin"]) * 15 / 16:
            status.clear()      # else the request was late, and the reset came before the deadline for the server
        status.append(STATUS[client["status"]] if client else "CANCELLED")
    if ev.get("status") not in status:
        wrong.append(f"{want}: status {ev.get('status')}")
    if want["stream"] and ev["rpc_stream"] != want["stream"]:
        wrong.append(f"{want}: stream {ev['rpc_stream']}")
    if ":" in want["local"]:
        other = "server" if want["side"] == "client" else "client"
        if address(ev["conn"], want["side"]) != want["local"] or address(ev["conn"], other) != want["peer"]:
            wrong.append(f"{want}: addresses {ev['conn']}")
    return wrong


def check_grpc(truth, seen):
    """Each call of the program once, and right. How many of them the program's log pins to 1 ms."""
    logged = {(want["side"], want["id"]): want for want in truth}
    assert len(logged) == len(truth), "the program named two calls alike"
    by_key = collections.defaultdict(list)
    for ev in seen:
        by_key[ev["side"], name_of(ev)].append(ev)
    streams, wrong, pinned = {}, [], 0
    for (side, name), want in logged.items():
        got = by_key.pop((side, name), [])
        if len(got) != 1:
            wrong.append(f"{side} {name} {want['method']}: {len(got)} events, not one")
            continue
        other = logged.get(("client" if side == "server" else "server", name))
        wrong += wrong_in(want, got[0], other if side == "server" else want)
        bad, width = wrong_times(want, other, got[0])
        wrong += bad
        pinned += width <= PINNED_NS
        # the client's side has no number of its own: it is the server's
        if streams.setdefault(name, got[0]["rpc_stream"]) != got[0]["rpc_stream"]:
            wrong.append(f"{want}: stream {got[0]['rpc_stream']}, on the other side {streams[name]}")
    assert not wrong, "\n".join(wrong[:10])
    for side, name in list(by_key):     # gRPC calls nobody for a method that there is not: no log of the server's
        if side == "server" and by_key[side, name][0].get("status") == "UNIMPLEMENTED" and name in streams:
            assert len(by_key.pop((side, name))) == 1
    assert not by_key, f"calls that nobody made: {list(by_key)[:5]}"
    return pinned


def check_http(truth, seen):
    """The same for calls without gRPC."""
    logged = {(want["side"], want["id"]): want for want in truth}
    by_name = dict(logged)
    streams = {name_of(ev): ev["rpc_stream"] for ev in seen}    # both sides number them alike
    assert len(seen) == len(logged) == 2 * len(streams), f"{len(seen)} calls of {len(logged)}, {len(streams)} names"
    for ev in seen:
        side, name = ev["side"], name_of(ev)
        want = logged.pop((side, name))
        other = "server" if side == "client" else "client"
        assert ev["rpc_stream"] == streams[name]
        assert (ev["path"], ev["http_status"]) == (want["method"], int(want["status"])), (want, ev)
        assert (address(ev["conn"], side), address(ev["conn"], other)) == (want["local"], want["peer"]), (want, ev)
        client, server = (by_name[s, name] for s in ("client", "server"))
        assert client["begin"] <= ev["opened"] <= server["begin"], (client, server, ev)
        # no upper bound: each side puts its stream away after the program has its answer, or before
        assert ev["ts_ns"] >= server["done"], (server, ev)
        assert ev["latency"] == ev["ts_ns"] - ev["opened"]
