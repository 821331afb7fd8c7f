# SPDX-License-Identifier: GPL-2.0-or-later
"""Closing words of flows, rpc and syscalls, and the sentence where nothing comes: on stderr."""
import os
import re
import signal
import subprocess
import sys

import pytest

from helpers import BINARY, READY_S, ROOT, Sonde

sys.path.insert(0, os.path.join(ROOT, "tests", "golden"))
import calls as calls_table  # noqa: E402  found by the line above

FLOWS = os.path.join(ROOT, "tests", "data", "rec", "flows.rec")
ALL = os.path.join(ROOT, "tests", "data", "rec", "all.rec")
CAPTURE = os.path.join(ROOT, "tests", "data", "scap", "session.scap")
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


def test_system_calls():
    assert said("syscalls", "-r", ALL, "-v")[-1] == "199 calls, 7 failed; 0 lost"
    words = "syscall.name=sendto and proc.name=client"
    assert said("syscalls", "-r", ALL, "-v", words)[-1] == "17 calls, 0 failed; 0 lost"
    assert said("syscalls", "-r", CAPTURE, "-v")[-1] == "47 events; 0 lost"


@pytest.mark.parametrize("words", [(), ("-q",), ("-v", "-q")])
def test_a_replay_has_none_unless_a_person_reads_them(words):
    assert not [line for line in said("flows", "-r", FLOWS, *words) if "flows" in line]
    assert not [line for line in said("syscalls", "-r", ALL, *words) if "calls" in line]


@pytest.mark.parametrize("words, closing", [
    (("monitor",), r"[\d,]+ packets?, [\d,]+ drops?( in \d+ s)?; [\d,]+ lost.*"),
    (("flows",), r"[\d,]+ flows?(, \d+ still open)?"),
    (("syscalls", "-o", "null"), r"[\d,]+ calls?, [\d,]+ failed in \d+ s; [\d,]+ lost"),
    (("rpc", "--json"), r"[\d,]+ calls?, [\d,]+ failed")])
def test_a_live_run_has_them_wherever_stderr_goes(netns, words, closing):
    """^C ends it; -q leaves out the ready message too."""
    one = Sonde(words[0], "--agent=no", *words[1:], netns=netns())
    one.finish(signal.SIGINT)
    assert re.search(rf"^{closing}$", one.stderr, re.M), one.stderr
    quiet = netns().run(BINARY, words[0], "--agent=no", *words[1:], "-q", "--duration", "0.1s")
    assert not [line for line in quiet.stderr.splitlines() if re.search(f"ready|{closing}", line)], quiet.stderr


@pytest.mark.parametrize("words", [("syscalls", "-v", "--format", "strace"), ("compat", "strace", "-v")])
def test_tables_and_other_tools_have_none(words):
    if words[0] == "compat":
        done = subprocess.run([BINARY, *words, "/bin/true"], capture_output=True, text=True, timeout=READY_S,
                              check=False)
        assert " failed" not in done.stderr
    else:
        assert not [line for line in said(*words, "-r", ALL) if " failed" in line]


def test_a_reader_that_left_hears_no_closing_words():
    done = subprocess.run(f"{BINARY} syscalls -v -r {ALL} -r {ALL} | true", shell=True, check=False,
                          capture_output=True, text=True, timeout=READY_S)
    assert "failed;" not in done.stdout + done.stderr


def test_no_traffic_is_said_once(netns):
    space = netns()     # drops are those of all namespaces, so they are left out
    children = [space.popen(BINARY, *words, "--agent=no", "--duration", "6s") for words in
                (("flows", "--where", "evt.type=net.flow"), ("counters", "--interval", "1s", "--where",
                                                             "count.kind!=drop"))]
    for child in children:
        _, err = child.communicate(timeout=READY_S)
        assert err.count("no traffic yet on lo\n") == 1, err
