# SPDX-License-Identifier: GPL-2.0-or-later
"""Standard output is a pipe without a reader (| head): every command ends silently, with the status of SIGPIPE."""
import os
import subprocess

import pytest

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")
LOOPBACK, FLOWS, CPU = (os.path.join(DATA, "rec", name + ".rec") for name in ("loopback", "flows", "cpu"))
SCAP = os.path.join(DATA, "scap", "session.scap")

COMMANDS = [
    ["--help"], ["--version"], ["help", "outputs"], ["help", "monitor"], ["probes"], ["completion", "bash"],
    ["compat", "profile-bpfcc", "--ebpf"], ["profile", "--explain-filter"], ["rpc", "--explain-filter"],
    ["monitor", "--explain-filter", "tcp"], ["syscalls", "--explain-filter", "evt.type=open"],
    ["monitor", "-r", LOOPBACK], ["monitor", "-r", LOOPBACK, "--json"], ["monitor", "-r", LOOPBACK, "-o", "rec"],
    ["flows", "-r", FLOWS], ["flows", "-r", FLOWS, "--top", "talkers"], ["capture", "-r", LOOPBACK, "-w", "-"],
    ["profile", "-r", CPU], ["compat", "profile-bpfcc", "-r", CPU, "-f"], ["profile", "-r", CPU, "-o", "svg"],
    ["profile", "-r", CPU, "-o", "pprof"], ["profile", "diff", CPU, CPU], ["syscalls", "-r", SCAP],
    ["syscalls", "-r", SCAP, "--view", "errors"], ["syscalls", "-r", SCAP, "--view", "errors", "--json"],
]


def run_unread(sonde, words):
    read, write = os.pipe()
    os.close(read)
    try:
        return subprocess.run([sonde.path, *words], stdout=write, stderr=subprocess.PIPE, text=True, timeout=30,
                              check=False)
    finally:
        os.close(write)


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(os.path.basename(w) for w in words))
def test_quiet_end(sonde, words):
    done = run_unread(sonde, words)
    assert (done.returncode, done.stderr) == (141, "")


def test_other_outputs_are_whole(sonde, tmp_path):
    whole, beside = tmp_path / "whole.rec", tmp_path / "beside.rec"
    subprocess.run([sonde.path, "monitor", "-r", LOOPBACK, "-o", f"rec:{whole}"], check=True)
    done = run_unread(sonde, ["monitor", "-r", LOOPBACK, "-o", "json", "-o", f"rec:{beside}"])
    assert (done.returncode, done.stderr) == (141, "")
    subprocess.run([sonde.path, "monitor", "-r", beside, "-o", "null"], check=True)


@pytest.mark.parametrize("name", ["flows", "loopback", "chain"])
def test_a_copy_needs_no_events(sonde, tmp_path, name):
    """Records that nobody reads as events are copied: the same bytes and the same counts as beside another output."""
    recording, copy, beside = os.path.join(DATA, "rec", name + ".rec"), tmp_path / "copy.rec", tmp_path / "beside.rec"
    words = [sonde.path, "monitor", "-r", recording, "-v", "-o"]
    alone = subprocess.run([*words, f"rec:{copy}"], capture_output=True, check=True)
    both = subprocess.run([*words, f"rec:{beside}", "-o", "null:/dev/null"], capture_output=True, check=True)
    assert copy.read_bytes() == beside.read_bytes()
    assert alone.stderr == both.stderr


def test_real_errors_are_named(sonde):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([sonde.path, "probes"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "sonde: cannot write standard output: No space left on device\n"


def test_unwritten_output_is_no_failure(sonde, tmp_path):
    done = run_unread(sonde, ["monitor", "-r", LOOPBACK, "-o", f"json:{tmp_path}/out.json"])
    assert (done.returncode, done.stderr) == (0, "")
