# SPDX-License-Identifier: GPL-2.0-or-later
"""Goroutines of samples and system calls against programs that know their numbers (tests/workloads/go/goid)."""
import os
import subprocess

import pytest

import helpers
from gocalls import gotree

SOURCE = os.path.join(helpers.ROOT, "tests", "workloads", "go", "goid")
OLDEST, NEWEST = gotree.SUITES[0], gotree.SUITES[-1]
BUILDS = [(suite, variant) for suite in gotree.SUITES for variant in ("nocgo", "cgo", "stripped-pie")] \
    if gotree.ALL_BUILDS else [(OLDEST, "nocgo"), (NEWEST, "cgo"), (NEWEST, "stripped-pie")]


@pytest.fixture
def program(request):
    """A program of SOURCE, by suite and variant; waits for a line."""
    started = []

    def start(suite, variant, *words):
        out = os.path.join(gotree.folder(), f"goid-{suite}-{variant}")
        try:
            path = gotree.Tree(suite).build(SOURCE, out, variant)
        except gotree.Unavailable as e:
            pytest.skip(f"no Go of {suite}: {e}")
        started.append(subprocess.Popen([path, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True))
        return started[-1]
    yield start
    for child in started:
        child.kill()
        child.communicate()


def begin(child):
    """Lets the program begin; its next line."""
    child.stdin.write("go\n")
    child.stdin.flush()
    return child.stdout.readline()


def busy_function(event):
    """The number of the busy function that a sample shows; None = another function."""
    frames = [frame for frame in event.get("ustack", []) if frame.startswith("main.busy")]
    return int(frames[0][len("main.busy")]) if frames and frames[0][len("main.busy")] in "0123" else None


@pytest.mark.parametrize("suite, variant", BUILDS)
def test_samples_have_their_goroutine(sonde, program, suite, variant):
    """Four goroutines that take turns on the threads: each sample names the one that its stack shows."""
    child = program(suite, variant, "busy")
    numbers = list(map(int, begin(child).split()))
    one = sonde("profile", "--json", "-F", "997", "-p", str(child.pid), wait=False)
    one.wait_for(lambda ev: busy_function(ev) is not None and "goid" in ev, 200, timeout=40)
    one.finish()
    samples = [ev for ev in one.events if busy_function(ev) is not None]
    known_ns = min(ev["ts_ns"] for ev in samples if "goid" in ev)   # sampling starts before the analysis
    samples = [ev for ev in samples if ev["ts_ns"] >= known_ns]
    wrong = [(ev.get("goid"), busy_function(ev)) for ev in samples if ev.get("goid") != numbers[busy_function(ev)]]
    assert not wrong, (numbers, wrong[:10], len(samples))
    assert {busy_function(ev) for ev in samples} == {0, 1, 2, 3}


@pytest.mark.parametrize("suite, variant", BUILDS)
def test_calls_have_their_goroutine(sonde, program, suite, variant):
    """200 goroutines on all threads: the offset of each lseek() is the number of the goroutine that calls it."""
    child = program(suite, variant, "calls", 200, 100)
    one = sonde("syscalls", "--json", "-p", str(child.pid), "--where", "syscall.name=lseek")
    assert begin(child) == "done\n"
    one.wait_for(lambda ev: ev["type"] == "sys.exit", 20000, timeout=40)
    one.finish()
    calls = [ev for ev in one.events if ev["type"] == "sys.exit"]
    wrong = [(ev["args"], ev.get("goid")) for ev in calls if int(ev["args"].split(", ")[1]) != ev.get("goid")]
    assert len(calls) == 20000 and not wrong, wrong[:10]


def test_a_program_that_starts_later(sonde, program):
    """Not known at the start: the first run is analysed, the second has its layout from the exec on."""
    one = sonde("profile", "--json", "-F", "997", "--where", "proc.name contains goid", wait=False)
    for _ in range(2):
        child = program(OLDEST, "nocgo", "busy")
        numbers = list(map(int, begin(child).split()))
        one.wait_for(lambda ev, pid=child.pid: ev["type"] == "cpu.sample" and ev["proc"]["pid"] == pid and
                     ev.get("goid"), 20, timeout=40)
        child.kill()
        child.wait()
    one.finish()
    last = [ev for ev in one.events if ev["type"] == "cpu.sample" and ev["proc"]["pid"] == child.pid and
            busy_function(ev) is not None]
    assert [ev for ev in last if ev.get("goid") != numbers[busy_function(ev)]] == []


def runs_python(ev):
    return ev["type"] == "cpu.sample" and any("python3" in frame for frame in ev.get("ustack", []))


def test_exec_of_another_program_ends_it(sonde, program):
    """The same process becomes Python, which has something else where Go has its goroutine."""
    child = program(NEWEST, "nocgo", "busy", "/usr/bin/python3", "-c", "while True: pass")
    begin(child)
    one = sonde("profile", "--json", "-F", "997", "-p", str(child.pid), wait=False)
    one.wait_for(lambda ev: ev["type"] == "cpu.sample" and ev.get("goid"), 20, timeout=40)
    child.stdin.write("on\n")
    child.stdin.flush()
    one.wait_for(runs_python, 100, timeout=40)
    one.finish()
    assert not [ev["goid"] for ev in one.events if runs_python(ev) and "goid" in ev]
