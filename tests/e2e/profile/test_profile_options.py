# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of sonde profile that need something around them: pinned maps, debug information, priorities."""
import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import time

import pytest

import helpers
from helpers import ROOT, sh

sys.path.insert(0, os.path.join(ROOT, "tests", "bench", "profile"))
sys.path.insert(0, os.path.join(ROOT, "tests", "workloads"))
import judge  # noqa: E402  found by the lines above
import workloads  # noqa: E402

COMPAT = ("compat", "profile-bpfcc")
OUT = os.path.join(os.path.abspath(os.environ.get("SONDE_BUILD", os.path.join(ROOT, "build"))), "workloads")


@pytest.fixture
def pinned():
    """A function that pins a map with these keys and returns its path."""
    paths = []

    def pin(*keys):
        path = f"/sys/fs/bpf/sd-e2e-{os.getpid()}-{len(paths)}"
        paths.append(path)
        sh("bpftool", "map", "create", path, "type", "hash", "key", "8", "value", "4", "entries", "8", "name", "only")
        for key in keys:
            number = [f"{byte:02x}" for byte in struct.pack("<Q", key)]
            sh("bpftool", "map", "update", "pinned", path, "key", "hex", *number, "value", "hex", "1", "0", "0", "0")
        return path
    yield pin
    for path in paths:
        if os.path.exists(path):
            os.unlink(path)


def profile(*words):
    done = subprocess.run([helpers.BINARY, *COMPAT, *map(str, words)], capture_output=True, text=True,
                          timeout=helpers.READY_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def comms(text):
    return {stack.comm for stack in judge.from_folded(text.splitlines())}


def test_the_cgroups_of_a_pinned_map(pinned):
    if not helpers.cgroup_root():
        pytest.skip("no cgroup2 mount")
    path = os.path.join(helpers.cgroup_root(), f"sd-e2e-map-{os.getpid()}")
    os.mkdir(path)
    try:
        with workloads.Runs(["split", "split_fp"], OUT) as runs:
            with open(os.path.join(path, "cgroup.procs"), "w", encoding="ascii") as procs:
                procs.write(str(runs.running["split"].pid))
            only = pinned(os.stat(path).st_ino)
            assert comms(profile("-F", "499", "-f", "--cgroupmap", only, "1")) == {"split"}
    finally:
        os.rmdir(path)


def test_the_mount_namespaces_of_a_pinned_map(pinned):
    """By processes that were there before, and by one that came later."""
    with workloads.Runs(["contained", "split"], OUT) as runs:
        space = os.stat(f"/proc/{runs.running['contained'].pid}/ns/mnt").st_ino
        assert space != os.stat("/proc/self/ns/mnt").st_ino
        found = comms(profile("-F", "499", "-f", "--mntnsmap", pinned(space), "1"))
    assert found == {"contained"}


@pytest.mark.parametrize("option", ["--cgroupmap", "--mntnsmap"])
def test_a_map_that_lets_nothing_through_is_a_mistake(pinned, option):
    done = subprocess.run([helpers.BINARY, *COMPAT, option, pinned(), "1"], capture_output=True, text=True,
                          timeout=helpers.READY_S, check=False)
    assert done.returncode and "empty" in done.stderr and done.stderr.count("\n") == 1


def test_the_text_of_the_programs():
    text = profile("--ebpf")
    folder = os.path.join(ROOT, "probes", "cpu", "bpf")
    sources = [name for name in os.listdir(folder) if ".bpf." in name]
    assert len(sources) > 8
    for name in sources:
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            assert f.read() in text, name


def test_priorities_can_be_left_alone():
    for words, nice in ((("--no-boost",), os.nice(0)), ((), -10)):
        one = helpers.Sonde("profile", "-v", *words)
        assert os.getpriority(os.PRIO_PROCESS, one.pid) == nice
        one.stop()


def session_nice(pid):
    """'/autogroup-12 nice 0'"""
    with open(f"/proc/{pid}/autogroup", encoding="ascii") as f:
        return int(f.read().split()[-1])


@pytest.mark.skipif(not os.path.exists("/proc/self/autogroup"), reason="no sched_autogroup")
def test_the_session_keeps_its_priority():
    """Urgent at the start: by its own scheduling, which goes with a SIGKILL, not by that of its session."""
    one = helpers.Sonde("profile", "-v", wait=False, preexec=os.setsid)
    policies, nices, deadline = set(), set(), time.monotonic() + helpers.READY_S
    while not one.is_ready and one.child.poll() is None and time.monotonic() < deadline:
        policies.add(os.sched_getscheduler(one.pid))
        nices.add(session_nice(one.pid))
    at_work = os.sched_getscheduler(one.pid)
    one.stop()
    assert nices == {0}
    assert os.SCHED_RR | os.SCHED_RESET_ON_FORK in policies
    assert at_work == os.SCHED_OTHER


LINES = """\
volatile unsigned long sink;
static inline __attribute__((always_inline)) void innermost(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
}
static inline __attribute__((always_inline)) void between(int n) { innermost(n); }
__attribute__((noinline)) void whole(int n)
{
	between(n);
	sink++;
}
int main(void)
{
	for (int i = 0; i < 2500; i++)
		whole(300000);
	return 0;
}
"""


def frames_of(path, function):
    """Stacks that go through @function: [(name, file, line)...], outermost first, with their weights."""
    data = json.loads(path.read_text())
    frames = [(f["name"], os.path.basename(f.get("file", "")), f.get("line", 0)) for f in data["shared"]["frames"]]
    for one in data["profiles"]:
        for stack, weight in zip(one["samples"], one["weights"]):
            named = [frames[i] for i in stack]
            if any(name == function for name, _, _ in named):
                yield named, weight


def test_lines_and_inlined_functions(tmp_path):
    (tmp_path / "lines.c").write_text(LINES)
    subprocess.run(["cc", "-O2", "-g", "-o", tmp_path / "lines", tmp_path / "lines.c"], check=True)
    profile("-F", "499", "--lines", "-o", tmp_path / "x.speedscope.json", "-o", tmp_path / "x.perf", "--",
            tmp_path / "lines")
    inner = sum(weight for named, weight in frames_of(tmp_path / "x.speedscope.json", "whole")
                if [f[0] for f in named[-3:]] == ["whole", "between", "innermost"]
                and named[-3][1:] == ("lines.c", 10) and named[-2][1:] == ("lines.c", 7)
                and named[-1][1] == "lines.c" and named[-1][2] in (4, 5))
    everything = sum(weight for _, weight in frames_of(tmp_path / "x.speedscope.json", "whole"))
    # others hit instructions of the loop that belong to no line of the innermost function: 0 to 13 % were seen
    assert everything > 50 and inner > 0.8 * everything
    assert " (inlined)\n" in (tmp_path / "x.perf").read_text()


GO = """\
package main

var sink uint64

func innermost(n uint64) {
	for i := uint64(0); i < n; i++ {
		sink += i
	}
}

func between(n uint64) { innermost(n) }

//go:noinline
func whole(n uint64) {
	between(n)
	sink++
}

func main() {
	for i := 0; i < 2500; i++ {
		whole(300000)
	}
}
"""


@pytest.mark.skipif(not shutil.which("go"), reason="needs go (Debian: golang-go)")
def test_inlined_functions_of_a_stripped_go_program(tmp_path):
    """Out of gopclntab: there is no symbol table and no DWARF."""
    (tmp_path / "main.go").write_text(GO)
    subprocess.run(["go", "build", "-ldflags=-s -w", "-o", tmp_path / "lines", "main.go"], cwd=tmp_path, check=True,
                   env={**os.environ, "HOME": str(tmp_path), "GOCACHE": os.path.join(OUT, "gocache"),
                        "GO111MODULE": "off", "CGO_ENABLED": "0"})
    profile("-F", "499", "--lines", "-o", tmp_path / "x.speedscope.json", "--", tmp_path / "lines")
    stacks = list(frames_of(tmp_path / "x.speedscope.json", "main.whole"))
    inner = sum(weight for named, weight in stacks
                if [f[0] for f in named[-3:]] == ["main.whole", "main.between", "main.innermost"]
                and named[-3][1:] == ("main.go", 15) and named[-2][1:] == ("main.go", 11)
                and named[-1][1] == "main.go" and named[-1][2] in (6, 7))
    everything = sum(weight for _, weight in stacks)
    assert everything > 50 and inner > 0.9 * everything, stacks[:3]


LIBRARY = """\
volatile unsigned long sink;
static __attribute__((noinline)) void hot(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
}
void entry(int n)
{
	for (int i = 0; i < n; i++)
		hot(300000);
	sink++;
}
"""


def test_a_stripped_library_shows_places_in_its_file(tmp_path):
    """Within the function that the library's symbol table had before it was stripped, in every output."""
    (tmp_path / "lib.c").write_text(LIBRARY)
    (tmp_path / "main.c").write_text("void entry(int n);\nint main(void) { entry(2500); return 0; }\n")
    library = str(tmp_path / "libstripped.so")
    sh("cc", "-O1", "-shared", "-fPIC", "-o", library, str(tmp_path / "lib.c"))
    start, size = next((int(words[0], 16), int(words[1], 16)) for words in
                       map(str.split, sh("nm", "-S", library).stdout.splitlines()) if words[-1] == "hot")
    sh("strip", library)
    sh("cc", "-o", str(tmp_path / "main"), str(tmp_path / "main.c"), library, "-Wl,-rpath," + str(tmp_path))
    outputs = {name: tmp_path / f"out.{name}" for name in ("folded", "svg", "speedscope", "perf", "pprof", "json")}
    profile("-F", "499", *[word for name, path in outputs.items() for word in ("-o", f"{name}:{path}")], "--",
            tmp_path / "main")
    for name, path in outputs.items():
        data = gzip.decompress(path.read_bytes()) if name == "pprof" else path.read_bytes()
        places = [int(place, 16) for place in
                  re.findall(r"\[[^\s\[\]]*libstripped\.so\+0x([0-9a-f]+)\]", data.decode(errors="replace"))]
        assert places and all(start <= place < start + size for place in places), (name, places[:5])
