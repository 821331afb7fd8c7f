# SPDX-License-Identifier: GPL-2.0-or-later
"""Progress and last lines of monitor and capture: never to a reader of standard output."""
import os
import re
import signal
import subprocess

import pytest

from helpers import BINARY, READY_S, ROOT

CAPTURE = os.path.join(ROOT, "tests", "data", "captures", "le.pcapng")
RECORDING = os.path.join(ROOT, "tests", "data", "rec", "loopback.rec")


@pytest.mark.parametrize("words, said", [(("-v",), True), ((), False), (("-v", "-q"), False)])
def test_capture_says_what_the_file_holds(sonde, tmp_path, words, said):
    done = sonde.run("capture", "-r", CAPTURE, "-w", "x.pcapng", *words, cwd=tmp_path)
    assert done.returncode == 0 and ("x.pcapng: 5 packets, 178 B; 0 lost\n" in done.stderr) == said


def test_monitor_says_what_it_saw(sonde):
    done = sonde.run("monitor", "-v", "-r", RECORDING)
    assert done.stderr.splitlines()[-1] == "32 packets, 4 drops; 0 lost" and "packets," not in done.stdout


def test_monitor_counts_the_packets_of_a_capture(sonde):
    """Drops are not told: a capture file has none of its own."""
    done = sonde.run("monitor", "-v", "-r", CAPTURE)
    assert done.stderr.splitlines()[-1] == "5 packets; 0 lost"


def test_a_reader_that_left_hears_nothing():
    done = subprocess.run(f"{BINARY} monitor -v --json -r {RECORDING} -r {RECORDING} | true", shell=True, check=False,
                          capture_output=True, text=True, timeout=READY_S)
    assert "packets," not in done.stdout + done.stderr


def read_until(fd, pattern):
    text = ""
    while not (found := re.search(pattern, text)):
        text += os.read(fd, 4096).decode()
    return found


def test_capture_counts_on_a_terminal(netns, tmp_path):
    ns, out = netns(), tmp_path / "x.pcapng"
    ours, terminal = os.openpty()
    command = ["nsenter", f"--net={ns.path}", BINARY, "capture", "-i", "lo", "-w", str(out)]
    with subprocess.Popen(command, stderr=terminal) as child:
        read_until(ours, "ready, capturing")
        ns.run("ping", "-c", "1", "127.0.0.1")
        read_until(ours, r"\r\d\d:\d\d:\d\d  2 packets  196 B  0 lost")
        child.send_signal(signal.SIGINT)
        assert child.wait(READY_S) == 128 + signal.SIGINT
        read_until(ours, re.escape(str(out)) + r": 2 packets, 196 B; 0 lost")
    os.close(terminal)
    os.close(ours)
