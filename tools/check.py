#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs test layers one after the other and counts what they did.

Every layer runs, also after another failed. The last line says how many single checks passed, failed and
were skipped: cases of the unit tests, rows of the golden list, pytest tests, fuzz targets, kernel checks.
Every test that failed is named. A layer that dies, hangs or runs nothing counts as a failure; of pytest layers the
tests that ended before are counted, the one that was running failed, and those that never began are a failure
together. Standard library only.

Live tests share the machine with whatever else runs on it. Up to three that failed run once more, alone, when all
layers are done; those that then pass are counted and named as passed on the second try, never silently.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
SECOND_TRIES = 3
PYTEST_WORDS = ["-q", "-p", "no:cacheprovider"]


class Tally:
    def __init__(self, passed=0, failed=0, skipped=0, reasons=(), failures=(), again=None):
        self.passed, self.failed, self.skipped, self.reasons = passed, failed, skipped, list(reasons)
        self.failures = list(failures)      # what failed, a line each
        self.again = again or {}            # {test that pytest can run alone: its line in failures}

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


def count_pytest(path):
    found, outcomes, reasons = read_outcomes(path)
    tally = Tally(reasons=reasons)
    for test, outcome in outcomes.items():
        tally.passed += outcome == "passed"
        tally.skipped += outcome == "skipped"
        if outcome in ("failed", "started"):
            tally.failed += 1
            tally.again[test] = test if outcome == "failed" else f"{test}: it had not ended"
    tally.failures = list(tally.again.values())
    left = [test for test in found if test not in outcomes]
    if left:
        tally.failed += 1
        tally.failures.append(f"{len(left)} tests did not begin, the first is {left[0]}")
    return tally


def count_file(path):
    """What our own runners write: {"passed": 1, "failed": 0, "skipped": 0, "reasons": [], "failures": []}."""
    with open(path, encoding="utf-8") as f:
        return Tally(**json.load(f))


def pytest_layer(folder):
    def command(args, out):
        extra = args.pytest_args.split() if args.pytest_args else []
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


def lint(_args, out):
    return ["/usr/bin/python3", "tools/lint/run", "--tally", out]


# name: command, result file (None: where the command was told to), reader, limit in seconds beyond which it hangs
LAYERS = {
    "lint": (lint, count_file, 120),
    "unit": (unit, count_cmocka, 300),
    "golden": (golden, count_file, 120),
    "docs": (pytest_layer("tests/docs"), count_pytest, 600),
    "fuzz": (fuzz, count_file, 900),
    "vm": (vm, count_file, 600),
    "e2e": (pytest_layer("tests/e2e"), count_pytest, 900),
}


def run(command, limit, env):
    """Exit status; the whole process group is ended at the limit."""
    child = subprocess.Popen(command, cwd=ROOT, env=env, start_new_session=True)
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


def run_layer(name, args):
    make_command, read, limit = LAYERS[name]
    folder = os.path.join(args.build, "check")
    os.makedirs(folder, exist_ok=True)
    out = os.path.join(folder, name)
    result = os.path.join(args.build, "meson-logs", "testlog.json") if name == "unit" else out
    if os.path.exists(result):
        os.unlink(result)
    print(f"\n== {name}", flush=True)
    started = time.monotonic()
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
    print(f"== {name}: {tally} ({time.monotonic() - started:.0f} s)", flush=True)
    return tally


def prepare(args):
    """Compiles the Go programs of the live tests while layers before them wait; what fails here the tests report."""
    if "e2e" not in args.layer or len(args.layer) == 1:
        return None
    return subprocess.Popen(["nice", "tests/workloads/go/gotree.py", "prepare"], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)


def try_again(name, tally, args):
    """Runs the failed tests of a pytest layer alone; returns the names of those that pass now."""
    if not 0 < len(tally.again) <= SECOND_TRIES:
        return []
    print(f"\n== {name}, second try of {len(tally.again)}", flush=True)
    passed = [test for test in tally.again
              if run(["/usr/bin/python3", "-m", "pytest", *PYTEST_WORDS, test], 120, environment(args)) == 0]
    tally.failed -= len(passed)
    tally.passed += len(passed)
    for test in passed:
        tally.failures.remove(tally.again.pop(test))
    return passed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--fuzz-seconds", type=int, default=150)
    parser.add_argument("--fuzz-target", default="")
    parser.add_argument("--pytest-args", default="")
    parser.add_argument("--kernels", default="")
    parser.add_argument("layer", nargs="+", choices=list(LAYERS))
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    # Tests end programs by SIGINT, which a shell that runs this in the background has them ignore.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    started = time.monotonic()
    ahead = prepare(args)
    tallies = {}
    for name in args.layer:
        if name == "e2e" and ahead:
            ahead.wait()
        tallies[name] = run_layer(name, args)
    second = [test for name, tally in tallies.items() for test in try_again(name, tally, args)]
    total = Tally()
    print()
    for name, tally in tallies.items():
        total.add(tally)
        if len(tallies) > 1:
            print(f"{name:8} {tally}")
    for test in second:
        print(f"passed on the second try only: {test}")
    for name, tally in tallies.items():
        for what in tally.failures:
            print(f"failed: {name}: {what}")
    print(f"time     {time.monotonic() - started:.0f} s")
    print(total, flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
