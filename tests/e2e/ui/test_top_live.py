# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde top on this host: in tmux with resizing and job control, beside a stuck terminal, the bytes that it draws."""
import json
import os
import re
import shlex
import signal
import subprocess
import termios
import time

import pytest

from helpers import BINARY, ROOT, sh, wait_until
from screens import Screen

CHAIN = os.path.join(ROOT, "tests", "data", "rec", "chain.rec")
FRAME_BYTES = 3072
INTERVAL_S = 0.1


class Tmux:
    """A shell in a window of tmux, whose server has a socket of its own."""

    def __init__(self, folder, width, height):
        self.socket = str(folder / "tmux")
        env = {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        self.run("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), "/bin/sh", env=env)

    def run(self, *words, **options):
        return sh("tmux", "-S", self.socket, *words, **options).stdout

    def keys(self, *words):
        self.run("send-keys", *words)

    def lines(self):
        return self.run("capture-pane", "-p").rstrip("\n").split("\n")

    def wait(self, pattern):
        wait_until(lambda: re.search(pattern, "\n".join(self.lines()), re.M))

    def close(self):
        self.run("kill-server", check=False)


@pytest.fixture
def tmux(tmp_path):
    one = Tmux(tmp_path, 80, 24)
    one.keys("PS1='READY''>'; clear", "Enter")
    try:
        one.wait(r"\AREADY>$")
        yield one
    finally:
        one.close()


def is_drawn(lines, height, last):
    """A picture of that height, whose last heading is this."""
    return (len(lines) == height and lines[0].startswith("sonde top") and lines[3].endswith(last)
            and lines[-1].startswith("Enter open"))


def test_sizes_in_tmux(tmux):
    tmux.keys(f"{shlex.quote(BINARY)} top --agent=no", "Enter")
    tmux.wait(r"(?s)^sonde top.*host > processes.*\d+ .*Enter open")
    for width, height, last in ((160, 50, "COMMAND"), (40, 10, "PROCESS"), (80, 24, "PROCESS")):
        tmux.run("resize-window", "-x", str(width), "-y", str(height))
        wait_until(lambda size=(height, last): is_drawn(tmux.lines(), *size))
        assert max(map(len, tmux.lines())) <= width
    tmux.keys("q")
    tmux.wait("READY>$")


def test_job_control(tmux):
    tmux.keys(f"{shlex.quote(BINARY)} top -r {shlex.quote(CHAIN)}", "Enter")
    tmux.wait("19012.*client")
    for _ in range(2):
        tmux.keys("C-z")
        tmux.wait("(Stopped|Suspended)")
        tmux.keys("clear; fg", "Enter")
        tmux.wait("(?s)\\Asonde top.*19012.*client.*Enter open")
    tmux.keys("q")
    tmux.wait("READY>$")
    tmux.keys("stty -a", "Enter")
    tmux.wait(r"[ ^]icanon ")
    tmux.wait(r"[ ^]echo ")


def test_a_terminal_that_is_gone():
    one = Screen("top", "--agent=no")
    one.wait("host > processes")
    one.child.send_signal(signal.SIGHUP)
    status, err = one.end(b"")
    # a word about short programs of a busy host, or about its losses, is none about the terminal
    said = [line for line in err.splitlines()
            if not re.match(r"sonde: warning: (programs that ran before|[\d,]+ of [\d,]+ events were lost)", line)]
    assert status == 128 + signal.SIGHUP and not said
    assert one.modes_after == one.modes


LOAD = """
import os, sys, time
open("/proc/self/comm", "w").write("load%s" % sys.argv[1])
print(flush=True)
while True:
    for _ in range(int(sys.argv[2])):
        os.getppid()
        os.stat("/")
    time.sleep(float(sys.argv[3]))
"""


@pytest.fixture
def load():
    children = []

    def start(n, rounds, pause_s):
        for i in range(n):
            words = ["/usr/bin/python3", "-c", LOAD, str(i), str(rounds), str(pause_s)]
            children.append(subprocess.Popen(words, stdout=subprocess.PIPE))
        for child in children:
            child.stdout.readline()
    yield start
    for child in children:
        child.kill()
        child.wait()


def test_a_picture_is_small(load):
    """Rows of 50 processes whose numbers change with each picture."""
    load(50, 20, 0.05)
    one = Screen("top", "--agent=no", "--interval", f"{INTERVAL_S * 1000:.0f}ms", size=(50, 160))
    one.wait(r"\d+ .*python3 -c")
    before, clears, begin = one.bytes, one.clears, time.monotonic()
    one.watch(5)
    frames = (time.monotonic() - begin) / INTERVAL_S
    assert one.clears == clears
    assert 0 < (one.bytes - before) / frames <= FRAME_BYTES
    assert one.end(b"q")[0] == 0


@pytest.mark.parametrize("view, events", [("processes", "sums"), ("files", "events")])
def test_a_stopped_terminal_loses_nothing(load, view, events):
    load(1, 250, 0.01)
    one = Screen("top", view, "proc.name startswith load", "--agent=no", "-v")
    one.wait(r"CALLS/s.*\n.*\d" if events == "events" else "load0")
    one.flow(termios.TCOOFF)
    os.write(one.master, b"jk")
    time.sleep(10)      # the time that nothing is read is what the test is about
    status, err = one.end()
    assert status == 128 + signal.SIGTERM, err
    ledger = {name: int(n) for name, n in re.findall(r"(\w+) (\d+)", re.search(r"sys: (seen .*)", err).group(1))}
    assert ledger["lost"] == 0 and ledger["seen"] >= (10 if events == "sums" else 50000), err


def test_sums_are_the_calls_of_a_process(tmp_path):
    """A process that says how many calls it made, counted by the kernel by process and call."""
    code = ("import os, sys\nfor _ in range(30000): os.getppid()\nfd = os.open('/dev/zero', os.O_RDONLY)\n"
            "for _ in range(700): os.read(fd, 100)\nfor _ in range(50):\n"
            "    try: os.stat('/no-such-file')\n    except OSError: pass\n")
    rows = subprocess.run([BINARY, "top", "syscalls", "--agent=no", "--json", "--", "/usr/bin/python3", "-S", "-c",
                           code], capture_output=True, text=True, timeout=60, check=True, cwd=tmp_path).stdout
    calls = [json.loads(line) for line in rows.splitlines()]
    totals = {row["key"]["syscall.name"]: row for row in calls if row["final"]}
    assert totals["getppid"]["calls"] == 30000 and totals["getppid"]["errors"] == 0
    assert totals["read"]["calls"] >= 700
    for row in totals.values():
        parts = [other for other in calls if not other["final"] and other["key"] == row["key"]]
        assert sum(other["calls"] for other in parts) == row["calls"]
        assert row["p50_ns"] <= row["p99_ns"] <= row["max_ns"]
