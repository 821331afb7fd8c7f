# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde syscalls --format strace and -c against strace: where the lines go, and what is counted."""
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

import helpers
import strace_lines

STRACE = ("compat", "strace")
COMMAND = ["sh", "-c", "echo out; echo error >&2"]
needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")


def sonde(*words, tool=("syscalls",), **kwargs):
    return subprocess.run([helpers.BINARY, *tool, "--agent=no", *words], capture_output=True, text=True, timeout=60,
                          check=False, **kwargs)


def test_lines_of_a_command_go_to_standard_error():
    """The command's own output is all that stands on standard output."""
    done = sonde("--", *COMMAND, tool=STRACE)
    assert done.returncode == 0 and done.stdout == "out\n"
    assert re.search(r'^write\(1, "out\\n", 4\) +=', done.stderr, re.M) and "\nerror\n" in "\n" + done.stderr


@pytest.mark.parametrize("name", ["trace", "trace.txt", "a:b"])
def test_o_is_a_file(tmp_path, name):
    done = sonde("-o", str(tmp_path / name), "--", *COMMAND, tool=STRACE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "out\n", "error\n")
    lines = (tmp_path / name).read_text("utf-8")
    assert re.search(r'write\(1, "out\\n", 4\) +=', lines) and "+++ exited with 0 +++" in lines


def test_without_strace_o_wants_a_format(tmp_path):
    done = sonde("-o", str(tmp_path / "trace"), "--", "true")
    assert done.returncode == 2 and "unknown output format" in done.stderr


FORKS = "import os\nfor i in range(20):\n p = os.fork()\n if not p: os._exit(0)\n os.waitpid(p, 0)\n" \
        "for i in range(15): os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)\n" \
        "import threading\nfor i in range(10):\n t = threading.Thread(target=int); t.start(); t.join()\n"


@needs_strace
def test_a_summary_counts_each_fork_once(tmp_path):
    """As many as strace -c counts, in a program that makes processes and threads."""
    theirs = tmp_path / "strace"
    subprocess.run(["strace", "-f", "-c", "-o", theirs, sys.executable, "-c", FORKS], check=True, timeout=60)
    want = {}
    for line in theirs.read_text("utf-8").splitlines():
        row = line.split()
        if len(row) > 4 and row[3].isdigit():
            want[row[-1]] = int(row[3])
    done = sonde("-c", "-o", "json", "--", sys.executable, "-c", FORKS)
    rows = {r["name"]: r for r in map(json.loads, done.stdout.splitlines()) if r.get("type") == "sys.sum"}
    made = {name: rows[name]["calls"] for name in ("fork", "vfork", "clone", "clone3") if name in rows}
    assert made == {name: want[name] for name in made} and sum(made.values()) == 45
    assert all(r["p50"] <= r["p99"] <= r["max"] for r in rows.values()), rows


PROGRAMS = [
    "ls -l /usr/bin; ps aux; id; date; getent hosts localhost; df -h; free",
    "tar czf x.tgz /etc/default && tar tzf x.tgz; cp -a /etc/default copy; find . /etc/default -name '*s*'",
    "bash -c 'for i in 1 2; do echo $i | cat; done; x=$(date)'; make --version; grep -r o /etc/default",
    "sed -e s/a/b/ /etc/passwd; awk '{}' /etc/passwd; openssl version; perl -e 'system(\"true\")'; git --version",
    "script -qc 'stty -a; ls --color=auto /' /dev/null; seq 9000 | sort -R --parallel=2 | sort -n; taskset -p 1",
    "ip link set lo up; ping -c 1 127.0.0.1; echo hi | socat - TCP:127.0.0.1:1; socat -u FILE:/etc/passwd EXEC:cat",
]


@needs_strace
def test_lines_of_programs_are_those_of_strace():
    """Both watch one run of each; at least 97 of 100 lines are equal, byte by byte."""
    lines, pairs = 0, []
    for program in PROGRAMS:
        n, unequal = strace_lines.compare(["unshare", "-n", "sh", "-c", program], timeout=60)
        lines, pairs = lines + n, pairs + unequal
    assert lines > 5000 and len(pairs) <= 0.03 * lines, pairs[:20]


@needs_strace
def test_nodes_timers_and_floppies_are_those_of_strace(tmp_path):
    """Each line of a program that passes masks of memory nodes, values of timers and floppy commands."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "nodes.c")
    subprocess.run(["cc", "-O1", "-Wall", "-o", tmp_path / "nodes", source], check=True)
    lines, pairs = strace_lines.compare([str(tmp_path / "nodes")], timeout=60)
    assert lines > 60 and not pairs


UNDECODED = re.compile(r", (0x[0-9a-f]+|1)\) += (0|-1 .*)$")
# strace asks the host for the name of interface 1, explains an error, or shows a key
OTHERWISE = {"SIOCBRADDIF", "SIOCBRDELIF", "NS_GET_NSTYPE", "LOOP_SET_STATUS64", "LOOP_GET_STATUS64",
             "LOOP_CONFIGURE"}


@needs_strace
@pytest.mark.parametrize("errno", [0, 25])
def test_arguments_of_ioctls_are_those_of_strace(errno):
    """Of each command whose argument both decode, when it succeeds and when it fails."""
    table = os.path.join(helpers.ROOT, "tables", "ioctls.tsv")
    with open(table, encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    decoded = {row[0].replace("_or_", " or ") for row in rows if len(row) > 2}
    program = os.path.join(os.path.dirname(__file__), "ioctl_calls.py")
    lines, pairs = strace_lines.compare([sys.executable, program, table, str(errno)], timeout=60)
    wrong = []
    for theirs, ours in pairs:
        m = re.match(r"ioctl\(12345, ([^,)]*)", theirs or ours)
        if m and m[1] in decoded and m[1] not in OTHERWISE and not (theirs and UNDECODED.search(theirs)):
            wrong.append((theirs, ours))
    assert not wrong
    assert len(decoded) >= 250 and lines > len(rows)
