#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs test layers one after the other and counts what they did.

Every layer runs, also after another failed. The last line says how many single checks passed, failed and
were skipped: cases of the unit tests, rows of the golden list, pytest tests, fuzz targets, kernel checks.
Every test that failed is named. A layer that dies, hangs or runs nothing counts as a failure; of pytest layers the
tests that ended before are counted, the one that was running failed, and those that never began are a failure
together. Standard library only.

"""
import argparse
import ctypes
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
SLOW_SECONDS, SLOW_TESTS = 5, 10        # what is worth a look when the run gets too long
PYTEST_WORDS = ["-q", "-p", "no:cacheprovider"]


class Tally:
    def __init__(self, passed=0, failed=0, skipped=0, reasons=(), failures=()):
        self.passed, self.failed, self.skipped, self.reasons = passed, failed, skipped, list(reasons)
        self.failures = list(failures)      # what failed, a line each

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def failed_cases(text):
    """Names in cmocka's output: it lists those that failed once more at the end, unless the program dies."""
    listed = re.findall(r"^\[ +FAILED +\] (?!tests|\d+ test)(\S+)", text, re.M)
    begun = re.findall(r"^\[ RUN +\] (\S+)", text, re.M)
    ended = re.findall(r"^\[ +(?:OK|FAILED|SKIPPED|ERROR) +\] (\S+)", text, re.M)
    return list(dict.fromkeys(listed + [case for case in begun[-1:] if case not in ended]))


def count_cmocka(path):
    """Cases in meson's log: cmocka prints one line for each; a program that died without one is a failure."""
    tally = Tally()
    with open(path, encoding="utf-8") as log:
        for line in log:
            test = json.loads(line)
            text = test.get("stdout", "") + test.get("stderr", "")
            passed = len(re.findall(r"^\[ +OK +\] ", text, re.M))
            failed = len(re.findall(r"^\[ +FAILED +\] (?!tests|\d+ test)", text, re.M))
            skipped = len(set(re.findall(r"^\[ +SKIPPED +\] (?!tests|\d+ test)(\S+)", text, re.M)))
            # cmocka lists the names of failed cases a second time at the end.
            summary = re.search(r"^ ?(\d+) FAILED TEST", text, re.M)
            failed = int(summary.group(1)) if summary else failed
            if test["result"] not in ("OK", "SKIP"):
                cases = failed_cases(text)
                tally.failures += [f"{test['name']}: {case}" for case in cases] or [test["name"]]
            if test["result"] in ("SKIP",):
                skipped = max(skipped, 1)
            elif test["result"] != "OK" and failed == 0:
                failed = 1
            elif test["result"] == "OK" and passed + skipped == 0:
                passed = 1      # a plain program: its exit status is the check
            tally.add(Tally(passed, failed, skipped))
    return tally


OUTCOMES = ("started", "passed", "skipped", "failed")       # of set-up, test and end the worst counts


def read_outcomes(path):
    """What tools/pytest_outcomes.py wrote: all tests that were found, {test: outcome}, reasons of skips."""
    found, outcomes, reasons = [], {}, []
    with open(path, encoding="utf-8") as f:
        for row in map(json.loads, f):
            if "tests" in row:
                found = row["tests"]
                continue
            before = outcomes.get(row["test"], "started")
            outcomes[row["test"]] = max(before, row["outcome"], key=OUTCOMES.index)
            if row.get("reason"):
                reasons.append(f"{row['test'].rpartition('::')[2]}: {row['reason']}")
    return found, outcomes, reasons


def print_slowest(path):
    with open(path, encoding="utf-8") as f:
        rows = [row for row in map(json.loads, f) if row.get("seconds", 0) >= SLOW_SECONDS]
    for row in sorted(rows, key=lambda row: -row["seconds"])[:SLOW_TESTS]:
        print(f"slow: {row['seconds']:.0f} s {row['test']}")


def count_pytest(path):
    print_slowest(path)
    found, outcomes, reasons = read_outcomes(path)
    tally = Tally(reasons=reasons)
    for test, outcome in outcomes.items():
        tally.passed += outcome == "passed"
        tally.skipped += outcome == "skipped"
        if outcome in ("failed", "started"):
            tally.failed += 1
            tally.failures.append(test if outcome == "failed" else f"{test}: it had not ended")
    left = [test for test in found if test not in outcomes]
    if left:
        tally.failed += 1
        tally.failures.append(f"{len(left)} tests did not begin, the first is {left[0]}")
    return tally


def count_file(path):
    """What our own runners write: {"passed": 1, "failed": 0, "skipped": 0, "reasons": [], "failures": []}."""
    with open(path, encoding="utf-8") as f:
        return Tally(**json.load(f))


def pytest_layer(folder, *marked):
    def command(args, out):
        extra = [*marked, *(args.pytest_args.split() if args.pytest_args else [])]
        return ["/usr/bin/python3", os.path.join(HERE, "pytest_outcomes.py"), out, *PYTEST_WORDS, "-ra", folder,
                *extra]
    return command


def golden(args, out):
    return ["/usr/bin/python3", "tests/golden/run", "--sonde", f"{args.build}/sonde", "--tally", out]


def unit(args, _out):
    return ["meson", "test", "-C", args.build, "--no-rebuild", "--suite", "unit", "--print-errorlogs"]


def fuzz(args, out):
    target = ["--target", args.fuzz_target] if args.fuzz_target else []
    return ["/usr/bin/python3", "tests/fuzz/run", "--seconds", str(args.fuzz_seconds), "--tally", out, *target]


def vm(args, out):
    kernels = args.kernels.split()
    return ["/usr/bin/python3", "tests/vm/run", "--sonde", f"{args.build}/sonde", "--tally", out, *kernels]


def truth(args, out):
    return ["/usr/bin/python3", "tests/truth/run", "--sonde", f"{args.build}/sonde", "--tally", out,
            "--events", str(args.events)]


def lint(_args, out):
    return ["/usr/bin/python3", "tools/lint/run", "--tally", out]


# name: command, result file (None: where the command was told to), reader, limit in seconds beyond which it hangs
LAYERS = {
    "lint": (lint, count_file, 600),
    "unit": (unit, count_cmocka, 300),
    "golden": (golden, count_file, 120),
    "docs": (pytest_layer("tests/docs"), count_pytest, 2400),
    "ui": (pytest_layer("tests/ui"), count_pytest, 2400),
    "fuzz": (fuzz, count_file, 2400),
    "vm": (vm, count_file, 2400),
    "replay": (pytest_layer("tests/e2e", "-m", "replay"), count_pytest, 1800),
    "e2e": (pytest_layer("tests/e2e", "-m", "not replay"), count_pytest, 3600),
    "truth": (truth, count_file, 900),
}

PR_SET_PDEATHSIG = 1    # include/uapi/linux/prctl.h
BESIDE_NICE = 10        # a tenth of the weight of what runs at 0: nothing starves


def weigh_session():
    """Of a child that is about to run: CPU time goes to sessions first (sched(7), autogroup), so that the nice value
    of a process counts against other sessions only when its session has the same one.
    """
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as f:
            f.write(str(os.nice(0)))
    except OSError:
        pass        # a kernel without them: nice values of processes count


def begin_beside():
    """Of a child that is about to run beside others: the kernel interrupts it when its parent ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)
    os.nice(BESIDE_NICE)
    weigh_session()


def start_session(command, begin=weigh_session, **options):
    # pylint: disable-next=subprocess-popen-preexec-fn
    return subprocess.Popen(command, start_new_session=True, preexec_fn=begin, **options)


def run(command, limit, env):
    """Exit status; the whole process group is ended at the limit."""
    child = start_session(command, cwd=ROOT, env=env)
    try:
        return child.wait(timeout=limit)
    except subprocess.TimeoutExpired:
        print(f"check: stopped after {limit} s", flush=True)
    except KeyboardInterrupt:
        print("check: interrupted", flush=True)
        os.killpg(child.pid, signal.SIGTERM)
        raise
    os.killpg(child.pid, signal.SIGTERM)
    try:
        child.wait(timeout=10)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    return 124


def environment(args):
    return dict(os.environ, SONDE=os.path.join(args.build, "sonde"), SONDE_BUILD=args.build)


def cpu_seconds():
    """Of all children that have ended and were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_layer(name, args):
    make_command, read, limit = LAYERS[name]
    folder = os.path.join(args.build, "check")
    os.makedirs(folder, exist_ok=True)
    out = os.path.join(folder, name)
    result = os.path.join(args.build, "meson-logs", "testlog.json") if name == "unit" else out
    if os.path.exists(result):
        os.unlink(result)
    print(f"\n== {name}", flush=True)
    started, cpu = time.monotonic(), cpu_seconds()
    status = run(make_command(args, out), limit, environment(args))
    try:
        tally = read(result)
    except (OSError, ValueError, KeyError, TypeError) as e:
        tally = Tally(failed=1, failures=[f"no readable result: {e}"])
    if tally.failed == 0 and (status != 0 or tally.passed + tally.skipped == 0):
        tally.failures = [f"exit status {status}, {tally}: counted as a failure"]
        tally.failed = 1
    for reason in tally.reasons:
        print(f"skipped: {name}: {reason}")
    print(f"== {name}: {tally} ({time.monotonic() - started:.0f} s, {cpu_seconds() - cpu:.0f} s of CPU time)",
          flush=True)
    return tally


# Compile the Go programs of a layer, and fetch servers, while layers before it run.
AHEAD = {
    "e2e": ["tests/workloads/go/gotree.py", "prepare"],
    "truth": ["tests/truth/run", "--prepare"],
}


def prepare(args):
    """{layer: what prepares it}; what fails here the layer's tests report."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return {name: start_session(AHEAD[name], begin_beside, **quiet)
            for name in args.layer if name in AHEAD and len(args.layer) > 1}


# Layers that only compute, in two rows: those of one process each, and those that use every CPU. They run at a low
# priority beside one that mostly waits.
ASIDE = (("lint", "docs", "ui", "replay"), ("fuzz", "vm"))
BESIDE = ("e2e",)


class Aside:
    """A row of ASIDE in a run of this program of its own; what it prints comes in one piece at its end."""

    def __init__(self, names, args):
        folder = os.path.join(args.build, "check")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"aside-{names[0]}")
        self.log, self.results = path + ".log", path
        command = ["/usr/bin/python3", os.path.abspath(__file__), "--build", args.build,
                   "--fuzz-seconds", str(args.fuzz_seconds), "--fuzz-target", args.fuzz_target,
                   "--kernels", args.kernels, "--tallies", self.results, *names]
        self.names = names
        with open(self.log, "w", encoding="utf-8") as log:
            self.child = start_session(command, begin_beside, cwd=ROOT, stdout=log, stderr=log)

    def end(self):
        """{layer: tally}"""
        self.child.wait()
        with open(self.log, encoding="utf-8", errors="replace") as log:
            print(log.read(), flush=True)
        try:
            with open(self.results, encoding="utf-8") as f:
                return {name: Tally(**tally) for name, tally in json.load(f).items()}
        except (OSError, ValueError, TypeError) as e:
            return {name: Tally(failed=1, failures=[f"no readable result: {e}"]) for name in self.names}

    def kill(self):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGINT)
            self.child.wait()


def run_layers(args):
    """{layer: tally}, in the order of the layers."""
    ahead, tallies, running = prepare(args), {}, []
    rows = [[name for name in row if name in args.layer] for row in ASIDE] if set(args.layer) & set(BESIDE) else []
    aside = [name for row in rows for name in row]
    try:
        for name in args.layer:
            if name in aside:
                continue
            if name in BESIDE:
                running = [Aside(row, args) for row in rows if row]
            if name in ahead and name not in BESIDE:
                ahead[name].wait()      # tests of e2e build what they need, one at a time
            tallies[name] = run_layer(name, args)
            if name in BESIDE:
                for one in running:
                    tallies.update(one.end())
    except KeyboardInterrupt:
        for one in running:
            one.kill()
        raise
    return {name: tallies[name] for name in args.layer}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--fuzz-seconds", type=int, default=100)
    parser.add_argument("--fuzz-target", default="")
    parser.add_argument("--pytest-args", default="")
    parser.add_argument("--kernels", default="")
    parser.add_argument("--events", type=int, default=50_000)
    parser.add_argument("--tallies", help="file for what each layer did, as JSON")
    parser.add_argument("layer", nargs="+", choices=list(LAYERS))
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    # Tests end programs by SIGINT, which a shell that runs this in the background has them ignore.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    started = time.monotonic()
    tallies = run_layers(args)
    total = Tally()
    print()
    for name, tally in tallies.items():
        total.add(tally)
        if len(tallies) > 1:
            print(f"{name:8} {tally}")
    for name, tally in tallies.items():
        for what in tally.failures:
            print(f"failed: {name}: {what}")
    if args.tallies:
        with open(args.tallies, "w", encoding="utf-8") as f:
            json.dump({name: vars(tally) for name, tally in tallies.items()}, f)
        return 0
    print(f"time     {time.monotonic() - started:.0f} s")
    print(total, flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
