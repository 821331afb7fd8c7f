# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde trace and sonde explain on a chain of Go programs (tests/workloads/go/hops): client -> front -> back."""
import collections
import json
import os
import shutil
import subprocess

import pytest

import helpers
from gocalls import gotree

SOURCE = os.path.join(helpers.ROOT, "tests", "workloads", "go", "hops")


class Chain:
    """The three programs, named by what they do, in a namespace of their own."""

    def __init__(self, ns, tmp_path):
        try:
            path = gotree.Tree(gotree.SUITES[-1]).build(SOURCE, os.path.join(gotree.folder(), "hops-plain"))
        except gotree.Unavailable as e:
            pytest.skip(f"no Go: {e}")
        self.ns, self.path, self.folder, self.pids = ns, path, tmp_path, []
        self.back = self.start("back").stdout.readline().split()[1]
        front = self.start("front", self.back).stdout.readline().split()[1]
        self.client = self.start("client", front)
        assert self.client.stdout.readline() == "ready\n"

    def start(self, name, *words):
        program = shutil.copy(self.path, self.folder / name)
        child = self.ns.popen(program, name, *words, stdin=subprocess.PIPE)
        self.pids.append(str(child.pid))
        return child

    def call(self, *words):
        self.client.stdin.write(" ".join(map(str, words)) + "\n")
        self.client.stdin.flush()
        assert self.client.stdout.readline() == "done\n"


@pytest.fixture
def chain(netns, tmp_path):
    return Chain(netns(), tmp_path)


@pytest.fixture
def record(sonde, chain, tmp_path):
    """record(work) -> path of a recording of all probes while work() ran, warmed up."""
    def go(work):
        path = tmp_path / "all.rec"
        one = sonde("record", "-p", ",".join(chain.pids), "--netns", chain.ns.path, "-w", str(path),
                    "--set", "net,cpu:wall:min-block-time=10us,sys,gohttp2", "--ring-size", "16M")
        chain.call(3, 1, 0, 0, 0, 0)
        work()
        one.finish()
        return str(path)
    return go


def lines(sonde, *words):
    done = sonde.run(*words, timeout=120)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_sides_children_and_sums(sonde, chain, record):
    """Each call names its child, and its segments sum to its latency."""
    path = record(lambda: chain.call(200, 1, 200, 500, 0, 0, "one"))
    seen = lines(sonde, "trace", "-r", path, "--json", "-n", "1000",
                 "rpc.name startswith t.Front/one and rpc.side=client")
    assert len(seen) == 200
    for call in seen:
        at = call["from"]
        for seg in call["segments"]:
            assert seg["from"] == at < seg["to"]
            at = seg["to"]
        assert at == call["from"] + call["latency"]
        name = call["method"].replace("t.Front/", "")
        sides = [(s["process"], s["side"], s["method"]) for s in call["spans"]]
        assert sides == [("client", "client", f"t.Front/{name}"), ("front", "server", f"t.Front/{name}"),
                         ("front", "client", f"t.Back/{name}"), ("back", "server", f"t.Back/{name}")]
        events = {ev["event"] for ev in call["events"]}
        assert len(events) == len(call["events"])


def test_concurrent_children_are_never_wrong(sonde, chain, record):
    """Eight calls at a time: a child is the right one, or it is not shown and counted."""
    path = record(lambda: chain.call(400, 8, 0, 300, 0, 0, "many"))
    seen = lines(sonde, "trace", "-r", path, "--json", "-n", "1000",
                 "rpc.name startswith t.Front/many and rpc.side=client")
    assert len(seen) == 400
    events = collections.Counter()
    for call in seen:
        name = call["method"].replace("t.Front/", "")
        assert [s["method"] for s in call["spans"][:2]] == [f"t.Front/{name}"] * 2
        assert {s["method"] for s in call["spans"][2:]} <= {f"t.Back/{name}"}
        assert len(call["spans"]) == 4 or call["ambiguous_children"]
        events.update(ev["event"] for ev in call["events"] if ev["type"] == "syscall" and ev["span"] == 0)
    assert events


def top_cause(sonde, path, method="t.Front/Put"):
    said = lines(sonde, "explain", "-r", path, "--json", method)
    assert len(said) == 1 and said[0]["method"] == method
    assert said[0]["causes"], said[0]
    return said[0]["causes"][0]


def test_explain_a_child_that_sleeps(sonde, chain, record):
    path = record(lambda: chain.call(300, 1, 200, 300, 16, 40000))
    cause = top_cause(sonde, path)
    assert cause["cause"] == "back serves t.Back/Get: idle", cause
    one = lines(sonde, "trace", "-r", path, "--json", cause["calls"][0])[0]
    assert one["latency"] > 40_000_000


def test_explain_lost_packets(sonde, chain, record):
    """Segments with data to the back are dropped: one in thirty, each costs a retransmission time-out."""
    port = chain.back.split(":")[1]
    chain.ns.nft("add table ip t\nadd chain ip t c { type filter hook input priority 0; }\n"
                 f"add rule ip t c tcp dport {port} meta length > 150 numgen inc mod 30 29 drop\n")
    path = record(lambda: chain.call(300, 1, 200, 0, 0, 0))
    cause = top_cause(sonde, path)
    assert cause["cause"] == "front calls t.Back/Get: retransmission", cause
    one = lines(sonde, "trace", "-r", path, "--json", cause["calls"][0])[0]
    assert sum(s["retransmitted"] for s in one["spans"]) >= 1 and sum(s["drops"] for s in one["spans"]) >= 1


def test_explain_is_silent_about_few_calls(sonde, chain, record):
    path = record(lambda: chain.call(10, 1, 200, 0, 0, 0))
    said = lines(sonde, "explain", "-r", path, "--json", "t.Front/Put")
    assert said[0]["silence"] == "too few calls" and not said[0]["causes"]


NAPPER = """
import http.server, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        time.sleep(0.02)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""
ASKER = """
import http.client, sys
while True:
    one = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    for _ in range(20):
        one.request("GET", "/nap")
        one.getresponse().read()
"""


def test_live_calls_of_any_language(sonde, netns):
    """No recording: a server that is no Go program sleeps in its thread."""
    ns = netns()
    port = ns.python_popen(NAPPER).stdout.readline().strip()
    one = sonde("trace", "--source", "http", "--port", port, "--netns", ns.path, "--json", "-n", "10000",
                "rpc.name='GET /nap' and rpc.side=client")
    ns.popen("/usr/bin/python3", "-c", ASKER, port)
    call, = one.wait_for(lambda ev: ev["type"] == "trace" and len(ev["spans"]) == 2, timeout=30)
    assert [(s["side"], s["method"]) for s in call["spans"]] == [("client", "GET /nap"), ("server", "GET /nap")]
    slept = sum(s["to"] - s["from"] for s in call["segments"] if s.get("detail") == "timer")
    assert slept > 15_000_000, call["segments"]
    assert sum(s["to"] - s["from"] for s in call["segments"]) == call["latency"]
    one.finish()
