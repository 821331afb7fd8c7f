# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde syscalls and memory that the caller changes, or that is not there; what a record holds beside its data."""
import json
import os
import platform
import struct
import subprocess

import pytest

import helpers

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
BAD_CALLS = ("openat", "write", "connect", "execve", "writev", "sendmsg", "sendmmsg", "stat", "nanosleep")


def sonde(*words):
    return subprocess.run([helpers.BINARY, "syscalls", "--agent=no", "-v", *words], capture_output=True, check=False,
                          timeout=60)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the program makes calls by their x86_64 numbers")
def test_memory_that_cannot_be_read_is_an_address():
    done = sonde("--format", "strace", "-o", "text", "-s", "64", "--time", "none",
                 f"syscall.error exists and syscall.name in ({', '.join(BAD_CALLS)})", "--", "python3",
                 os.path.join(HERE,
                     "bad_memory.py"))
    lines = done.stdout.decode().splitlines()
    addresses = [int(word) for word in next(line for line in lines if not set(line) - set("0123456789 ")).split()]
    assert len(addresses) == 4 and b"lost 0" in done.stderr
    for addr in addresses:
        told = [line for line in lines if f"{addr:#x}" in line and "EFAULT" in line]
        assert [line.split("(")[0].split()[1] for line in told] == list(BAD_CALLS), told


def test_what_exec_took_is_told_not_what_stands_there(tmp_path):
    """Another thread changes the argument all the time: ours is the one that the new program got, byte by byte."""
    program, out = tmp_path / "flip", tmp_path / "out"
    subprocess.run(["cc", "-O1", "-Wall", "-pthread", "-o", program, os.path.join(HERE, "flip.c")], check=True)
    done = sonde("syscall.name=execve", "-o", f"json:{out}", "--", program)
    got = dict(line.split() for line in done.stdout.decode().splitlines())
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    said = {str(r["proc"]["pid"]): r["proc"]["args"] for r in rows if r["type"] == "sys.exit" and r.get("ret") == 0}
    assert len(got) == 40
    assert {pid: f"echo {text}" for pid, text in got.items()} == {pid: said[pid] for pid in got}


def test_the_room_behind_data_is_empty(tmp_path):
    """Records are written in place, over older ones: nothing of those shows in the bytes up to a multiple of 8. Each
    round fits into the ring, and what is lost of some because the reader was not let in shows nothing either way."""
    out = tmp_path / "out.rec"
    work = "import os, time\nf = os.open('/dev/null', 1)\nfor i in range(40):\n" \
           "    for k in range(125): os.write(f, b'old bytes' * 7 if k < 100 else b'\\xa5')\n    time.sleep(0.01)"
    sonde("syscall.name=write", "-s", "64", "--ring-size", "64k", "-o", f"rec:{out}", "--", "python3", "-c", work)
    data, head = out.read_bytes(), struct.pack("<BBHI", 1, 4, 0, 1) + b"\xa5"
    rooms = [data[i + len(head):i + len(head) + 7] for i in range(0, len(data), 8) if data.startswith(head, i)]
    assert len(rooms) > 100 and set(rooms) == {bytes(7)}
