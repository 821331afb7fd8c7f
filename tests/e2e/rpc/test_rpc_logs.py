# SPDX-License-Identifier: GPL-2.0-or-later
"""Log lines and client calls of the call that a goroutine serves (tests/workloads/go/chain)."""
import collections
import os
import subprocess
import threading

import pytest
from opentelemetry.proto.trace.v1 import trace_pb2

import helpers
from gocalls import gotree, name_of

SOURCE = os.path.join(helpers.ROOT, "tests", "workloads", "go", "chain")
OLDEST, NEWEST = gotree.SUITES[0], gotree.SUITES[-1]
CALLS = 200


class Chain:
    """The program, waiting for a line."""

    def __init__(self, suite, workers, tmp_path):
        try:
            path = gotree.Tree(suite).build(SOURCE, os.path.join(gotree.folder(), f"chain-{suite}-plain"))
        except gotree.Unavailable as e:
            pytest.skip(f"no Go of {suite}: {e}")
        self.file = tmp_path / "log"
        self.child = subprocess.Popen([path, str(CALLS), "8", str(workers), str(self.file)], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.child.stdout.readline() == "ready\n"
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.child.stderr))
        self.reader.start()

    @property
    def pid(self):
        return self.child.pid

    def run(self):
        """The log lines of each call."""
        self.child.stdin.write("go\n")
        self.child.stdin.flush()
        for line in self.child.stdout:
            if line == "done\n":
                break
            self.lines.append(line)
        self.child.stdin.close()
        self.reader.join()
        by_call = collections.defaultdict(list)
        for line in self.lines + self.file.read_text().splitlines(True):
            by_call[line.split()[0]].append(line)
        return by_call

    def close(self):
        self.child.kill()
        self.child.wait()
        self.reader.join()
        for stream in (self.child.stdin, self.child.stdout, self.child.stderr):
            stream.close()


@pytest.fixture
def chain(tmp_path):
    started = []

    def start(suite, workers=0):
        started.append(Chain(suite, workers, tmp_path))
        return started[-1]
    yield start
    for one in started:
        one.close()


def is_front(ev):
    return ev["type"] == "rpc.call" and ev["side"] == "server" and ev["path"] == "/shop.Front/Buy"


# What the handler's own goroutine writes, and the one that it starts. A pool's lines belong to no call.
OWN, CHILD = {"handler", "file", "end"}, {"child"}
# Whose lines a call must have, and may have: the child of a worker is not known to serve the worker's call, but a
# goroutine of its own serves a call when all workers are busy.
RUNS = [(NEWEST, 0, OWN | CHILD, OWN | CHILD), (NEWEST, 4, OWN, OWN | CHILD), (OLDEST, 0, OWN, OWN | CHILD)]


def lines_of(lines, writers):
    return {line for line in lines if line.split()[1] in writers}


@pytest.mark.parametrize("suite, workers, must, may", RUNS)
def test_each_call_has_its_lines(sonde, chain, suite, workers, must, may):
    """No line under another call, none missing of goroutines that are known to serve it."""
    program = chain(suite, workers)
    one = sonde("rpc", "--logs", "--header", "x-call", "--json", "-p", str(program.pid))
    lines = program.run()
    one.wait_for(is_front, CALLS, timeout=40)
    one.finish()
    calls = [ev for ev in one.events if is_front(ev)]
    assert len(calls) == len(lines) == CALLS
    for ev in calls:
        number, logs = name_of(ev), set(ev["logs"].splitlines(True))
        assert lines_of(lines[number], must) <= logs <= lines_of(lines[number], may), f"call {number}"
        assert ev["log_bytes"] == len(ev["logs"])
    assert not [ev for ev in one.events if ev["type"] == "rpc.call" and "logs" in ev and not is_front(ev)]


def test_lines_of_text(sonde, chain):
    """Below the line of their call; each write is an event as well, if asked for."""
    program = chain(NEWEST)
    one = sonde("rpc", "--logs", "-p", str(program.pid),
                "evt.type in (rpc.call, rpc.log) and rpc.path=/shop.Front/Buy and rpc.side=server")
    program.run()
    one.finish()
    below = [line for line in one.lines if line.startswith("        | ")]
    assert len(below) == 4 * CALLS
    assert sum(" writes " in line for line in one.lines) == 4 * CALLS


def is_back(ev):
    return ev["type"] == "rpc.call" and ev["side"] == "client" and ev["path"] == "/shop.Back/Pay"


# Who makes calls of Back: the handler, its child, a pool.
PARENTS = [(NEWEST, 0, {"h", "c"}, {"h", "c"}), (NEWEST, 4, {"h"}, {"h", "c"}), (OLDEST, 0, {"h"}, {"h", "c"})]


@pytest.mark.parametrize("suite, workers, must, may", PARENTS)
def test_client_calls_have_parents(sonde, chain, tmp_path, suite, workers, must, may):
    """Each client's call has the number of the call that its goroutine serves, or none; its span is a child."""
    program, otlp = chain(suite, workers), tmp_path / "calls.otlp"
    one = sonde("rpc", "--header", "x-call", "-o", "json", "-o", f"otlp:{otlp}", "-p", str(program.pid))
    program.run()
    one.wait_for(is_front, CALLS, timeout=40)
    one.finish()
    numbers = {name_of(ev): ev["call_id"] for ev in one.events if is_front(ev)}
    assert len(set(numbers.values())) == CALLS
    backs = [ev for ev in one.events if is_back(ev)]
    assert len(backs) == 3 * CALLS and len({ev["call_id"] for ev in backs} | set(numbers.values())) == 4 * CALLS
    for ev in backs:
        number, who = name_of(ev).split()
        assert ev.get("parent") in ((numbers[number],) if who in must else (numbers[number], None)), ev
        assert who in may or "parent" not in ev, ev
        assert ev.get("parent_path") == ("/shop.Front/Buy" if "parent" in ev else None)
    check_spans(otlp, backs)


def check_spans(path, backs):
    message = trace_pb2.TracesData()
    message.ParseFromString(path.read_bytes())
    spans = [span for r in message.resource_spans for s in r.scope_spans for span in s.spans]
    fronts = {span.span_id: span.trace_id for span in spans
              if span.kind == span.SPAN_KIND_SERVER and span.name == "shop.Front/Buy"}
    children = [span for span in spans if span.kind == span.SPAN_KIND_CLIENT and span.name == "shop.Back/Pay"]
    assert len({span.span_id for span in spans}) == len(spans)
    assert [span.parent_span_id in fronts for span in children].count(True) == sum("parent" in ev for ev in backs)
    assert all(fronts.get(span.parent_span_id, span.trace_id) == span.trace_id for span in children)
