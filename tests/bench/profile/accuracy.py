# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles against programs that time themselves, and samples against CPU time.

Every program here starts after the profiler is ready and ends before it stops, so that the profile is of its whole
life.
"""
import json
import os
import re
import resource
import statistics
import subprocess
import time

import costs
import judge
import tools
import truth
import workloads

HZ = 999
TIMED = ["split", "split_fp", "split_static", "callers", "callers_fp", "kernuser"]
PATHS = 20000
ACCOUNT_PCT = 1.0
READY_S = 20
STARTS = 5


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
    lost = costs.lost(profile.tool.said())
    off = 100 * abs((shown + lost) / (cpu_s * HZ) - 1)
    report.bound(f"shown {shown} + lost {lost} of {cpu_s * HZ:.0f} (CPU s x Hz)", off, "<=", ACCOUNT_PCT, "% off")


def off_cpu(report, args, folder):
    with Profile(args.sonde, folder, HZ, "--mode", "off-cpu") as profile:
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
    """20,000 different stacks by eight processes."""
    program = workloads.build(args.out, "paths")
    children = [subprocess.Popen([program, how, str(first), str(first + PATHS // 8), str(us)])
                for first in range(0, PATHS, PATHS // 8)]
    for child in children:
        child.wait()


def distinct(report, args, folder):
    with Profile(args.sonde, folder, HZ, "--mode", "off-cpu") as profile:
        run_paths(args, "sleep", 400)
    found = truth.paths_of(s for s in profile.stacks() if s.comm == "paths")
    report.check(f"distinct stacks off CPU: {len(found)} of {PATHS}", len(found) == PATHS)
    # Four periods at each end of a path: one sample at least, unless the machine itself stands still.
    hz = 4999
    with Profile(args.sonde, folder, hz) as profile:
        run_paths(args, "spin", 4 * 1000000 // hz)
    found = truth.paths_of(s for s in profile.stacks() if s.comm == "paths")
    report.check(f"distinct stacks on CPU: {len(found)} of {PATHS}", len(found) == PATHS)


def first_of_sonde_ms(args, folder):
    path = os.path.join(folder, "first.json")
    with open(os.devnull, "wb") as null:
        process = tools.Process([args.sonde, "profile", "-F", str(HZ), "--idle", "-o", f"json:{path}"], stderr=null,
                                preexec=lambda: os.nice(-10))
    process.wait(1)
    process.stop()
    with open(path, encoding="utf-8", errors="replace") as f:
        times = [json.loads(line)["ts_ns"] for line in f if '"cpu.sample"' in line[:60]]
    return (min(times) / 1e6 - process.start_boot_s * 1000) if times else None


def first_of_perf_ms(_args, folder):
    path = os.path.join(folder, "first.data")
    process = tools.Process(["perf", "record", "-q", "-a", "-g", "-e", "cpu-clock", "-F", str(HZ), "-k",
                             "CLOCK_MONOTONIC", "-o", path])
    process.wait(2)
    process.stop()
    text = subprocess.run(["perf", "script", "-i", path, "-F", "time", "-G"], capture_output=True, text=True,
                          check=False).stdout
    times = [float(word) for word in re.findall(r"(\d+\.\d+):", text)]
    os.unlink(path)
    return (min(times) - process.start_s) * 1000 if times else None


def first_ms(measure, args, folder):
    """The median over some starts, None when no sample came in any."""
    times = [ms for ms in (measure(args, folder) for _ in range(STARTS)) if ms is not None]
    return statistics.median(times) if times else None


def first_sample(report, args, folder):
    """Medians over starts of the time from fork to the first sample, by the samples' own clock."""
    found = {}
    for who, measure in (("sonde", first_of_sonde_ms), ("perf", first_of_perf_ms)):
        if who == "perf" and not tools.shutil.which("perf"):
            continue
        found[who] = first_ms(measure, args, folder)
    report.bound(f"start to first sample at rest, median of {STARTS}", found["sonde"], "<=", costs.FIRST_MS, "ms")
    if found.get("perf") and found["sonde"]:
        report.line(f"  start to first sample: perf {found['perf']:.0f} ms, "
                    f"ratio {found['sonde'] / found['perf']:.2f}")


def all_checks(report, args, folder):
    report.line("\naccuracy: programs that time themselves")
    for check in (timed_programs, account, off_cpu, distinct, first_sample):
        check(report, args, folder)
