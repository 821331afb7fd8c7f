# SPDX-License-Identifier: GPL-2.0-or-later
"""`sonde profile` against programs that know where their time went. tests/bench/profile/run is the long form."""
import json
import os
import re
import resource
import subprocess
import sys
import time

import pytest

import helpers
from helpers import ROOT, sh

sys.path.insert(0, os.path.join(ROOT, "tests", "bench", "profile"))
sys.path.insert(0, os.path.join(ROOT, "tests", "workloads"))
import judge  # noqa: E402  found by the lines above
import truth  # noqa: E402
import workloads  # noqa: E402

OUT = os.path.join(os.path.abspath(os.environ.get("SONDE_BUILD", os.path.join(ROOT, "build"))), "workloads")
HZ = 999
SECONDS = 8
TIMED = ["split", "split_fp", "split_static", "split_stripped", "callers", "callers_fp", "kernuser", "contained",
         "deleted"]
COMPLETE = ["split", "split_fp", "split_static", "split_stripped", "callers", "callers_fp", "kernuser", "deep",
            "templates", "threads", "short90", "gopher"]
NAMED = [name for name in COMPLETE + ["contained", "deleted"] if not workloads.WORKLOADS[name].nameless]
WARM_S = 3
NOT_LOADED = re.compile(r"\[truncated: unwind info not loaded yet")


class Profile:
    """sonde profile around a block; .stacks afterwards."""

    def __init__(self, folder, *words):
        self.path = os.path.join(str(folder), "folded")
        self.words = ("compat", "profile-bpfcc", "-a", "-v", *words, "-o", f"folded:{self.path}")

    def __enter__(self):
        self.sonde = helpers.Sonde(*self.words, preexec=lambda: os.nice(-10))
        return self

    def __exit__(self, kind, *_):
        status = self.sonde.stop(timeout=30)
        if kind is None:
            assert status in (0, 130), self.sonde.stderr
            with open(self.path, encoding="utf-8") as f:
                self.stacks = judge.from_folded(f)

    def of(self, comm):
        return [s for s in self.stacks if s.comm == comm]

    def walked(self, comm):
        """Without those from before the unwind rows of a file were there: how soon is the benchmark's matter."""
        return [s for s in self.of(comm) if not (s.user and NOT_LOADED.match(s.user[0]))]


def warm_up(names):
    """
    Runs the programs under other names, so that their unwind rows are there: how fast these come depends on what else
    the machine does, and is measured by the benchmark.
    """
    children = []
    for name in names:
        link = workloads.named(OUT, "w_" + name, workloads.build(OUT, name))
        children.append(subprocess.Popen([link, str(WARM_S * 1000 // 2)], stdout=subprocess.DEVNULL))
    time.sleep(WARM_S)
    for child in children:
        child.kill()
        child.wait()


def cpu_s(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


class Everything:
    """One profile of all small programs, started and ended within it."""

    def __init__(self, folder):
        for name in workloads.BUILDS:
            if name not in ("rusty", "gopher"):
                workloads.build(OUT, name)
        if workloads.shutil.which("go"):
            workloads.build(OUT, "gopher")
        with Profile(folder, "-F", str(HZ)) as self.profile:
            warm_up([name for name in sorted(set(TIMED + COMPLETE)) if name in workloads.BUILDS and name != "gopher"])
            with workloads.Runs(sorted(set(TIMED + COMPLETE)), OUT) as runs:
                time.sleep(SECONDS)
                # What it used until now, and nothing after: it ends here.
                before = cpu_s(resource.RUSAGE_CHILDREN)
                runs.running["split_fp"].stop()
                self.split_fp_s = cpu_s(resource.RUSAGE_CHILDREN) - before
        self.left_out = runs.left_out
        self.shares = {name: one.shares() for name, one in runs.running.items()}

    def worst(self, name):
        """What the profile says of @name and should not, as text; empty = all is within what chance allows."""
        assert self.shares[name], f"{name} said nothing"
        rows = truth.compare(name, self.shares[name], self.profile.walked(name))
        return [f"{part}: {measured:.3f}, true {true:.3f}, allowed {limit:.3f}"
                for part, true, measured, _, limit, good in rows if not good]


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    return Everything(tmp_path_factory.mktemp("profile"))


@pytest.mark.parametrize("name", [name for name in TIMED if not workloads.WORKLOADS[name].nameless])
def test_shares_are_true(everything, name):
    """Functions, callers of one leaf, kernel and user; also in another mount and pid namespace, also deleted."""
    assert not everything.worst(name)


def is_before_main(user):
    """Exec, which has no user stack, and the dynamic loader."""
    return len(user) < 2 or any(re.match(r"_dl_|\[ld-linux", frame) for frame in user[:3])


def in_main(name, stacks):
    """Without the loader, which has no names: its share of programs that are often started grows with the load."""
    return [s for s in stacks if not is_before_main(s.user)] if name == "short90" else stacks


@pytest.mark.parametrize("name", COMPLETE)
def test_stacks_are_complete(everything, name):
    if name in everything.left_out:
        pytest.skip(everything.left_out[name])
    verdict = judge.Verdict(in_main(name, everything.profile.walked(name)))
    assert verdict.samples - verdict.without > 50
    assert verdict.complete_pct >= 99, verdict.bad.most_common(5)


def has_names(library):
    """A symbol table, its own or in a debug file."""
    notes = sh("readelf", "-S", "-n", library).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", notes)[1]
    return ".symtab" in notes or os.path.exists(f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug")


@pytest.fixture(scope="module")
def nameless():
    """Matches the places in the C library where it is stripped (Debian: without libc6-dbg)."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        library = next(line.split()[5] for line in maps if "/libc.so.6" in line)
    return re.compile(r"(?!)" if has_names(library) else r"\[libc\.so\.6\+0x[0-9a-f]+\]")


@pytest.mark.parametrize("name", NAMED)
def test_frames_have_names(everything, nameless, name):
    if name in everything.left_out:
        pytest.skip(everything.left_out[name])
    stacks = in_main(name, everything.profile.of(name))
    verdict = judge.Verdict(stacks)
    # The first three are of the program's start, which a stripped C library leaves without a name.
    own = [frame for s in stacks for frame in s.user[3:] * s.count if not nameless.match(frame)]
    assert own, verdict.bad
    assert sum(map(judge.is_named, own)) >= 0.98 * len(own)


def test_a_program_of_90_ms_has_names(everything):
    """Hundreds of them are gone when names are asked for. A twentieth of their time may pass before main()."""
    stacks = [s for s in everything.profile.of("short90") if not is_before_main(s.user)]
    total = sum(s.count for s in stacks)
    known = sum(s.count for s in stacks if any(f in s.user for f in ("first_sixty", "last_thirty", "spend")))
    assert total > 300
    assert known >= 0.97 * total


def test_every_sample_is_there(everything):
    """CPU seconds times the rate, within a hundredth and chance."""
    shown = sum(s.count for s in everything.profile.of("split_fp"))
    expected = everything.split_fp_s * HZ
    assert abs(shown - expected) <= 0.01 * expected + 3 * expected ** 0.5


def test_time_off_the_cpu(tmp_path):
    """How it is divided; and of a thousand different waits each is there, the last of a process too."""
    paths = workloads.build(OUT, "paths")
    with Profile(tmp_path, "--mode", "off-cpu") as profile:
        sh(paths, "sleep", "32000", "32001", "100")
        warm_up(["blocked"])
        with workloads.Runs(["blocked"], OUT) as runs:
            sleepers = [subprocess.Popen([paths, "sleep", str(at), str(at + 50), "400"]) for at in range(0, 1000, 50)]
            time.sleep(2)
            for sleeper in sleepers:
                sleeper.wait()
    assert truth.paths_of(profile.of("paths")) >= set(range(1000))
    blocked = profile.walked("blocked")
    true = runs.running["blocked"].shares()
    _, measured = truth.shares(blocked, list(true))
    for part, share in true.items():
        assert measured[part] == pytest.approx(share, abs=0.02), part   # a waiter of a busy host runs later
    verdict = judge.Verdict(blocked)
    assert verdict.complete_pct >= 99, verdict.bad.most_common(5)


def test_maps_can_be_read_by_name_and_type(tmp_path):
    """bpftool finds names and types: whoever debugs the profiler sees what it holds."""
    with Profile(tmp_path, "-F", "99") as profile:
        ids = workloads.bpf_ids(profile.sonde.pid, "map_id")
        own = [m for m in json.loads(sh("bpftool", "-j", "map", "show").stdout) if m["id"] in ids]
        plain = [m for m in own if m["type"] in ("hash", "array", "percpu_array", "percpu_hash", "lru_hash")]
        assert all(m.get("name") for m in own)
        assert plain
        untyped = [m["name"] for m in plain if not m.get("btf_id")]
        assert not untyped
        dumps = {m["name"]: sh("bpftool", "-j", "map", "dump", "id", str(m["id"]), check=False) for m in plain
                 if m["max_entries"] <= 4096}
    assert all(d.returncode == 0 for d in dumps.values()), {n: d.stderr for n, d in dumps.items() if d.returncode}
    assert any('"formatted"' in d.stdout for d in dumps.values())
