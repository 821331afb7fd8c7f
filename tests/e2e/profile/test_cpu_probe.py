# SPDX-License-Identifier: GPL-2.0-or-later
"""The cpu probe against programs that time themselves: nothing is shown twice, nothing is missing, nobody else."""
import json
import math
import os
import subprocess
import sys
import time

import pytest

import helpers
from helpers import ROOT, sh

HZ = 999


@pytest.fixture(scope="module")
def binary(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("cpu") / "cpu_work")
    sh("cc", "-O1", "-pthread", "-o", path, os.path.join(ROOT, "tests", "e2e", "profile", "cpu_work.c"), timeout=60)
    return path


class Work:
    """A cpu_work: it works once told to, and its events are those between begin and end."""

    def __init__(self, words):
        self.child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.child.pid

    def run(self):
        out, _ = self.child.communicate("go\n", timeout=60)
        self.begin, self.end, self.cpu_ns, self.told = (int(word) for word in out.split())
        assert self.child.returncode == 0

    def of(self, events, kind):
        return [ev for ev in events if ev["type"] == kind and ev.get("proc", {}).get("pid") == self.pid
                and self.begin <= ev["ts_ns"] <= self.end]


@pytest.fixture
def work(binary):
    started = []

    def start(*words, prefix=()):
        started.append(Work((*prefix, binary, *map(str, words))))
        return started[-1]
    yield start
    for one in started:
        one.child.kill()
        one.child.wait()
        one.child.stdin.close()
        one.child.stdout.close()


@pytest.fixture
def profile(sonde):
    """Starts one and waits until it shows something; @seen None: until it says that it is ready."""
    def start(*words, seen=lambda ev: ev["type"].startswith("cpu.")):
        if not seen:
            return sonde("profile", "--json", "-v", *map(str, words))
        one = sonde("profile", "--json", *map(str, words), wait=False)
        one.wait_for(seen, timeout=40)
        return one
    return start


def total(events, key):
    return sum(ev[key] for ev in events)


def stolen_s():
    """What the hypervisor took, of all CPUs: the sampling clock runs on, a thread's clock does not."""
    with open("/proc/stat", encoding="ascii") as stat:
        return int(stat.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


def is_time_of(measured_s, told_s, stolen):
    return 0.99 * told_s - 0.002 <= measured_s <= 1.01 * (told_s + stolen) + 0.012     # a tick of /proc/stat is 10 ms


def ledger_closes(events):
    books = [ev for ev in events if ev["type"] == "sonde.ledger" and ev["probe"] == "cpu"]
    assert books, "no ledger of the probe"
    book = books[-1]
    assert book["seen"] == book["delivered"] + book["filtered"] + book["sampled"] + book["lost"], book
    return book


def test_samples_are_cpu_seconds_times_hz(profile, work):
    """A thread that nobody interrupts: as many periods as fit into its CPU time, by count and by value."""
    job = work("burn", 2, 1, "fifo")
    one = profile("--frequency", HZ, "--pid", job.pid)
    before = stolen_s()
    job.run()
    stolen = stolen_s() - before
    samples = job.of(one.finish(), "cpu.sample")
    assert is_time_of(total(samples, "count") / HZ, job.cpu_ns / 1e9, stolen)
    assert is_time_of(total(samples, "value") / 1e9, job.cpu_ns / 1e9, stolen)
    assert {ev["cpu"] for ev in samples} == {1}
    assert all(ev["name"] == "cpu_work" and ev["proc"]["tid"] == job.pid for ev in samples)
    assert ledger_closes(one.events)["lost"] == 0


def test_a_period_in_ns(profile, work):
    job = work("burn", 1, 0, "fifo")
    one = profile("--event", "clock:2000000", "--pid", job.pid)
    before = stolen_s()
    job.run()
    stolen = stolen_s() - before
    samples = job.of(one.finish(), "cpu.sample")
    assert all(ev["value"] == 2000000 * ev["count"] for ev in samples)
    assert is_time_of(total(samples, "value") / 1e9, job.cpu_ns / 1e9, stolen)


def test_kernel_and_user(profile, work):
    """The share of samples in read(), libc's part with it, is the program's own share of time there."""
    job = work("mix", 2, 1, "fifo")
    one = profile("--frequency", HZ, "--pid", job.pid)
    job.run()
    samples = job.of(one.finish(), "cpu.sample")
    n = total(samples, "count")
    truth = job.told / job.cpu_ns
    read = total([ev for ev in samples if "kernel" in ev["mode"] or ev["ustack"][0].startswith("read+")], "count") / n
    assert abs(read - truth) <= 3 * math.sqrt(truth * (1 - truth) / n) + 0.005, (read, truth, n)
    stacks = [ev["kstack"] for ev in samples if "kernel" in ev["mode"]]
    assert sum(any("read" in frame for frame in stack) for stack in stacks) > 0.9 * len(stacks)
    assert not any(ev.get("kstack") for ev in samples if "kernel" not in ev["mode"])


def test_only_the_stacks_that_were_asked_for(profile, work):
    for option, there, gone in (("user", "ustack", "kstack"), ("kernel", "kstack", "ustack")):
        job = work("mix", 0.3)
        one = profile("--frequency", HZ, "--pid", job.pid, "--stacks", option)
        job.run()
        samples = job.of(one.finish(), "cpu.sample")
        assert any(ev.get(there) for ev in samples)
        assert not any(ev.get(gone) for ev in samples)


def test_threads_and_cpus(profile, work):
    job = work("pair", 0.5)
    one = profile("--frequency", HZ, f"thread.tid={job.pid}")
    job.run()
    tids = {ev["proc"]["tid"] for ev in one.finish() if ev["type"] == "cpu.sample"}
    assert tids == {job.pid}

    for seconds in (0.5, 2, 8):     # on a busy host both may have the other CPU for a while
        job = work("pair", seconds)
        one = profile("--frequency", HZ, "--cpu", 1)
        job.run()
        events = one.finish()
        assert {ev["cpu"] for ev in events if ev["type"] == "cpu.sample"} == {1}
        found = job.of(events, "cpu.sample")
        if found:
            break
    assert found


def idle_ticks():
    with open("/proc/stat") as stat:
        return int(stat.readline().split()[4])


def is_idle(ev):
    return "idle" in ev.get("mode", ())


def wait_for_idle_ticks():
    """True once the CPUs have been idle for a fifth of a second; False on a host too busy for that."""
    enough = idle_ticks() + os.sysconf("SC_CLK_TCK") // 5
    deadline = time.monotonic() + 2
    while idle_ticks() < enough and time.monotonic() < deadline:
        time.sleep(0.02)
    return idle_ticks() >= enough


def test_idle_is_left_out_unless_asked_for(profile):
    """Idle samples are idle time; without the option they are filtered. An idle CPU's timer may stand still."""
    # The ticks enclose the samples: a test that loses its CPU between two clocks counts more ticks, never fewer.
    one = profile("--frequency", HZ, "--idle")
    stolen, before, begin = stolen_s(), idle_ticks(), time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    if wait_for_idle_ticks():
        one.wait_for(lambda ev: is_idle(ev) and ev["ts_ns"] >= begin)
    end = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    ticks, stolen = idle_ticks() - before, stolen_s() - stolen
    idle = [ev for ev in one.finish() if is_idle(ev) and begin <= ev["ts_ns"] <= end]
    assert total(idle, "count") / HZ <= ticks / os.sysconf("SC_CLK_TCK") * 1.1 + 0.1 + stolen
    assert all(ev.get("proc", {}).get("tid", 0) == 0 for ev in idle)
    one = profile("--frequency", HZ)
    wait_for_idle_ticks()
    assert not [ev for ev in one.finish() if is_idle(ev)]
    ledger_closes(one.events)


def test_two_beside_each_other_and_never_oneself(profile, work):
    job = work("burn", 1.5, 1, "fifo")
    first = profile("--frequency", HZ)
    second = profile("--frequency", 499)
    before = stolen_s()
    job.run()
    stolen = stolen_s() - before
    for one, hz in ((first, HZ), (second, 499)):
        events = one.finish()
        samples = job.of(events, "cpu.sample")
        assert is_time_of(total(samples, "count") / hz, job.cpu_ns / 1e9, stolen)
        assert not [ev for ev in events if ev.get("proc", {}).get("pid") == one.pid
                    and ev["type"].startswith("cpu.")]


def test_network_namespaces(profile, work, netns):
    ns = netns()
    inside = work("burn", 0.3, prefix=("nsenter", f"--net={ns.path}"))
    outside = work("burn", 0.3)
    one = profile("--frequency", HZ, "--netns", ns.name)
    inside.run()
    outside.run()
    events = one.finish()
    assert inside.of(events, "cpu.sample")
    assert {ev["netns"] for ev in events if ev["type"] == "cpu.sample"} == {ns.inode}


@pytest.mark.skipif(not helpers.cgroup_root(), reason="no cgroup2 mount")
def test_cgroups(profile, work):
    path = os.path.join(helpers.cgroup_root(), f"sd-e2e-{os.getpid()}")
    os.mkdir(path)
    try:
        inside, outside = work("burn", 0.3), work("burn", 0.3)
        with open(os.path.join(path, "cgroup.procs"), "w") as procs:
            procs.write(str(inside.pid))
        one = profile("--frequency", HZ, "--cgroup", os.path.basename(path))
        inside.run()
        outside.run()
        events = one.finish()
        assert inside.of(events, "cpu.sample")
        assert {ev["cgroup_id"] for ev in events if ev["type"] == "cpu.sample"} == {os.stat(path).st_ino}
    finally:
        for _ in range(50):
            try:
                os.rmdir(path)
                break
            except OSError:
                time.sleep(0.1)


# ---- off the CPUs ----

def test_sleeping_is_measured(profile, work):
    """The time that a program says it slept is blocked time plus the wait for a CPU after it."""
    job = work("sleep", 1.5)
    one = profile("--mode", "off-cpu", "--pid", job.pid)
    job.run()
    events = one.finish()
    blocks = [ev for ev in job.of(events, "cpu.block") if ev["state"] == "sleeping"]
    # Its clock also counts what other programs took from it between the sleep and the look at the clock.
    assert total(blocks, "value") <= 1.01 * job.told <= 1.02 * total(job.of(events, "cpu.block"), "value")
    assert all(1900000 <= ev["value"] - ev["wait"] for ev in blocks)
    # Of a few switches in a thousand the kernel tells nothing: where a return is missing there is no kernel stack;
    # where the next leave is missing too, it is the stack of that one.
    odd = [ev for ev in blocks if not any("nanosleep" in frame for frame in ev["kstack"])]
    assert len(odd) <= 0.1 * len(blocks), (len(blocks), odd)
    assert all(ev["ustack"] for ev in blocks)
    assert not [ev for ev in events if ev["type"] == "cpu.sample"]
    ledger_closes(events)


THREADS = """
import threading
def work():
    open("/proc/thread-self/comm", "w").write("named-worker")
    print("works", flush=True)
    while True: pass
open("/proc/self/comm", "w").write("named-process")
threading.Thread(target=work, daemon=True).start()
threading.Event().wait(60)
"""


def test_a_process_name_selects_threads_of_any_name(profile, sonde):
    """proc.name is compared in the kernel, with the name of the process and not of its threads."""
    with subprocess.Popen([sys.executable, "-c", THREADS], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "works\n"
            one = profile("--frequency", HZ, "proc.name=named-process", seen=lambda ev: ev["type"] == "cpu.sample")
            samples = [ev for ev in one.finish() if ev["type"] == "cpu.sample"]
            none = sonde.run("profile", "--json", "-F", str(HZ), "--duration", "300ms", "proc.name=named-worker")
            assert none.returncode == 0 and '"sonde.ledger"' in none.stdout and '"cpu.sample"' not in none.stdout
        finally:
            child.kill()
    assert {ev["proc"]["pid"] for ev in samples} == {child.pid}


def test_short_and_long_waits_can_be_left_out(profile, work):
    for option, wanted in (("10ms", lambda ns: ns >= 10000000), ("1us-10ms", lambda ns: ns <= 10000000)):
        job = work("sleep", 0.5)
        one = profile("--mode", "off-cpu", "--pid", job.pid, "--block", option, seen=None)
        job.run()
        blocks = job.of(one.finish(), "cpu.block")
        assert blocks and all(wanted(ev["value"]) for ev in blocks)


def test_waiting_for_a_cpu_is_no_blocking(profile, work):
    """Two that want the same CPU: what one does not get of it, it waited for, to the last ms."""
    first, second = work("burn", 1, 1), work("burn", 1, 1)
    one = profile("--mode", "wall", "--frequency", HZ, "--where", "proc.name=cpu_work")
    second.child.stdin.write("go\n")
    second.child.stdin.flush()
    first.run()
    second.child.wait(30)
    events = one.finish()
    blocks, samples = first.of(events, "cpu.block"), first.of(events, "cpu.sample")
    away = first.end - first.begin - first.cpu_ns
    assert total(blocks, "wait") == pytest.approx(away, rel=0.05, abs=5000000)
    assert all(ev["wait"] == ev["value"] for ev in blocks if "preempted" in ev["mode"])
    assert any("preempted" in ev["mode"] for ev in blocks)
    together = total(samples, "value") + total(blocks, "value")
    assert together == pytest.approx(first.end - first.begin, rel=0.05)


# ---- what cannot be ----

@pytest.mark.parametrize("words, sentence", [
    (("--cpu", "4000"), "no CPU 4000"),
    (("--cpu", "one"), "a list of CPU numbers"),
    (("--frequency", "99999999"), "--frequency 99999999"),
    (("--mode", "off-cpu", "--frequency", "99"), "exclude each other"),
    (("--depth", "100000"), "--depth 100000"),
])
def test_mistakes_are_told(sonde, words, sentence):
    done = sonde.run("profile", "--json", *words)
    assert done.returncode != 0 and sentence in done.stderr, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["type"].startswith("sonde.") if done.stdout else True
