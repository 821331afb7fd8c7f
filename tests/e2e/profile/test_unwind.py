# SPDX-License-Identifier: GPL-2.0-or-later
"""User stacks of programs without frame pointers: how many are walked to their bottom, and how deep they are.

A sample that comes before the table of its file is there ends there by design; those are not counted here, but every
program must have many samples that come after.
"""
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from helpers import BINARY, READY, READY_S

BUILD = os.path.dirname(BINARY)
SHAPES = {      # name of the program: binary, arguments, frames at least
    "uw_flat": ("unwind_stacks", ["flat"], 4),
    "uw_static": ("unwind_stacks_static", ["flat"], 4),
    "uw_stripped": ("unwind_stacks_stripped", ["flat"], 4),
    "uw_deep": ("unwind_stacks", ["deep", "200"], 200),
    "uw_deeper": ("unwind_stacks", ["deep", "900"], 900),
    "uw_sort": ("unwind_stacks", ["sort"], 5),
    "uw_signal": ("unwind_stacks", ["signal"], 4),
    "uw_realign": ("unwind_stacks", ["realign"], 4),
    "uw_thread": ("unwind_stacks", ["thread"], 3),
}
needs_unwinder = pytest.mark.skipif(not os.path.exists(f"{BUILD}/tests/unwind/unwind_ends"),
                                    reason="built with -Dunwind=false")
ENOUGH = 10     # samples per program


def measure(seconds, hz, budget_kb):
    """{program: {reason: (samples, frames per sample)}}"""
    out = subprocess.run([f"{BUILD}/tests/unwind/unwind_ends", str(seconds), str(hz), str(budget_kb)],
                         check=True, capture_output=True, text=True, timeout=120).stdout
    found = {}
    for line in out.splitlines():
        if not line.startswith("#"):
            comm, end, samples, frames = line.split()
            found.setdefault(comm, {})[end] = (int(samples), float(frames))
    return found


@pytest.fixture
def programs(tmp_path):
    if not os.path.exists(f"{BUILD}/tests/unwind/unwind_ends"):
        pytest.skip("built with -Dunwind=false")
    running = []
    for name, (binary, args, _) in SHAPES.items():
        shutil.copy(f"{BUILD}/tests/unwind/{binary}", tmp_path / name)
        running.append(subprocess.Popen([tmp_path / name, *args]))
    yield
    for process in running:
        process.kill()
        process.wait()


def walked(ends):
    """(samples to the bottom, samples that had a table, frames per sample)"""
    complete, depth = ends.get("bottom", (0, 0))
    return complete, sum(n for end, (n, _) in ends.items() if end != "no-table"), depth


@pytest.mark.parametrize("budget_kb", [65536, 1024])
def test_complete(programs, budget_kb):
    for seconds in (4, 8, 16, 32):  # a busy machine gives few samples, and other programs take the room of tables
        found = measure(seconds, 499, budget_kb)
        ends = {name: walked(found.get(name, {})) for name in SHAPES}
        if all(complete >= max(ENOUGH, 0.99 * n) for complete, n, _ in ends.values()):
            break
    for name, (_, _, frames) in SHAPES.items():
        complete, n, depth = ends[name]
        assert complete >= ENOUGH, (name, found.get(name))
        assert complete >= 0.99 * n, (name, found.get(name))
        assert depth >= 0.95 * frames, (name, found.get(name))     # a mean: some are taken on the way down


def stacks_of(process, out, programs):
    """Ends `sonde profile`. ({program: (walked to the bottom, with a table)}, its cpu.totals)"""
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=READY_S)
    found, totals = {name: [0, 0] for name in programs}, None
    for line in out.read_text().splitlines():
        event = json.loads(line)
        if event["type"] == "cpu.totals":
            totals = event
        elif event["type"] == "cpu.sample" and event.get("end", "none") not in ("no-table", "none"):
            found[event["name"]][0] += event["end"] == "complete"
            found[event["name"]][1] += 1
    told = "passed without a sample" in err
    assert told == (totals["missed"] * 100 > totals["periods"]), (totals, err)
    assert f"loaded {totals['loaded']}, evicted {totals['evicted']}" in err, err
    return found, totals


def profile(out, programs, *words):
    """`sonde profile` of what has these names, to a JSON file; it is at work."""
    comms = [f"proc.name in ({', '.join(programs)})"] if programs else []
    process = subprocess.Popen([BINARY, "profile", "-v", "-F", "199", "--stats", "-o", f"json:{out}", *comms, *words],
                               stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if READY.search(line):
            break
    return process


@needs_unwinder
def test_a_zero_frame_pointer_is_no_bottom(tmp_path):
    """In code without rows only the entry point ends a stack; a zero in the register may be data."""
    shapes = {"uw_keeps": [], "uw_clears": ["x"]}
    for name in shapes:
        shutil.copy(f"{BUILD}/tests/unwind/unwind_bare", tmp_path / name)
    running = [subprocess.Popen([tmp_path / name, *words]) for name, words in shapes.items()]
    try:
        found = measure(1, 499, 65536)
    finally:
        for process in running:
            process.kill()
            process.wait()
    complete, depth = found["uw_keeps"]["bottom"]
    assert complete >= ENOUGH and depth == 3, found
    assert "bottom" not in found["uw_clears"] and found["uw_clears"]["no-rule"][0] >= ENOUGH, found


CUT = re.compile(r"stacks that came before their unwind table: (\d+) walked later, (\d+) cut short")


@needs_unwinder
def test_stacks_that_stay_cut_are_counted(tmp_path):
    """Programs that are new and soon gone: their stacks come before their tables."""
    out = tmp_path / "out"
    sonde = subprocess.Popen([BINARY, "profile", "-F", "4999", "--stats", "-v", "-o", f"json:{out}"],
                             stderr=subprocess.PIPE, text=True)
    next(line for line in sonde.stderr if READY.search(line))
    for i in range(25):
        path = tmp_path / f"uw_new{i}"
        shutil.copy(os.path.realpath("/usr/bin/python3"), path)
        subprocess.run([path, "-S", "-c", "pass"], check=True)
    sonde.send_signal(signal.SIGINT)
    _, err = sonde.communicate(timeout=READY_S)
    events = [json.loads(line) for line in out.read_text().splitlines()]
    later = [ev["end"] for ev in events if "walked-later" in ev.get("mode", ())]
    cut = [ev for ev in events if ev.get("end") == "no-table" and "walked-later" not in ev.get("mode", ())]
    gone = sum(end in ("no-table", "no-mapping") for end in later)
    totals = next(ev for ev in events if ev["type"] == "cpu.totals")
    assert totals["stayed_cut"] == len(cut) + gone, totals
    assert totals["walked_late"] == len(later) - gone, totals
    assert totals["stayed_cut"] + totals["walked_late"] > 0, totals     # which of them depends on the host's speed
    assert [int(n) for n in CUT.search(err).groups()] == [totals["walked_late"], totals["stayed_cut"]]


def syscalls_of(pid, out):
    """`sonde syscalls` of a process, to a file; it is at work."""
    process = subprocess.Popen([BINARY, "syscalls", "syscall.name in (bpf, membarrier)", "-v", "-p", str(pid),
                                "--format", "strace", "-o", out], stderr=subprocess.PIPE, text=True)
    next(line for line in process.stderr if READY.search(line))
    return process


@needs_unwinder
def test_eviction(tmp_path):
    """More tables than the budget holds: the oldest go, and come back when their program does."""
    names = [f"uw_big{i}" for i in range(5)]
    for name in names:
        shutil.copy(os.path.realpath("/usr/bin/python3"), tmp_path / name)
    sonde = profile(tmp_path / "out", names, "--unwind-memory", "1M")
    calls = syscalls_of(sonde.pid, tmp_path / "calls")
    for name in [*names, names[0]]:
        subprocess.run(["timeout", "2", tmp_path / name, "-S", "-c", "while True: pass"], check=False)
    calls.send_signal(signal.SIGINT)
    calls.communicate(timeout=READY_S)
    text = (tmp_path / "calls").read_text()
    assert "bpf(" in text and "membarrier(" not in text     # children wait for grace periods, the loop does not
    found, totals = stacks_of(sonde, tmp_path / "out", names)
    assert totals["evicted"] >= 2 and totals["loaded"] == totals["files"] + totals["evicted"], totals
    assert totals["bytes"] <= totals["pool_bytes"] <= 1 << 20 and not totals["refused"], totals
    for name, (complete, walked) in found.items():
        assert walked >= ENOUGH and complete >= 0.99 * walked, (found, totals)


@needs_unwinder
def test_no_user_stack_between_two_programs(tmp_path):
    """In the middle of an exec the memory is the new program's, the registers are the old one's."""
    path = tmp_path / "uw_exec"
    shutil.copy(f"{BUILD}/tests/unwind/unwind_stacks_static", path)
    sonde = profile(tmp_path / "out", [path.name], "-F", "4999")
    subprocess.run(["timeout", "2", path, "exec"], check=False)
    sonde.send_signal(signal.SIGINT)
    sonde.communicate(timeout=READY_S)
    events = map(json.loads, (tmp_path / "out").read_text().splitlines())
    samples = [ev for ev in events if ev["type"] == "cpu.sample"]
    ends_the_old = {"begin_new_exec", "exit_mmap"}
    between = [ev for ev in samples if ends_the_old <= {f.split("+")[0] for f in ev.get("kstack", ())}]
    assert len(between) >= ENOUGH, len(samples)
    assert not [ev for ev in between if ev.get("ustack") or "end" in ev]


@needs_unwinder
def test_rewritten_in_place(tmp_path):
    """The same inode with another program in it has other rows."""
    path = tmp_path / "uw_twice"
    shutil.copy(f"{BUILD}/tests/unwind/unwind_stacks_static", path)
    sonde = profile(tmp_path / "out", [path.name])
    subprocess.run(["timeout", "1", path, "flat"], check=False)
    inode = path.stat().st_ino
    with open(path, "r+b") as f:
        f.write(open(f"{BUILD}/tests/vm/vm-spin", "rb").read())
        f.truncate()
    assert path.stat().st_ino == inode
    subprocess.run([path, "700"], check=False, stdout=subprocess.DEVNULL)
    found, totals = stacks_of(sonde, tmp_path / "out", [path.name])
    complete, walked = found[path.name]
    assert totals["loaded"] >= 3, totals     # the vDSO, and twice the file
    assert walked >= 2 * ENOUGH and complete >= 0.95 * walked, (found, totals)
