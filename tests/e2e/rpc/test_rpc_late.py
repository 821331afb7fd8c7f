# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that end soon: the first run of an unknown file is reported as late, every later one is seen whole."""
import os
import shutil
import subprocess

import pytest

import helpers
from gocalls import gotree

CALLS = 6   # of a run: three, on both sides


@pytest.fixture
def program(tmp_path):
    """A file that no sonde has seen."""
    try:
        return shutil.copy(gotree.conns(gotree.SUITES[0]), tmp_path / "short")
    except gotree.Unavailable as e:
        pytest.skip(f"no Go: {e}")


def run(program, words="call Bare\nquit\n"):
    return subprocess.run([program], input=words, capture_output=True, text=True, check=True, timeout=20)


def watched(sonde, *words):
    return sonde("rpc", "--json", "--where", "rpc.method contains sonde.test.Conns", *words)


def late(program):
    return lambda ev: ev["type"] == "rpc.late" and ev["file"] == os.path.realpath(program)


def check_runs(child, program, n):
    before = sum(ev["type"] == "rpc.call" for ev in child.events)
    for _ in range(n):
        run(program)
    child.wait_for(lambda ev: ev["type"] == "rpc.call", before + n * CALLS)
    assert all(ev["conn"]["sport"] for ev in child.events if ev["type"] == "rpc.call")


def ledger_of(child):
    return [ev for ev in child.finish() if ev["type"] == "sonde.ledger" and ev.get("probe") == "gohttp2"][-1]


@pytest.mark.parametrize("first", ["call Bare\nquit\n", "quit\n"])
def test_first_run_is_late_and_the_next_ones_are_whole(sonde, program, first):
    child = watched(sonde)
    run(program, first)
    told = child.wait_for(late(program))[0]
    assert told["ns"] > 0
    check_runs(child, program, 5)
    ledger = ledger_of(child)
    assert ledger["lost_by"]["not_attached"] == sum(ev["type"] == "rpc.late" for ev in child.events) >= 1
    assert ledger["seen"] == ledger["delivered"] + ledger["filtered"] + ledger["sampled"] + ledger["lost"]
    assert sum(late(program)(ev) for ev in child.events) == 1


@pytest.fixture
def cgroup():
    """One of its own."""
    if not helpers.cgroup_root():
        pytest.skip("no cgroup2 mount")
    path = os.path.join(helpers.cgroup_root(), f"sd-e2e-{os.getpid()}")
    os.mkdir(path)
    yield path
    os.rmdir(path)


def test_a_program_outside_the_selection_is_no_loss(sonde, program, tmp_path, cgroup):
    """Its first run is not missed: nobody asked for it."""
    child = sonde("rpc", "--json", "--cgroup", os.path.basename(cgroup))
    run(program)
    other = shutil.copy(program, tmp_path / "other")
    inside = ["sh", "-c", f'echo $$ >{cgroup}/cgroup.procs && exec "$@"', "-", str(other)]
    subprocess.run(inside, input="call Bare\nquit\n", text=True, check=True, timeout=20, stdout=subprocess.DEVNULL)
    child.wait_for(late(other))
    ledger = ledger_of(child)
    assert [ev["file"] for ev in child.events if ev["type"] == "rpc.late"] == [os.path.realpath(other)]
    assert ledger["lost_by"] == {"not_attached": 1}


def test_prefetch_sees_the_first_run(sonde, program):
    child = watched(sonde, "--prefetch", str(program))
    check_runs(child, program, 2)
    child.finish()
    assert not [ev for ev in child.events if late(program)(ev)]


def test_prefetch_of_another_file(sonde, tmp_path):
    done = sonde.run("rpc", "--prefetch", "/bin/true", timeout=30)
    assert done.returncode == 1 and "not a Go program" in done.stderr, done
    done = sonde.run("rpc", "--prefetch", str(tmp_path / "none"), timeout=30)
    assert done.returncode == 1 and "No such file" in done.stderr, done
