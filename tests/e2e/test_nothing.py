# SPDX-License-Identifier: GPL-2.0-or-later
"""A run to which nothing can come does not start."""
import subprocess

import pytest

import helpers

COMMANDS = {
    "monitor": ["monitor"], "flows": ["flows"], "capture": ["capture", "-w", "/dev/null"], "counters": ["counters"],
    "syscalls": ["syscalls"], "profile": ["profile"], "rpc": ["rpc"],
}


def ended_process():
    child = subprocess.Popen(["/bin/true"])
    child.wait()
    return str(child.pid)


@pytest.fixture
def sleeper():
    child = subprocess.Popen(["/bin/sleep", "60"])
    yield child
    child.kill()
    child.wait()


@pytest.mark.parametrize("name", COMMANDS)
def test_no_such_process(sonde, name):
    pid = ended_process()
    done = sonde.run(*COMMANDS[name], "--local", "--pid", pid, timeout=helpers.READY_S)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"sonde: no such process: {pid}\n"


def test_one_of_two_processes_is_enough(sonde, sleeper):
    pid = ended_process()
    one = sonde("syscalls", "--local", "--pid", pid, "--pid", str(sleeper.pid))
    one.stop()
    assert f"no such process: {pid}\n" in one.stderr


def test_no_go_program(sonde, sleeper):
    done = sonde.run("rpc", "--local", "-p", str(sleeper.pid), timeout=helpers.READY_S)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"process {sleeper.pid} does not run a Go program" in done.stderr


def test_types_that_no_probe_makes(sonde):
    done = sonde.run("syscalls", "--local", "--type", "net.drop", timeout=helpers.READY_S)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--type net.drop: no probe of this run makes such events" in done.stderr
