# SPDX-License-Identifier: GPL-2.0-or-later
"""Closing words of flows and rpc, and the sentence where nothing comes: for a person, on stderr."""
import os
import subprocess
import sys

import pytest

from helpers import BINARY, READY_S, ROOT

sys.path.insert(0, os.path.join(ROOT, "tests", "golden"))
import calls as calls_table  # noqa: E402  found by the line above

FLOWS = os.path.join(ROOT, "tests", "data", "rec", "flows.rec")
CALLS = os.path.join(ROOT, "tests", "data", "rpc", "ends.calls")


def said(*words):
    done = subprocess.run([BINARY, *words], capture_output=True, text=True, timeout=READY_S, check=True)
    return done.stderr.splitlines()


def test_flows_that_have_not_ended():
    assert said("flows", "-r", FLOWS, "-v")[-1] == "10 flows, 6 still open"


def test_calls_that_failed(tmp_path):
    path = tmp_path / "x.rec"
    path.write_bytes(calls_table.to_rec(CALLS))
    assert said("rpc", "-r", str(path), "-v")[-1] == "8 calls, 8 failed"
    assert said("rpc", "-r", str(path), "-v", "rpc.method=pay.Pay/Late")[-1] == "2 calls, 2 failed"


@pytest.mark.parametrize("words", [(), ("-q",), ("-v", "-q")])
def test_only_a_person_reads_them(words):
    assert not [line for line in said("flows", "-r", FLOWS, *words) if "flows" in line]


def test_no_traffic_is_said_once(netns):
    space = netns()     # drops are those of all namespaces, so they are left out
    children = [space.popen(BINARY, *words, "-v", "--agent=no", "--duration", "6s") for words in
                (("flows", "--where", "evt.type=net.flow"), ("counters", "--interval", "1s", "--where",
                                                             "count.kind!=drop"))]
    for child in children:
        _, err = child.communicate(timeout=READY_S)
        assert err.count("no traffic yet on lo\n") == 1, err
