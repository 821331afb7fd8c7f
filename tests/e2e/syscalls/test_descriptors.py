# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of descriptors of all kinds against /proc/PID/fd, with one system call watched alone."""
import json
import os
import re
import subprocess
import sys

import pytest

from helpers import BINARY

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs/descriptors.py")

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def watch(*options, program):
    done = subprocess.run([BINARY, "syscalls", "--agent=no", *options, "--", *program], capture_output=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "replace").splitlines()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Events of fcntl() alone, and what the program says of each descriptor."""
    folder = tmp_path_factory.mktemp("descriptors")
    lines = watch("-o", f"json:{folder}/json", "--format", "*%fd.num %fd.name", "-o", f"text:{folder}/words",
                  "syscall.name=fcntl", program=[sys.executable, PROGRAM])
    truth = [line.split("\t") for line in lines if line.count("\t") == 2]
    events = [json.loads(line) for line in (folder / "json").read_text().splitlines()]
    return truth, [e for e in events if e["type"] == "sys.exit"], folder


def paired(truth, events):
    """Each line of the program with the event of its call."""
    at = iter(events)
    for fd, way, link in truth:
        event = next((e for e in at if e["args"] == f"{fd}, F_GETFL"), None)
        assert event, (fd, way, link)
        yield way, link, event.get("open_file", {})


def agrees(link, file):
    socket = re.fullmatch(r"socket:\[(\d+)\]", link)
    return file.get("ino") == int(socket[1]) if socket else file.get("path") == link


def test_names_are_those_of_the_kernel(run):
    truth, events, _ = run
    assert len(truth) >= 60
    wrong = [(way, link, file) for way, link, file in paired(truth, events) if not agrees(link, file)]
    assert not wrong


def test_fields_of_sysdig_know_every_descriptor(run):
    """Of calls that the stream does not have (pidfd_getfd, SCM_RIGHTS...) the kernel's name is shown."""
    truth, _, folder = run
    words = [line.split(" ", 1) for line in (folder / "words").read_text(errors="replace").splitlines()]
    assert ["<NA>"] not in [w[1:] for w in words if w[0].isdigit()]
    named = {tuple(w) for w in words}
    ways = ("inherited", "O_CLOEXEC", "SCM_RIGHTS", "epoll", "memfd", "perf_event", "bpf map")
    # a memfd has the name that its call gives: sysdig knows nothing of its state in /proc
    assert not [t for t in truth if t[1] in ways and (t[0], t[2].removesuffix(" (deleted)")) not in named]


WAYS = {"w": ("sendto", "write", "sendmsg"), "r": ("recvfrom", "read")}


def test_bytes_of_a_stream_are_the_programs(tmp_path):
    """Each read and write of a connection has the offsets that the program counted itself."""
    program = os.path.join(os.path.dirname(PROGRAM), "ranges.py")
    lines = watch("-o", f"json:{tmp_path}/json", "file.kind=inet",
                  program=[sys.executable, program, "1500", "7"])
    truth = {"w": [], "r": []}
    for way, offset, length in (line.split() for line in lines if line[:2] in ("w ", "r ")):
        truth[way].append((int(offset), int(length)))
    told, peeked = {"w": [], "r": []}, 0
    for event in map(json.loads, (tmp_path / "json").read_text().splitlines()):
        for way, calls in WAYS.items():
            if event.get("name") in calls and event["ret"] > 0:
                if "MSG_PEEK" in event["args"]:
                    peeked += 1
                    assert "tcp" not in event
                else:
                    assert not event["tcp"].get("shared"), event
                    told[way].append((event["tcp"]["seq"], event["tcp"]["len"]))
    assert peeked == 30
    base = told["w"][0][0]
    for way in "wr":
        assert [((seq - base) % 2**32, length) for seq, length in told[way]] == truth[way]
    assert len(truth["w"]) == 1500
