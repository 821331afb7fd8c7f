# SPDX-License-Identifier: GPL-2.0-or-later
"""What is no call (switches, signals, faults, io_uring, ends of threads), names that are not wanted, and gaps."""
import json
import os
import re
import shutil
import subprocess

import pytest

from helpers import BINARY

HERE = os.path.dirname(os.path.abspath(__file__))

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def run(*words):
    done = subprocess.run([BINARY, "syscalls", "--local", *words], capture_output=True, timeout=90, check=False)
    return done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"), done.returncode


def events(*words):
    out, err, status = run("--json", *words)
    assert "does not work here" not in err, err
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")], status


def test_what_is_no_call_has_events():
    seen, _ = events("--events", "switch,signal,fault,exit", "-e", "kill", "--", "sh", "-c",
                     "sleep 0.05; trap : USR1; kill -USR1 $$; sh -c 'kill -TERM $$'; exit 3")
    kinds = {ev["type"] for ev in seen}
    assert {"sys.switch", "sys.signal", "sys.fault", "sys.procexit"} <= kinds
    assert any(ev["type"] == "sys.signal" and ev["number"] == 10 for ev in seen)
    codes = [ev["code"] for ev in seen if ev["type"] == "sys.procexit"]
    assert 3 << 8 in codes and 15 in codes
    assert all(ev["addr"] for ev in seen if ev["type"] == "sys.fault" and not ev["kernel"])


def test_requests_through_io_uring_are_seen(tmp_path):
    binary = str(tmp_path / "uring")
    subprocess.run(["cc", "-O1", "-Wall", "-o", binary, os.path.join(HERE, "syscalls/uring.c")], check=True)
    seen, status = events("--events", "uring", "-e", "io_uring_enter", "--", binary)
    if status == 77:
        pytest.skip("io_uring is not allowed here")
    mine = [ev for ev in seen if ev["type"] == "sys.uring"]
    assert [ev["what"] for ev in mine] == ["submit", "complete"]
    assert {ev["opcode"] for ev in mine} == {"IORING_OP_NOP"} and mine[0]["request"] == mine[1]["request"]
    assert mine[1]["result"] == 0


def test_a_filter_for_an_event_loads_it():
    seen, _ = events("--where", "evt.type=switch", "--", "sh", "-c", "sleep 0.05")
    assert seen and {ev["type"] for ev in seen if ev["type"].startswith("sys.")} == {"sys.switch"}


def test_names_that_are_not_wanted_are_left_out():
    out, err, _ = run("-v", "-U", "cat", "--format", "sysdig", "--", "sh", "-c", "cat /dev/null; ls / > /dev/null")
    assert " ls (" in out and " cat (" not in out
    stats = dict(re.findall(r"(n_\w+)=(\d+)", err))
    assert len(stats) == 8 and int(stats["n_suppressed"]) > 10 and int(stats["n_evts"]) > int(stats["n_suppressed"])


@pytest.mark.skipif(not shutil.which("sysdig"), reason="sysdig is not installed")
def test_a_gap_heals(tmp_path):
    """Most calls are lost, opens among them; descriptors have their names behind the gap all the same."""
    path = str(tmp_path / "gap.scap")
    script = "exec 7</etc/hostname; while read -r x <&7; do :; done; dd if=/dev/zero of=/dev/null bs=1 count=150000"
    _, err, _ = run("-v", "--ring-size", "64k", "--latency", "500ms", "-w", path, "--", "sh", "-c", script)
    lost = int(re.search(r"n_drops_buffer=(\d+)", err)[1])
    healed, put_off = (int(n) for n in re.search(r"(\d+) tasks read again, (\d+) times put off", err).groups())
    if not lost or not healed + put_off:
        pytest.skip("nothing was lost while the command ran")
    shown = subprocess.run(["sysdig", "-r", path, "-p", "*%evt.type %evt.dir %fd.name", "proc.name=dd and evt.dir=>"],
                           capture_output=True, check=True).stdout.decode()
    reads = [line.split()[-1] for line in shown.splitlines() if line.startswith("read >")]
    assert reads and reads.count("/dev/zero") > 0.9 * len(reads)
    assert "<NA>" not in subprocess.run(["sysdig", "-r", path], capture_output=True, check=True).stdout.decode()
