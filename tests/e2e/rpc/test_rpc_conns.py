# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections behind wrappers of net.Conn: the type data of the program leads to the socket, whatever wraps it.
tests/workloads/go/conns has a wrapper of every shape, and prints the ports of its connections."""
import collections
import subprocess

import pytest

import helpers
from gocalls import STATUS, gotree

FOUND = ["Bare", "Direct", "Value", "Deep", "Plain", "Tree", "Stream", "Six", "Tls"]
NOT_FOUND = {"Two": "*main.two", "Pipe": "*net.pipe"}


class Conns:
    def __init__(self, suite):
        try:
            words = [gotree.conns(suite)]
        except gotree.Unavailable as e:
            pytest.skip(f"no Go of {suite}: {e}")
        self.child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.child.stdout.readline() == "ready\n"

    @property
    def pid(self):
        return self.child.pid

    def ask(self, *words):
        self.child.stdin.write(" ".join(words) + "\n")
        self.child.stdin.flush()
        done = self.child.stdout.readline().split()
        assert done and done[0] == "done", done
        return done[1:]

    def end(self):
        self.child.kill()
        self.child.wait()
        self.child.stdin.close()
        self.child.stdout.close()


@pytest.fixture(params=gotree.SUITES)
def conns(request):
    made = Conns(request.param)
    yield made
    made.end()


def of_method(events, name):
    return [ev for ev in events if ev["type"] == "rpc.call" and ev["method"] == f"sonde.test.Conns/{name}"]


def test_every_wrapper_leads_to_its_socket(sonde, conns):
    child = sonde("rpc", "--json", "--pid", str(conns.pid))
    ports = {name: [int(p) for p in conns.ask("call", name)] for name in FOUND + list(NOT_FOUND)}
    child.wait_for(lambda ev: ev["type"] == "rpc.call", 6 * len(ports))
    for name in NOT_FOUND.values():
        child.wait_for(lambda ev, name=name: ev["type"] == "rpc.miss" and ev.get("conn_type") == name)
    child.finish()
    for name, (client, server) in ports.items():
        calls = of_method(child.events, name)
        assert sorted(ev["side"] for ev in calls) == ["client"] * 3 + ["server"] * 3, name
        for ev in calls:
            if name in NOT_FOUND:
                assert "conn" not in ev, ev
            else:
                assert (ev["conn"]["sport"], ev["conn"]["dport"]) == (client, server), (name, ev)
    missed = {ev["conn_type"] for ev in child.events if ev["type"] == "rpc.miss"}
    assert missed == set(NOT_FOUND.values())


def test_calls_that_are_never_sent(sonde, conns):
    """A port that refuses, and a deadline before there is a connection; calls that succeed are not affected."""
    child = sonde("rpc", "--json", "--pid", str(conns.pid))
    conns.ask("call", "Bare")
    assert conns.ask("dead") == ["Unavailable", "DeadlineExceeded"]
    conns.ask("call", "Bare")
    child.wait_for(lambda ev: ev["type"] == "rpc.call", 12 + 2)
    child.finish()
    unary, stream = of_method(child.events, "Dead") + of_method(child.events, "DeadStream")
    for ev, status in ((unary, "UNAVAILABLE"), (stream, "DEADLINE_EXCEEDED")):
        assert (ev["side"], ev["end"], ev["status"], ev["error"]) == ("client", "unsent", status, True), ev
        assert ev["goid"] and ev["latency"] == ev["ts_ns"] - ev["opened"] and "conn" not in ev, ev
    assert "refused" in unary["message"] and stream["latency"] >= 50_000_000
    assert {ev["end"] for ev in of_method(child.events, "Bare")} == {"done"}


FAILURES = ("Refused", "Late", "Cancelled", "Closed", "Expired", "Stopped", "Denied")
EACH = 150


def test_failed_calls_have_the_status_of_their_client(sonde, conns):
    """A thousand calls: before they are sent, right after that, and by the server. Each is shown once."""
    child = sonde("rpc", "--json", "--pid", str(conns.pid), "--where", "rpc.side=client")
    said = {kind: collections.Counter(STATUS[code] for code in conns.ask("fail", kind, str(EACH)))
            for kind in FAILURES}
    child.wait_for(lambda ev: ev["type"] == "rpc.call", EACH * len(FAILURES), timeout=40)
    child.finish()
    assert {kind: collections.Counter(ev.get("status") for ev in of_method(child.events, kind))
            for kind in FAILURES} == said
    assert all(list(said[kind]) == [status] for kind, status in (
        ("Refused", "UNAVAILABLE"), ("Late", "DEADLINE_EXCEEDED"), ("Cancelled", "CANCELLED"),
        ("Closed", "CANCELLED"), ("Denied", "PERMISSION_DENIED")))


def test_explain_shows_the_way(conns):
    shown = subprocess.run([helpers.BINARY, "rpc", "explain", "--source", "go", "-v", str(conns.pid)],
                           capture_output=True, text=True, check=True).stdout
    rows = dict(line.split(None, 2)[1:] for line in shown.split("connections (")[1].splitlines()[1:])
    assert rows["*net.TCPConn"] == "+0 descriptor" and rows["main.direct"] == "+0 pointer"
    assert rows["*main.deep"] == "+48 net.Conn" and rows["*main.plain"] == "+16 net.Conn"
    assert rows["*main.tree"] == "+8 net.Conn" and rows["*main.stream"] == "+8 interface, tried"
    assert rows["*main.two"].startswith("no socket: several") and rows["*net.pipe"].startswith("no socket: no")
