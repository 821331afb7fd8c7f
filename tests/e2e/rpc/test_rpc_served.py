# SPDX-License-Identifier: GPL-2.0-or-later
"""The call that a goroutine serves, against a server whose goroutines say it (tests/workloads/go/serve)."""
import collections
import os
import subprocess

import pytest

import helpers
from gocalls import gotree

SOURCE = os.path.join(helpers.ROOT, "tests", "workloads", "go", "serve")
OLDEST, NEWEST = gotree.SUITES[0], gotree.SUITES[-1]
HANDLER, CHILD, GRANDCHILD, POOL, AFTER = range(5)
CALLS = 300


@pytest.fixture
def server():
    """The program, waiting for a line."""
    started = []

    def start(suite, *words):
        try:
            path = gotree.Tree(suite).build(SOURCE, os.path.join(gotree.folder(), f"serve-{suite}-plain"))
        except gotree.Unavailable as e:
            pytest.skip(f"no Go of {suite}: {e}")
        child = subprocess.Popen([path, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(child)
        assert child.stdout.readline() == "ready\n"
        return child
    yield start
    for child in started:
        child.kill()
        child.communicate()


def serve(sonde, server, suite, workers):
    """The system calls of each (call of the program, who), as numbers of calls or None; numbers of server events."""
    child = server(suite, CALLS, 8, workers)
    one = sonde("record", "--set", "sys,gohttp2", "--json", "-p", str(child.pid))
    child.stdin.write("go\n")
    child.stdin.flush()
    assert child.stdout.readline() == "done\n"
    one.wait_for(lambda ev: ev["type"] == "rpc.call" and ev["side"] == "server", CALLS, timeout=40)
    one.wait_for(lambda ev: ev["type"] == "sys.exit" and ev["name"] == "lseek", 6 * CALLS, timeout=40)
    one.finish()
    said = collections.defaultdict(list)
    for ev in one.events:
        if ev["type"] == "sys.exit" and ev["name"] == "lseek":
            said[divmod(int(ev["args"].split(", ")[1]), 8)].append(ev.get("call_id"))
    return said, [ev["call_id"] for ev in one.events if ev["type"] == "rpc.call" and ev["side"] == "server"]


def answers(said, who):
    """How many of @who have the number of their handler, and how many have none."""
    right = none = 0
    for n in range(1, CALLS + 1):
        for call in said[n, who]:
            assert call in (None, said[n, HANDLER][0]), f"{who} of {n}: {call}, handler {said[n, HANDLER]}"
            right += call is not None
            none += call is None
    return right, none


@pytest.mark.parametrize("suite, workers", [(NEWEST, 0), (NEWEST, 4), (OLDEST, 0)])
def test_goroutines_of_a_call(sonde, server, suite, workers):
    """No goroutine has another call's number; who cannot know has none."""
    said, events = serve(sonde, server, suite, workers)
    handlers = [said[n, HANDLER] for n in range(1, CALLS + 1)]
    assert all(len(numbers) == 2 and len(set(numbers)) == 1 for numbers in handlers)
    assert sorted(numbers[0] for numbers in handlers) == sorted(events) and len(set(events)) == CALLS
    assert answers(said, POOL) == answers(said, AFTER) == (0, CALLS)
    children = answers(said, CHILD), answers(said, GRANDCHILD)
    if suite != gotree.SUITES[0] and not workers:
        assert children == ((CALLS, 0), (CALLS, 0))
    if suite == "bookworm":     # Go 1.19: a goroutine does not know its parent
        assert children == ((0, CALLS), (0, CALLS))
