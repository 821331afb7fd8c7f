# SPDX-License-Identifier: GPL-2.0-or-later
"""A user who maps and unmaps code in a loop: other processes keep their names and mappings."""
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile

import pytest

import helpers

HERE = os.path.dirname(os.path.abspath(__file__))
PROCESSES = int(os.environ.get("SONDE_STORM_PROCESSES", "100"))
SECONDS = int(os.environ.get("SONDE_STORM_SECONDS", "5"))
NOBODY = 65534
ONE_CALL = """
#include <sys/resource.h>
int main(void) { return getpriority(PRIO_USER, 12345) == 77; }
"""
SPIN = """
#include <time.h>
void spin(void) { while (clock() < 5 * CLOCKS_PER_SEC / 2) ; }
"""


def compiled(folder, name, source, *flags):
    path = folder / name
    helpers.sh("cc", "-O1", "-o", str(path), *flags, "-x", "c", "-", input=source, timeout=60)
    return str(path)


@pytest.fixture(scope="module")
def storm_program():
    """In a folder that an ordinary user can enter: those of pytest are root's alone."""
    with tempfile.TemporaryDirectory(prefix="sonde-storm-") as folder:
        os.chmod(folder, 0o755)
        with open(os.path.join(HERE, "mmap_storm.c"), encoding="ascii") as source:
            yield compiled(pathlib.Path(folder), "mmap_storm", source.read(), "-g")


@pytest.fixture
def storm(storm_program):
    """One for each CPU, as an ordinary user."""
    children = [subprocess.Popen([storm_program], user=NOBODY, group=NOBODY, extra_groups=[])
                for _ in range(os.cpu_count())]
    yield [child.pid for child in children]
    for child in children:
        helpers.stop_process(child)


def run_named(program, folder):
    """Short processes over the time of the storm: {pid: name}."""
    truth = {}
    for i in range(PROCESSES):
        name = folder / f"n{i}"
        name.symlink_to(program)
        child = subprocess.Popen([str(name)])
        truth[child.pid] = name.name
        child.wait()
        subprocess.run(["sleep", str(SECONDS / PROCESSES)], check=True)
    return truth


def losses(events):
    """Of the proc probe, by cause; the ledger closes."""
    ledger, = [ev for ev in events if ev["type"] == "sonde.ledger" and ev["probe"] == "proc"]
    assert ledger["seen"] == ledger["delivered"] + ledger["filtered"] + ledger["sampled"] + ledger["lost"], ledger
    assert sum(ledger.get("lost_by", {}).values()) == ledger["lost"]
    return ledger.get("lost_by", {})


def test_short_processes_keep_their_names(sonde, storm, tmp_path):
    """In text, JSON and lines of sysdig; lost mappings are counted by cause, and for their process."""
    program = compiled(tmp_path, "one_call", ONE_CALL, "-static")
    as_text, recording = tmp_path / "text", tmp_path / "storm.rec"
    watch = sonde("syscalls", "--where", "syscall.name=getpriority", "--json", "-o", f"text:{as_text}", "-o",
                  f"rec:{recording}")
    truth = run_named(program, tmp_path)
    watch.wait_for(lambda ev: ev["type"] == "sys.exit", PROCESSES)
    events = watch.finish()
    replay = [helpers.sh(helpers.BINARY, "syscalls", "-r", str(recording), *words, timeout=60).stdout.splitlines()
              for words in (["--json"], ["--format", "sysdig"])]
    named = {ev["proc"]["pid"]: ev["proc"]["name"] for ev in events if ev["type"] == "sys.exit"}
    assert {pid: named.get(pid) for pid in truth} == truth
    assert {int(pid): name for name, pid in re.findall(r" (n\d+)\[(\d+)\] ", as_text.read_text())} == truth
    assert {int(pid): name for name, pid in re.findall(r" (n\d+) \((\d+)\) ", "\n".join(replay[1]))} == truth
    lost = losses(events)
    assert lost["mapping_limit"] > 10_000, lost
    assert losses([json.loads(line) for line in replay[0]]) == lost
    blamed = {ev["proc"]["pid"] for ev in events if ev["type"] == "sonde.lost" and ev["cause"] == "mapping_limit"
              and "pid" in ev.get("proc", {})}
    assert set(storm) <= blamed


def test_runs_that_name_no_function_say_nothing_of_mappings(sonde, storm):
    done = sonde.run("compat", "strace", "sleep", "1.2", timeout=helpers.READY_S)
    assert "+++ exited with 0 +++" in done.stderr and "executable mappings" not in done.stderr, done.stderr
    done = sonde.run("syscalls", "-v", "--", "sleep", "1.2", timeout=helpers.READY_S)
    assert re.search(r"^sonde: proc: .* lost \d+ \(mapping_limit\)", done.stderr, re.M), done.stderr
    assert storm and "over the limit of a process" not in done.stderr, done.stderr


def test_others_keep_their_mappings(sonde, storm):
    """Each program that starts has the mappings of its files: its own, its loader's, its library's. Both CPUs are
    the storm's: where sonde was not run for as long as fills a ring, that is counted.
    """
    watch = sonde("monitor", "--json", "--where", "evt.type in (proc.mmap, proc.exec)")
    children = []
    for _ in range(50):
        child = subprocess.Popen(["/bin/true"])
        children.append(child.pid)
        child.wait()
    helpers.sh("sleep", "1.1")     # a mapping without a record behind it comes with the next tick
    events = watch.finish()
    paths = {pid: {os.path.basename(ev["path"]) for ev in events if ev["type"] == "proc.mmap" and
                   ev["proc"]["pid"] == pid and ev["path"][0] == "/"} for pid in children}
    less = {pid: found for pid, found in paths.items() if not {"true", "libc.so.6"} <= found}
    assert not less or (len(less) < 25 and losses(events).get("mapping")), (less, losses(events))


def test_code_of_a_process_beyond_its_share_has_names(tmp_path, storm_program):
    """A library that is mapped after too many others: the mappings of the process are read again."""
    library = compiled(tmp_path, "libspin.so", SPIN, "-shared", "-fPIC")
    done = helpers.sh(helpers.BINARY, "profile", "-F", "199", "--stacks", "user", "-o", "folded", "--", storm_program,
                      "5000", library, timeout=60)
    counts = {"spin": 0, "other": 0}
    for line in done.stdout.splitlines():
        stack, count = line.rsplit(" ", 1)
        counts["spin" if ";spin" in stack else "other"] += int(count)
    # they are read again each second, and it spins for 2.5
    assert counts["spin"] > counts["other"], done.stdout
    assert "executable mappings over the limit of a process: " in done.stderr


def test_a_start_while_programs_start_loses_no_mapping(sonde):
    """The rings of mappings are emptied also while the probes are loaded, which takes a second and more."""
    with subprocess.Popen(["bash", "-c", "for _ in 1 2 3; do while :; do /bin/true; done & done; wait"],
                          start_new_session=True) as busy:
        watch = sonde("monitor", "--json", "--where", "evt.type=proc.cgroup")
        events = watch.finish()
        os.killpg(busy.pid, signal.SIGKILL)
    assert not losses(events), losses(events)
