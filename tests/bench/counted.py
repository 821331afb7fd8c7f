# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel counts of BPF programs; it counts only when asked, and counting slows every run."""
import contextlib
import os

SWITCH = "/proc/sys/kernel/bpf_stats_enabled"


def counting():
    """Does it count now?"""
    with open(SWITCH, encoding="ascii") as f:
        return f.read().strip() != "0"


@contextlib.contextmanager
def counted_programs():
    """The kernel takes the time of BPF programs meanwhile."""
    with open(SWITCH, encoding="ascii") as f:
        before = f.read()
    with open(SWITCH, "w", encoding="ascii") as f:
        f.write("1")
    try:
        yield
    finally:
        with open(SWITCH, "w", encoding="ascii") as f:
            f.write(before)


def programs_of(pid, kind=None):
    """Of the programs that a process holds, all or those of one BPF_PROG_TYPE: (ns on CPUs, runs)."""
    folder, ns, runs = f"/proc/{pid}/fdinfo", {}, {}
    for name in os.listdir(folder):
        try:
            with open(os.path.join(folder, name), encoding="ascii", errors="replace") as f:
                info = dict(line.split(":", 1) for line in f if ":" in line)
        except FileNotFoundError:   # closed meanwhile: no program
            continue
        if "prog_id" in info and "run_cnt" in info and (kind is None or int(info["prog_type"]) == kind):
            # links have the id alone
            number = int(info["prog_id"])
            ns[number], runs[number] = int(info["run_time_ns"]), int(info["run_cnt"])
    return sum(ns.values()), sum(runs.values())
