#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs test layers and counts what they did. Standard library only.

Every layer runs, also after another failed, unless nothing could be built. The last line says how many single checks
passed, failed and were skipped: cases of the unit tests, rows of the golden list, pytest tests, fuzz targets, kernel
checks. Every test that failed is named. A layer that dies or runs nothing counts as a failure.

A test that takes longer than its limit (120 s, or its mark `limit`) is ended and named, and the next one begins.
Tests of programs at work that failed run again alone when all layers are done, up to two more times each; what passes
then is listed as `flaky:`. More failures than noise makes get no other try. A test of tests/quarantine.tsv that
failed is listed as `quarantined:` and counted as skipped. After --minutes everything ends, with the counts so far.
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
import tempfile
import time

from check_results import REST, Tally, count_cmocka, count_file, count_pytest, quarantined

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
TEST_LIMIT_S = 120
SETUP_LIMIT_S = 600                     # of fixtures: they build programs
COMMAND_LIMIT_S = 2700                  # of a layer whose tests have limits of their own, or that is one test
BESIDE_SLOWER = 4                       # times the limits of tests that run at a low priority
END_S = 30                              # what a layer gets to clean up
MOST_AGAIN, TRIES = 15, 2               # tests that get another try, and how many each
PYTEST_WORDS = ["-q", "-p", "no:cacheprovider", "-ra"]


# ---- layers ----

def pytest_layer(folder, *marked):
    def command(args, out, test=None):
        what = [test] if test else [folder, *marked, *args.pytest_args.split()]
        return ["/usr/bin/python3", os.path.join(HERE, "pytest_outcomes.py"), out, *PYTEST_WORDS, *what]
    return command


# Folders of tests/e2e that are layers of their own beside the rest of it (`make check`)
APART = ("agent", "compat", "outputs", "record")


def e2e(args, out, test=None):
    apart = [f"--ignore=tests/e2e/{name}" for name in APART if name in args.layer]
    return pytest_layer("tests/e2e", "-m", "not replay", *apart)(args, out, test)


def golden(args, out):
    return ["/usr/bin/python3", "tests/golden/run", "--sonde", f"{args.build}/sonde", "--tally", out]


def unit(args, _out):
    return ["meson", "test", "-C", args.build, "--no-rebuild", "--suite", "unit", "--print-errorlogs"]


def fuzz(args, out):
    target = ["--target", args.fuzz_target] if args.fuzz_target else []
    return ["/usr/bin/python3", "tests/fuzz/run", "--seconds", str(args.fuzz_seconds), "--tally", out, *target]


def vm(args, out, kernel=None):
    kernels = [kernel] if kernel else args.kernels.split()
    every = ["--every-clang"] if args.every_clang else []
    return ["/usr/bin/python3", "tests/vm/run", "--sonde", f"{args.build}/sonde", "--tally", out, *every, *kernels]


def truth(args, out, _part=None):
    return ["/usr/bin/python3", "tests/truth/run", "--sonde", f"{args.build}/sonde", "--tally", out,
            "--events", str(args.events)]


def compilers(args, out, compiler=None):
    return ["/usr/bin/python3", "tests/bpf/compilers", "--build", args.build, "--tally", out,
            *([compiler] if compiler else [])]


def lint(_args, out):
    return ["/usr/bin/python3", "tools/lint/run", "--tally", out]


# name: command, reader of its result
LAYERS = {
    "lint": (lint, count_file),
    "unit": (unit, count_cmocka),
    "golden": (golden, count_file),
    "docs": (pytest_layer("tests/docs"), count_pytest),
    "ui": (pytest_layer("tests/ui"), count_pytest),
    "fuzz": (fuzz, count_file),
    "compilers": (compilers, count_file),
    "vm": (vm, count_file),
    "replay": (pytest_layer("tests/e2e", "-m", "replay"), count_pytest),
    **{name: (pytest_layer(f"tests/e2e/{name}", "-m", "not replay"), count_pytest) for name in APART},
    "e2e": (e2e, count_pytest),
    "truth": (truth, count_file),
}
# Programs at work: what else the machine does can make a test of them fail. Each command takes one part.
LIVE = ("docs", "ui", "compilers", "vm", "replay", *APART, "e2e", "truth")

# Layers that run at a low priority beside one that mostly waits, in two rows: those of one process each, and those
# that use every CPU.
ASIDE = (("lint", "docs", "ui", "replay", *APART), ("fuzz", "compilers", "vm"))
BESIDE = ("e2e",)

# Compile the Go programs of a layer, and fetch servers, while layers before it run.
AHEAD = {
    "e2e": ["tests/workloads/go/gotree.py", "prepare"],
    "truth": ["tests/truth/run", "--prepare"],
}


# ---- processes ----

PR_SET_PDEATHSIG = 1    # include/uapi/linux/prctl.h
BESIDE_NICE = 5         # a third of the weight of what runs at 0


def weigh_session(pid="self", nice=None):
    """CPU time goes to sessions first (sched(7), autogroup): the nice value of a process counts against other
    sessions only when its session has the same one.
    """
    try:
        with open(f"/proc/{pid}/autogroup", "w", encoding="ascii") as f:
            f.write(str(os.nice(0) if nice is None else nice))
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


def start(command, args, **options):
    """In a session of its own; what runs beside others stays in that session, whose weight changes at the end."""
    if args.tallies:
        return subprocess.Popen(command, process_group=0, **options)
    return start_session(command, **options)


def end(child):
    """Interrupts it, so that fixtures clean up, and kills what is left of its group."""
    child.send_signal(signal.SIGINT)
    try:
        child.wait(timeout=END_S)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


def run(command, args, too_long=lambda: ""):
    """(exit status, why it was ended or "")"""
    child, why = start(command, args, cwd=ROOT, env=environment(args)), ""
    try:
        while not why:
            try:
                return child.wait(timeout=0.5), ""
            except subprocess.TimeoutExpired:
                out_of_time = f"stopped: the whole run is limited to {args.minutes} minutes"
                why = out_of_time if time.monotonic() > args.until else too_long()
    except KeyboardInterrupt:
        print("check: interrupted", flush=True)
        end(child)
        raise
    end(child)
    print(f"check: {why}", flush=True)
    return 124, why


def environment(args):
    """With a place of its own for files of tests: pytest closes that of another, which runs, to other users."""
    return dict(os.environ, SONDE=os.path.join(args.build, "sonde"), SONDE_BUILD=args.build,
                PYTEST_DEBUG_TEMPROOT=args.folder)


def cpu_seconds():
    """Of all children that have ended and were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Watch:
    """Says when the test that a run of pytest is at takes longer than its limit."""

    def __init__(self, out, slower, building=lambda: False):
        self.out, self.slower, self.building = out, slower, building
        self.offset, self.limits, self.test, self.since, self.limit = 0, {}, "", 0, 0

    def read(self):
        if not os.path.exists(self.out):
            return
        with open(self.out, "rb") as f:
            f.seek(self.offset)
            whole = f.read().rpartition(b"\n")[0]
        self.offset += len(whole) + 1 if whole else 0
        for row in map(json.loads, whole.splitlines()):
            self.limits.update(row.get("limits", {}))
            if "phase" in row:
                self.test, self.since = row["test"], row["at"]
                self.limit = self.limits.get(self.test, TEST_LIMIT_S)
                if row["phase"] == "setup":
                    self.limit = max(self.limit, SETUP_LIMIT_S)

    def __call__(self):
        self.read()
        if self.building():
            self.since = time.monotonic()       # it may wait for the program that is built
        over = self.test and time.monotonic() - self.since > self.limit * self.slower
        return f"{self.test} ended after {self.limit * self.slower} s" if over else ""

    def blame(self, why):
        """Notes in the outcomes that the test failed, once its pytest is gone."""
        with open(self.out, "a", encoding="utf-8") as f:
            f.write(json.dumps({"test": self.test, "outcome": "failed", "reason": why}) + "\n")
        self.test = ""


def run_pytest(command, out, args):
    """Goes on behind a test that hung or ended pytest. Exit status of the last run."""
    watch = Watch(out, BESIDE_SLOWER if args.tallies else 1, args.building)
    while True:
        before = watch.offset
        status, why = run(command, args, watch)
        watch.read()
        if time.monotonic() > args.until:
            return status
        if why:
            watch.blame("hung: " + why.partition(" ")[2])
        elif status in (0, 1, 2, 5) or watch.offset == before:
            return status       # it came to its end, or nowhere


# ---- a run ----

def result_path(name, args):
    folder = os.path.join(args.build, "check")
    os.makedirs(folder, exist_ok=True)
    out = os.path.join(folder, name)
    result = os.path.join(args.build, "meson-logs", "testlog.json") if name == "unit" else out
    if os.path.exists(result):
        os.unlink(result)
    return out, result


def unbuilt(args):
    """Libraries that unit tests need and the build folder was configured without (meson.build)."""
    try:
        with open(os.path.join(args.build, "test-packages.h"), encoding="utf-8") as f:
            return re.findall(r"#undef HAVE_(\w+)", f.read())
    except OSError:
        return []


def tally_of(name, args, *part):
    """Runs a layer, or one part of it."""
    make_command, read = LAYERS[name]
    out, result = result_path(name + "-again" if part else name, args)
    command, began = make_command(args, out, *part), time.monotonic()
    if began > args.until:
        return Tally.failed_whole(f"did not begin within {args.minutes} minutes")
    if read == count_pytest:
        status, why = run_pytest(command, out, args), ""
    else:
        status, why = run(command, args, lambda: f"{name} ended after {COMMAND_LIMIT_S} s"
                          if time.monotonic() - began > COMMAND_LIMIT_S else "")
    try:
        tally = read(result)
    except (OSError, ValueError, KeyError, TypeError) as e:
        tally = Tally.failed_whole(why or f"no readable result: {e}")
    if tally.failed == 0 and (status != 0 or tally.passed + tally.skipped == 0):
        tally.fail("", f"exit status {status}, {tally}: counted as a failure")
    for library in unbuilt(args) if name == "unit" else ():
        tally.fail("", f"configured without {library.lower()}, whose tests are missing (tools/setup.sh quick)")
    return tally


def run_layer(name, args):
    print(f"\n== {name}", flush=True)
    started, cpu = time.monotonic(), cpu_seconds()
    tally = tally_of(name, args)
    for reason in tally.reasons:
        print(f"skipped: {name}: {reason}")
    print(f"== {name}: {tally} ({time.monotonic() - started:.0f} s, {cpu_seconds() - cpu:.0f} s of CPU time)",
          flush=True)
    return tally


def prepare(args):
    """{layer: what prepares it}; what fails here the layer's tests report."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return {name: start_session(AHEAD[name], begin_beside, **quiet)
            for name in args.layer if name in AHEAD and len(args.layer) > 1}


class Aside:
    """A row of ASIDE in a run of this program of its own; what it prints comes in one piece at its end."""

    def __init__(self, names, args):
        folder = os.path.join(args.build, "check")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"aside-{names[0]}")
        self.log, self.results, self.names = path + ".log", path, names
        command = ["/usr/bin/python3", os.path.abspath(__file__), "--build", args.build,
                   "--fuzz-seconds", str(args.fuzz_seconds), "--fuzz-target", args.fuzz_target,
                   "--kernels", args.kernels, "--until", str(args.until), "--minutes", str(args.minutes),
                   "--tallies", self.results, *names]
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
            return {name: Tally.failed_whole(f"no readable result: {e}") for name in self.names}

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
            args.building = lambda: False
            if name in BESIDE:
                running = [Aside(row, args) for row in rows if row]
                if name in ahead:       # its tests build what they need, one at a time
                    args.building = lambda child=ahead[name]: child.poll() is None
            elif name in ahead:
                ahead[name].wait()
            tallies[name] = run_layer(name, args)
            if name in BESIDE:
                for one in running:
                    weigh_session(one.child.pid, 0)     # nothing is left to give way to
                for one in running:
                    tallies.update(one.end())
    except KeyboardInterrupt:
        for one in running:
            one.kill()
        raise
    return {name: tallies[name] for name in args.layer}


def again(tallies, args):
    """Runs what failed of live layers alone. [(layer, part, tries)] of what passed then."""
    todo = [(name, part) for name in LIVE if name in tallies for part in tallies[name].failed_parts()]
    if len(todo) > MOST_AGAIN or any(part == REST for _, part in todo) or len(args.layer) == 1:
        return []
    flaky = []
    for name, part in todo:
        for tries in range(2, TRIES + 2):
            if time.monotonic() > args.until:
                return flaky
            print(f"\n== {name}: {part or 'all'} again, try {tries}", flush=True)
            tally = tally_of(name, args, part)
            if tally.failed == 0:
                flaky.append((name, part, tries))
                tallies[name].replace(part, tally.parts)
                break
    return flaky


def excuse(tallies):
    """Counts failures of tests in quarantine as skipped. [(layer, part, row)]"""
    rows, found = quarantined(), []
    for name, tally in tallies.items():
        for part in tally.failed_parts():
            key = part if "::" in part else f"{name}: {part}"
            if key in rows:
                tally.replace(part, {part: (0, 0, 1)})
                found.append((name, part, rows[key]))
    return found


def report(tallies, flaky, excused, started):
    """The closing lines. Number of failures."""
    print()
    total = Tally()
    for name, tally in tallies.items():
        for line in tally.slow:
            print(f"slow: {name}: {line}")
    for name, tally in tallies.items():
        total.parts[name] = [tally.passed, tally.failed, tally.skipped]
        if len(tallies) > 1:
            print(f"{name:8} {tally}")
    for name, part, tries in flaky:
        print(f"flaky: {name}: {part or 'all'} ({tries} tries)")
    for name, part, (date, seen, todo) in excused:
        print(f"quarantined: {name}: {part} (since {date}: {seen}; {todo})")
    for name, tally in tallies.items():
        for line in tally.lines():
            print(f"failed: {name}: {line}")
    print(f"time     {time.monotonic() - started:.0f} s")
    print(total, flush=True)
    return total.failed


def build(args):
    """Whether all that the layers run is there."""
    done = subprocess.run(["tools/build.sh", args.build, "all"], cwd=ROOT, check=False)
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--make", action="store_true", help="build first; what does not build is a failure")
    parser.add_argument("--fuzz-seconds", type=int, default=100)
    parser.add_argument("--fuzz-target", default="")
    parser.add_argument("--pytest-args", default="")
    parser.add_argument("--kernels", default="")
    parser.add_argument("--every-clang", action="store_true", help="vm: builds of `make bpf-compilers` too")
    parser.add_argument("--events", type=int, default=50_000)
    parser.add_argument("--minutes", type=int, default=68, help="after which everything ends")
    parser.add_argument("--until", type=float, help="the same as a time of the monotonic clock")
    parser.add_argument("--tallies", help="file for what each layer did, as JSON: of a run beside others")
    parser.add_argument("layer", nargs="+", choices=["all", *LAYERS])
    args = parser.parse_args()
    args.layer = list(LAYERS) if "all" in args.layer else args.layer
    args.build, args.building = os.path.abspath(args.build), lambda: False
    # Tests end programs by SIGINT, which a shell that runs this in the background has them ignore.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    started = time.monotonic()
    args.until = args.until or started + args.minutes * 60
    if args.make and not build(args):
        return 1 if report({"build": Tally.failed_whole("it does not build: nothing ran")}, [], [], started) else 0
    args.folder = tempfile.mkdtemp(prefix="sonde-")
    os.chmod(args.folder, 0o755)
    try:
        tallies = run_layers(args)
        if args.tallies:
            with open(args.tallies, "w", encoding="utf-8") as f:
                json.dump({name: vars(tally) for name, tally in tallies.items()}, f)
            return 0
        args.building = lambda: False
        flaky = again(tallies, args)
    finally:        # a mount that a test left is not gone into
        subprocess.run(["rm", "-rf", "--one-file-system", args.folder], check=False)
    return 1 if report(tallies, flaky, excuse(tallies), started) else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
