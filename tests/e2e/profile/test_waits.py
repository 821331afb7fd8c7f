# SPDX-License-Identifier: GPL-2.0-or-later
"""What threads wait for and who wakes them, against a program that waits in each way for a waker that it knows."""
import os
import subprocess
import sys

import pytest

from helpers import PREFIX, ROOT, cgroup_root, sh, wait_until

BURN = "print('ready', flush=True)\nwhile True:\n    pass\n"


@pytest.fixture(scope="module")
def binary(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("waits") / "wait_work")
    sh("cc", "-O1", "-pthread", "-o", path, os.path.join(ROOT, "tests", "e2e", "profile", "wait_work.c"), timeout=60)
    return path


class Case:
    def __init__(self, line):
        self.kind, *numbers = line.split()
        self.tid, self.waker_pid, self.waker_tid, self.begin, self.end = map(int, numbers)

    def block(self, events):
        """The longest wait of the case; the others are those for locks and memory on its way."""
        blocks = [ev for ev in events if ev["type"] == "cpu.block" and ev["proc"]["tid"] == self.tid
                  and self.begin <= ev["ts_ns"] <= self.end + 1000000 and ev["kind"] != "cpu"]
        return max(blocks, key=lambda ev: ev["value"], default=None)


@pytest.fixture
def watch(sonde, binary):
    """Runs the program under `sonde profile` with @words: its cases and the events."""
    def run(*words):
        path = os.path.join(ROOT, "build", f"waits-{os.getpid()}")      # on a disk, unlike /tmp
        with subprocess.Popen([binary, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
            try:
                one = sonde("profile", "--mode", "off-cpu", "--json", *words, "proc.name=wait_work", wait=False)
                one.wait_for(lambda ev: ev["type"] == "cpu.block", timeout=40)
                out, _ = child.communicate("go\n", timeout=30)
                assert child.returncode == 0
            finally:
                child.kill()
                if os.path.exists(path):
                    os.unlink(path)
        return [Case(line) for line in out.splitlines()], one.finish()
    return run


def check_times(ev):
    assert ev["sleep_ns"] + ev["runq_ns"] == ev["value"], ev
    assert ev["runq_ns"] == ev["wait"]


def check_waker(case, ev):
    waker = ev.get("waker", {})
    if case.kind == "timer":
        assert waker == {"irq": "hardirq"}, ev
    elif case.kind != "disk":
        assert (waker.get("pid"), waker.get("tid")) == (case.waker_pid, case.waker_tid), (case.kind, ev)
        assert waker["name"] == "wait_work" and "irq" not in waker


def test_each_kind_of_wait_has_its_name_and_waker(watch):
    cases, events = watch()
    assert len(cases) == 19
    for case in cases:
        ev = case.block(events)
        if not ev and case.kind == "disk":
            continue                                # the file system is in memory
        assert ev, case.kind
        assert (ev["kind"], ev["kind_by"]) in ((case.kind, "stack"), (case.kind, "state")), (case.kind, ev)
        check_times(ev)
        check_waker(case, ev)


def test_without_kernel_stacks_the_call_decides_or_nothing(watch):
    """The system call does not show a page fault: it is unknown, never something else."""
    cases, events = watch("--stacks", "user")
    for case in cases:
        ev = case.block(events)
        if case.kind == "disk":
            continue
        assert ev and not ev.get("kstack"), case.kind
        if ev["kind"] == "unknown":
            assert case.kind == "page-fault" and ev["kind_by"] == "no-stack", ev
        else:
            assert ev["kind"] == case.kind and ev["kind_by"] in ("call", "state"), (case.kind, ev)
        check_waker(case, ev)


def test_filters_by_kind_and_waker(watch):
    cases, events = watch("--where", "block.kind = timer or (block.kind in (futex, pipe-read) and "
                          "block.waker.name = wait_work)")
    kinds = {ev["kind"] for ev in events if ev["type"] == "cpu.block"}
    assert kinds == {"timer", "futex", "pipe-read"}
    assert all(case.block(events) for case in cases if case.kind in kinds)


def cpu_hierarchy():
    """(mount of cgroups with the controller cpu, the files of a quota of 10 ms per 100 ms)."""
    v1, root = "/sys/fs/cgroup/cpu", cgroup_root()
    if os.path.exists(f"{v1}/cpu.cfs_quota_us"):
        return v1, {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "10000"}
    with open(f"{root}/cgroup.subtree_control", encoding="ascii") as f:
        if "cpu" not in f.read().split():
            pytest.skip("no cgroup of this host has the controller cpu")
    return root, {"cpu.max": "10000 100000"}


@pytest.fixture
def throttled():
    """(pid of a process without enough CPU time, the path of the cgroup with the quota: the one above its own)."""
    mount, files = cpu_hierarchy()
    outer = f"{mount}/{PREFIX}{os.getpid()}"
    os.makedirs(f"{outer}/inner")
    with subprocess.Popen([sys.executable, "-c", BURN], stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        for path, text in [(f"{outer}/{name}", text) for name, text in files.items()] + [
                (f"{outer}/inner/cgroup.procs", str(child.pid))]:
            with open(path, "w", encoding="ascii") as f:
                f.write(text)
        yield child.pid, outer[len(mount):]
        child.kill()
    wait_until(lambda: not open(f"{outer}/inner/cgroup.procs", encoding="ascii").read())
    os.rmdir(f"{outer}/inner")
    os.rmdir(outer)


def test_a_throttled_thread_names_the_cgroup_above(sonde, throttled):
    pid, path = throttled
    one = sonde("profile", "--mode", "off-cpu", "--json", "-p", str(pid), "block.kind=throttled", wait=False)
    _, ev = one.wait_for(lambda ev: ev["type"] == "cpu.block", count=2)
    assert ev["quota"]["cgroup"] == path
    assert (ev["quota"]["time"], ev["quota"]["period"]) == (10_000_000, 100_000_000)
    assert 0 < ev["quota"]["throttled"] <= ev["quota"]["periods"] and ev["quota"]["throttled_ns"] > 0
    assert "waker" not in ev
    one.finish()
