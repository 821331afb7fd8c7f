# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles against programs that time themselves, and samples against CPU time.

Every program here starts after the profiler is ready and ends before it stops, so that the profile is of its whole
life.
"""
import os
import resource
import statistics
import subprocess
import time

import judge
import tools
import truth
import workloads

HZ = 999
TIMED = ["split", "split_fp", "split_static", "callers", "callers_fp", "kernuser"]
PATHS = 20000
ACCOUNT_PCT = 1.0
READY_S = 20


def wait_ready(process, err, words=("ready",)):
    """Until it says so on stderr; a tool that says nothing is given two seconds."""
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and process.status is None:
        with open(err, encoding="utf-8", errors="replace") as f:
            if any(word in f.read() for word in words):
                return
        process.wait(0.05)


class Profile:
    """sonde profile around a block; .stacks() afterwards."""

    def __init__(self, binary, folder, hz, *extra):
        self.tool = tools.Sonde(hz, folder, binary, extra)

    def __enter__(self):
        with open(self.tool.err, "wb") as err:
            self.process = tools.Process(self.tool.words(), stderr=err, preexec=lambda: os.nice(-10))
        wait_ready(self.process, self.tool.err)
        return self

    def __exit__(self, *_):
        self.process.stop()

    def stacks(self):
        with open(self.tool.out + ".folded", encoding="utf-8", errors="backslashreplace") as f:
            return judge.from_folded(f)


def children_cpu_s():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def print_deviations(report, label, rows):
    for part, true, measured, off, limit, good in rows:
        report.check(f"{label + ': ' + part:40} true {100 * true:5.1f} %  measured {100 * measured:5.1f} %  "
                     f"off {100 * off:4.2f} of {100 * limit:.2f}", good)


def timed_programs(report, args, folder):
    with Profile(args.sonde, folder, HZ) as profile:
        with workloads.Runs(TIMED, args.out) as runs:
            time.sleep(args.seconds)
            running = dict(runs.running)
    stacks = judge.by_comm(profile.stacks())
    for name, one in running.items():
        print_deviations(report, name, truth.compare(name, one.shares(), stacks.get(name[:15], [])))


def account(report, args, folder):
    """Samples of a program = its CPU seconds x rate."""
    seconds = max(args.seconds, 10)
    with Profile(args.sonde, folder, HZ) as profile:
        before = children_cpu_s()
        one = workloads.Running("split_fp", args.out)
        time.sleep(seconds)
        one.stop()
        cpu_s = children_cpu_s() - before
    shown = sum(s.count for s in profile.stacks() if s.comm == "split_fp")
    off = 100 * abs(shown / (cpu_s * HZ) - 1)
    report.bound(f"samples {shown} of {cpu_s * HZ:.0f} (CPU s x Hz)", off, "<=", ACCOUNT_PCT, "% off")


def off_cpu(report, args, folder):
    with Profile(args.sonde, folder, HZ, "--off-cpu") as profile:
        with workloads.Runs(["blocked"], args.out) as runs:
            time.sleep(min(args.seconds, 10))
            one = runs.running["blocked"]
    stacks = [s for s in profile.stacks() if s.comm == "blocked"]
    total, measured = truth.shares(stacks, list(one.truth))
    report.check("off-CPU: there are stacks", total > 0)
    # Sums of a clock, not samples: nothing but the half point is allowed.
    for part, true in one.shares().items():
        off = abs(measured[part] - true)
        report.check(f"off-CPU: {part:30} true {100 * true:5.1f} %  measured {100 * measured[part]:5.1f} %  "
                     f"off {100 * off:4.2f} of 0.50", off <= 0.005)


def run_paths(args, how, us):
    """20,000 different stacks by two processes."""
    half = PATHS // 2
    program = workloads.build(args.out, "paths")
    children = [subprocess.Popen([program, how, str(first), str(first + half), str(us)]) for first in (0, half)]
    for child in children:
        child.wait()


def distinct(report, args, folder):
    with Profile(args.sonde, folder, HZ, "--off-cpu") as profile:
        run_paths(args, "sleep", 20)
    found = truth.paths_of(s for s in profile.stacks() if s.comm == "paths")
    report.check(f"distinct stacks off CPU: {len(found)} of {PATHS}", len(found) == PATHS)
    # Four periods at each end of a path: one sample at least, unless the machine itself stands still.
    hz = 4999
    with Profile(args.sonde, folder, hz) as profile:
        run_paths(args, "spin", 4 * 1000000 // hz)
    found = truth.paths_of(s for s in profile.stacks() if s.comm == "paths")
    report.check(f"distinct stacks on CPU: {len(found)} of {PATHS}", len(found) == PATHS)


def first_sample(report, args, folder):
    """Median over starts of the time from exec to the first sample, by the samples' own clock."""
    found = []
    for _ in range(5):
        ms = first_sample_ms(args, folder)
        if ms is not None:
            found.append(ms)
    report.bound("start to first sample, median of 5", statistics.median(found) if found else None, "<=", 100, "ms")


def first_sample_ms(args, folder):
    raise NotImplementedError


def all_checks(report, args, folder):
    report.line("\naccuracy: programs that time themselves")
    for check in (timed_programs, account, off_cpu, distinct):
        check(report, args, folder)
