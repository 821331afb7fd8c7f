# SPDX-License-Identifier: GPL-2.0-or-later
"""The place where one kind of program runs: namespaces, programs that print the truth, and sonde beside them.

A program writes its truth as JSON lines, one file for each of its processes, into the folder that $TRUTH names. It
knows nothing of sonde. Times in it are CLOCK_MONOTONIC ns, as in events; starts of processes are those of
/proc/PID/stat, in clock ticks since boot.
"""
import collections
import filecmp
import glob
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
sys.path[:0] = [os.path.join(os.path.dirname(HERE), folder) for folder in ("e2e", "workloads")]
import drops  # noqa: E402  the paths above are needed first
import helpers  # noqa: E402
import own_mounts  # noqa: E402
from score import Score  # noqa: E402

PYTHON = "/usr/bin/python3"
CGROUP = "sonde-truth-"
NAMES_ONLY = ("mapping", "mapping_limit", "names")   # causes of loss in the ledger that cost no event
ROOM = ("--ring-size", "64M")       # programs run as fast as they can, and every event is compared
PROGRAM_S = 120     # a program of the generator that runs longer hangs
STOP_S = 5          # a server that is to end by itself
END_S = 60          # the rings are read and the files written
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
# Programs of the host during a replay; the folder of mount and sh goes last.
HIDE = " && ".join(f"mount -t tmpfs none {folder}" for folder in ("/usr/libexec", "/usr/sbin", "/usr/bin"))
HIDE += ' && exec "$@"'


class Unchecked(Exception):
    """A part that cannot be checked here; its bars are red."""


class Lacking(Unchecked):
    """Nor anywhere without a package that cannot be had; its bars are skipped."""


class Recording:
    """Files of an ended run of sonde."""

    def __init__(self, base, words, stderr):
        self.json, self.rec, self.words, self.stderr = base + ".json", base + ".rec", words, stderr

    def file(self, suffix):
        return self.json[:-len("json")] + suffix

    def events(self, containing=b""):
        """Events in order; @containing: bytes that the line must have, which saves parsing the others."""
        with open(self.json, "rb") as f:
            for line in f:
                if containing in line:
                    yield json.loads(line)

    def lost(self):
        """[(probe, {cause: records})] of the ledger, without causes that cost names and no event."""
        ret = []
        for ev in self.events(b'"sonde.ledger"'):
            causes = {cause: n for cause, n in ev.get("lost_by", {}).items() if n and cause not in NAMES_ONLY}
            if causes:
                ret.append((ev["probe"], causes))
        return ret


class Watch:
    """sonde beside the programs: JSON, a recording, and @more outputs (suffix: format)."""

    def __init__(self, base, words, more):
        self.base, self.words = base, words
        outputs = {"json": "json", "rec": "rec", **more}
        self.sonde = helpers.Sonde(*words, *ROOM, *(word for suffix, form in outputs.items()
                                             for word in ("-o", f"{form}:{base}.{suffix}")))

    def seen(self, containing, is_it):
        """Has an event been written for which is_it(event) is true? @containing: as in Recording.events()."""
        with open(self.base + ".json", "rb") as f:
            return any(is_it(json.loads(line)) for line in f if containing in line and line.endswith(b"\n"))

    def finish(self):
        status = self.sonde.stop(timeout=END_S)
        if status not in (0, 130):
            raise Unchecked(f"sonde {self.words[0]} ended with {status}: {self.sonde.stderr[-300:]}")
        return Recording(self.base, self.words, self.sonde.stderr)


class Stage:
    """All that a kind needs. @events: how many events it should make, in the order of magnitude."""

    def __init__(self, kind, folder, seed, events):
        self.kind, self.folder, self.events = kind, folder, events
        self.random = random.Random(f"{seed} {kind}")
        self.scores = collections.defaultdict(Score)
        self.missing = {}       # aspect or "*": reason
        self.lacking = {}       # the same, of what is skipped
        self.seen = 0           # events of all runs of sonde
        self._namespaces, self._children, self._watches, self._cgroups, self._traces = [], [], [], [], []
        # copies, so that they can be renamed away
        shutil.copytree(PROGRAMS, self.path("programs"))

    def path(self, *words):
        return os.path.join(self.folder, *words)

    def score(self, aspect):
        return self.scores[f"{self.kind}.{aspect}"]

    def unchecked(self, aspect, reason):
        self.missing[f"{self.kind}.{aspect}"] = reason

    def lacks(self, aspect, reason):
        self.lacking[f"{self.kind}.{aspect}"] = reason

    # ---- programs ----

    def netns(self):
        self._namespaces.append(helpers.Netns())
        return self._namespaces[-1]

    def cgroup(self):
        """A cgroup of its own, for programs whose calls alone are compared."""
        root = helpers.cgroup_root()
        if not root:
            raise Unchecked("cgroup2 is not mounted")
        path = os.path.join(root, f"{CGROUP}{os.getpid()}-{self.kind}-{len(self._cgroups)}")
        os.mkdir(path)
        self._cgroups.append(path)
        return path

    def python(self, name):
        return [PYTHON, "-B", self.path("programs", name)]

    def compile(self, name, *flags):
        out = self.path("programs", name[:-len(".c")])
        done = subprocess.run(["gcc", "-O1", "-g", "-o", out, os.path.join(PROGRAMS, name), *flags], check=False,
                              capture_output=True, text=True)
        if done.returncode:
            raise Unchecked(f"gcc {name}: {done.stderr[-300:]}")
        return out

    def truth_folder(self, name):
        folder = self.path("truth-" + name)
        os.makedirs(folder, exist_ok=True)
        return folder

    def start(self, name, *words, netns=None, cgroup=None, **options):
        """A program that runs until it is ended; its truth goes to truth(name)."""
        inside = ["sh", "-c", f'echo $$ >{cgroup}/cgroup.procs && exec "$@"', "-"] if cgroup else []
        inside += ["nsenter", f"--net={netns.path}"] if netns else []
        child = subprocess.Popen([*inside, *map(str, words)], env=dict(os.environ, TRUTH=self.truth_folder(name)),
                                 start_new_session=True,
                                 **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, **options})
        self._children.append(child)
        return child

    def stop(self, child):
        """Ends a program with all its children."""
        if child.poll() is None and child.stdin:
            child.stdin.close()     # what it waits for
            try:
                child.wait(STOP_S)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()

    def run(self, name, *words, **options):
        """A program to its end."""
        child = self.start(name, *words, **options)
        try:
            child.communicate(timeout=PROGRAM_S)
        except subprocess.TimeoutExpired:
            child.kill()
            raise Unchecked(f"{name} did not end within {PROGRAM_S} s") from None
        if child.returncode:
            raise Unchecked(f"{name} ended with {child.returncode}")

    def expect(self, child, line):
        got = child.stdout.readline().strip()
        if got != line:
            raise Unchecked(f"a program printed {got!r}, expected {line!r}")

    def truth(self, name):
        """Rows of all processes of a program."""
        for path in sorted(glob.glob(os.path.join(self.truth_folder(name), "*"))):
            with open(path, encoding="utf-8") as f:
                yield from map(json.loads, f)

    # ---- sonde ----

    def watch(self, name, *words, **more):
        self._watches.append(Watch(self.path(name), [str(word) for word in words], more))
        return self._watches[-1]

    def trace_drops(self):
        self._traces.append(drops.Trace(self))
        return self._traces[-1]

    def repeat_until_seen(self, watch, containing, is_it, act):
        """act(turn) until @watch has an event for which is_it(event) is true."""
        end = time.monotonic() + PROGRAM_S
        for turn in itertools.count():
            act(turn)
            if watch.seen(containing, is_it):
                return
            if time.monotonic() > end:
                raise Unchecked(f"sonde {watch.words[0]} showed no such event in {PROGRAM_S} s")

    def finish(self, watch):
        recording = watch.finish()
        with open(recording.json, "rb") as f:
            self.seen += sum(1 for _ in f)
        for probe, causes in recording.lost():
            self.score("lost").add_wrong(f"{watch.words[0]}: {probe} {causes}", sum(causes.values()))
        self.score("lost").add_right()
        return recording

    def close(self):
        for watch in self._watches:
            if watch.sonde.child.poll() is None:
                watch.sonde.child.kill()
                watch.sonde.child.wait()
        for child in self._children:
            self.stop(child)
        for one in [*self._traces, *self._namespaces]:
            one.close()
        for path in self._cgroups:
            os.rmdir(path)

    def check_replay(self, recording):
        """
        The recording again, with the programs renamed away and those of the host hidden: byte-equal JSON.
        """
        os.rename(self.path("programs"), self.path("renamed"))
        out = recording.file("replay.json")
        command = [helpers.BINARY, recording.words[0], "-q", "-r", recording.rec, "-o", f"json:{out}"]
        done = subprocess.run([*own_mounts.words(), "sh", "-c", HIDE, "-", *command], check=False,
                              capture_output=True, text=True, timeout=PROGRAM_S)
        os.rename(self.path("renamed"), self.path("programs"))
        score = self.score("replay")
        if done.returncode:
            score.add_wrong(f"replay ended with {done.returncode}: {done.stderr[-300:]}")
        elif filecmp.cmp(recording.json, out, shallow=False):
            score.add_right(count=sum(1 for _ in recording.events()))
        else:
            score.add_wrong(first_difference(recording.json, out))


def first_difference(live, replayed):
    with open(live, encoding="utf-8") as a, open(replayed, encoding="utf-8") as b:
        for number, (x, y) in enumerate(zip(a, b), 1):
            if x != y:
                at = next((i for i, (p, q) in enumerate(zip(x, y)) if p != q), min(len(x), len(y)))
                return f"line {number}: live {x[max(0, at - 60):at + 60]!r}, replayed {y[max(0, at - 60):at + 60]!r}"
    return "one has more lines"
