# SPDX-License-Identifier: GPL-2.0-or-later
"""SIGINT and SIGTERM end a run: during its start, without a terminal, and while nobody reads its output."""
import errno
import os
import re
import resource
import signal
import socket
import subprocess
import time

import pytest

from helpers import BINARY, READY_S, TIMEOUT_S

LINES = ["syscalls", "--agent=no", "--where", "proc.name=unread"]
# More lines than a pipe or a socket holds.
MAKE_LINES = """
import os
open("/proc/self/comm", "w").write("unread")
for _ in range(50_000):
    os.getppid()
"""


def until_ready(child):
    assert any("ready" in line for line in iter(child.stderr.readline, "")), "it ended"


@pytest.mark.parametrize("command", ["monitor", "flows", "rpc"])
def test_stopped_during_the_start(sonde, command):
    """What was not loaded yet did not fail, and no time of watching is claimed."""
    starts = []
    for _ in range(2):      # the first may read its files from the disk
        began = time.monotonic()
        sonde(command, "--agent=no").stop()
        starts.append(time.monotonic() - began)
    early = 0
    for tenth in 2, 4, 6, 8:
        child = subprocess.Popen([BINARY, command, "--agent=no"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                 text=True)
        time.sleep(min(starts) * tenth / 10)
        child.send_signal(signal.SIGINT)
        said = child.communicate(timeout=READY_S)[1]
        assert "does not work" not in said, said
        if said and "ready" not in said:        # without a word: the signal came before its handler
            early += 1
            assert "nothing shown: stopped during the start\n" in said, said
    assert early


def test_nohup_outlives_its_terminal():
    child = subprocess.Popen(["nohup", BINARY, "syscalls", "--agent=no", "-o", "null"], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    until_ready(child)
    child.send_signal(signal.SIGHUP)
    child.send_signal(signal.SIGINT)
    assert " calls, " in child.communicate(timeout=READY_S)[1]
    assert child.returncode == 128 + signal.SIGINT


@pytest.fixture(params=["pipe", "socket"])
def unread(request):
    """(a run that waits in a write, the file to read its output from)"""
    if request.param == "pipe":
        reader, writer = (open(fd, mode, encoding="ascii") for fd, mode in zip(os.pipe(), "rw"))
    else:
        pair = socket.socketpair()
        reader, writer = (end.makefile(mode) for end, mode in zip(pair, "rw"))
        for end in pair:
            end.close()
    with reader:
        with writer:
            child = subprocess.Popen([BINARY, *LINES], stdout=writer, stderr=subprocess.PIPE, text=True)
        try:
            until_ready(child)
            subprocess.run(["/usr/bin/python3", "-c", MAKE_LINES], check=True, timeout=TIMEOUT_S)
            yield child, reader
        finally:
            child.kill()
            child.wait()
            child.stderr.close()


def written(child, reader, why):
    """The lines that a run has written that ends for @why."""
    assert child.wait(timeout=TIMEOUT_S) == 1
    said = re.search(rf"^sonde: cannot write standard output: {why}; .* (\d+) bytes of whole records; "
                     r"\d+ records lost$", child.stderr.read(), re.M)
    return reader.read()[:int(said.group(1))]


@pytest.mark.parametrize("signo", [signal.SIGINT, signal.SIGTERM])
def test_a_reader_that_takes_nothing_does_not_hold_a_stop(unread, signo):
    unread[0].send_signal(signo)
    lines = written(*unread, "stopped while its reader takes nothing")
    assert lines.endswith("\n") and lines.count(" getppid(") > 0


def test_a_wait_for_the_reader_that_fails_is_said(unread):
    """poll(2) fails where no descriptor is allowed."""
    resource.prlimit(unread[0].pid, resource.RLIMIT_NOFILE, (0, 0))
    lines = written(*unread, os.strerror(errno.EINVAL))
    assert lines.endswith("\n") and lines.count(" getppid(") > 0
