# SPDX-License-Identifier: GPL-2.0-or-later
"""A terminal that takes nothing (Ctrl-S) does not keep a live view from reading its rings."""
import os
import re
import signal
import subprocess
import termios
import threading

from helpers import BINARY, TIMEOUT_S
from terminal import Terminal

# More than the rings hold, at a pace that a reader keeps up with.
ROUNDS = 150
CALLS = f"""
import os, time
open("/proc/self/comm", "w").write("stuckload")
for _ in range({ROUNDS}):
    for _ in range(1000):
        os.getppid()
    time.sleep(0.01)
"""


def make_calls():
    subprocess.run(["/usr/bin/python3", "-c", CALLS], check=True, timeout=60)


def ledger_of(err):
    line = re.search(r"sys: (seen .*)", err).group(1)
    return {name: int(n) for name, n in re.findall(r"(seen|delivered|filtered|sampled|lost) (\d+)", line)}


def test_a_stopped_terminal_loses_nothing():
    one = Terminal("syscalls", "--top", "--where", "proc.name=stuckload", "--agent=no", "-v")
    one.read_until(rb"sonde syscalls")
    one.flow(termios.TCOOFF)
    os.write(one.master, b"jk")     # each key draws
    make_calls()
    status, err = one.end()
    assert status == 128 + signal.SIGTERM, err
    ledger = ledger_of(err)
    assert ledger["seen"] >= ROUNDS * 1000 and ledger["lost"] == 0, err


def test_lines_that_nobody_takes_are_in_the_ledger():
    """Lines are data: who does not read them holds the reader, and what the rings had no room for is counted."""
    child = subprocess.Popen([BINARY, "syscalls", "--where", "proc.name=stuckload", "--agent=no", "-v",
                              "syscall.name=getppid",
                              "--ring-size", "64K"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while "ready" not in child.stderr.readline():
        pass
    make_calls()
    threading.Timer(0, child.send_signal, (signal.SIGINT,)).start()
    out, err = child.communicate(timeout=TIMEOUT_S)
    ledger = ledger_of(err)
    assert ledger["lost"] > 0 and ledger["seen"] == sum(n for key, n in ledger.items() if key != "seen"), err
    assert len([line for line in out.splitlines() if " getppid(" in line]) == ledger["delivered"]
