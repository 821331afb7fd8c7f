# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged and hostile captures, and filters that cannot be: a sentence, never a crash; what is good is shown."""
import resource
import subprocess

import pytest

import hostile_captures
from helpers import BINARY

pytestmark = pytest.mark.replay

CAPTURES = list(hostile_captures.captures())
MEMORY = 1 << 30


def read(path, *words):
    return subprocess.run([BINARY, "syscalls", "-r", str(path), "--format", "sysdig", *words], capture_output=True,
                          timeout=30, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY)))


def test_there_are_thirty():
    assert len({name for name, _ in CAPTURES}) >= 30


@pytest.mark.parametrize("name,data", CAPTURES, ids=[name for name, _ in CAPTURES])
def test_a_hostile_capture_is_told_about(tmp_path, name, data):
    path, copy = tmp_path / name, tmp_path / "copy.scap"
    path.write_bytes(data)
    done = read(path, "-o", "text", "-o", f"scap:{copy}")
    err = done.stderr.decode()
    assert done.returncode in (0, 1), (done.returncode, err)
    assert done.returncode == 0 or err, "refused without a word"
    assert "Sanitizer" not in err and "worker" not in err, err
    assert len(err.splitlines()) <= 2 and err.isascii(), err
    assert not set(done.stdout) & set(range(32)) - {10}, "control bytes reach the terminal"
    if done.returncode == 0 and copy.exists() and copy.stat().st_size:
        assert read(copy).returncode == 0, "what was read cannot be written"


def test_a_good_one_is_read(tmp_path):
    path = tmp_path / "good.scap"
    path.write_bytes(hostile_captures.good())
    done = read(path)
    assert done.returncode == 0 and not done.stderr
    assert [line.split(" ", 2)[2] for line in done.stdout.decode().splitlines()] == [
        "0 init (1) > read fd=3(<f>/etc/passwd) size=64 ", "0 init (1) < read res=5 data=hello "]


@pytest.mark.parametrize("words", [
    "evt.type=", "evt.type", "(evt.type=read", "evt.type=read)", "evt.type in read", "evt.type=raed", "fd.nmae=x",
    "evt.num>x", "and evt.type=read", "evt.type=read and", "not", "fd.ip=300.1.1.1", "evt.arg=", "fd.name pmatch",
    "evt.type=read evt.type=write", "'", "evt.num contains 3", "x" * 70000,
])
def test_a_wrong_filter_says_where(tmp_path, words):
    path = tmp_path / "good.scap"
    path.write_bytes(hostile_captures.good())
    done = read(path, "--where", words)
    err = done.stderr.decode().splitlines()
    if words in ("evt.type", "evt.num contains 3"):
        assert done.returncode in (0, 2)
        return
    assert done.returncode == 2 and 1 <= len(err) <= 3, err
    assert err[0].startswith("sonde: --where: ")
    assert len(err) == 1 or "^" in err[-1], err
