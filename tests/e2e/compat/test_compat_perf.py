# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde-perf in place of perf: its command lines, lines, tables and files. tests/data/perf: output of perf 6.1."""
import collections
import os
import re
import shutil
import subprocess
import sys

import pytest

import helpers

sys.path.insert(0, os.path.join(helpers.ROOT, "tests", "bench", "profile"))
import judge  # noqa: E402  found by the line above

CPU = os.path.join(helpers.ROOT, "tests", "data", "rec", "cpu.rec")
VECTORS = os.path.join(helpers.ROOT, "tests", "data", "perf")
BURN = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"


@pytest.fixture(scope="module")
def bin_dir(tmp_path_factory):
    """A folder with the link under perf's name, so that command lines run as they are written."""
    path = tmp_path_factory.mktemp("bin")
    (path / "sonde-perf").symlink_to(helpers.BINARY)
    (path / "perf").write_text('#!/bin/sh\nexec "$(dirname "$0")/sonde-perf" "$@"\n')
    (path / "perf").chmod(0o755)
    return path


@pytest.fixture
def shell(bin_dir, tmp_path):
    """Runs a command line in a folder of its own whose perf.data is a recording of the tests."""
    shutil.copy(CPU, tmp_path / "perf.data")

    def run(line, status=0):
        done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=60,
                              check=False,
                              stdin=subprocess.DEVNULL, env={**os.environ, "PATH": f"{bin_dir}:{os.environ['PATH']}"})
        assert done.returncode == status, (line, done.stdout, done.stderr)
        return done
    run.folder = tmp_path
    return run


SAMPLE = r"^\S.*? +\d+ \[\d{3}\] +\d+\.\d{6}: +\d+ (cpu-clock|cpu\.block): \n\t +[0-9a-f]+ \S+"
ROW = r"^ +\d+\.\d\d%  "

# Of perf's manual pages and tutorials; with what standard output has.
READING = [
    ("perf script", SAMPLE), ("perf script -i perf.data", SAMPLE), ("perf script < perf.data", SAMPLE),
    ("cat perf.data | perf script -i -", SAMPLE),
    ("perf script -F comm,tid,time,ip,sym", r"^\S.*? +\d+ +\d+\.\d{6}: \n\t +[0-9a-f]+ \S+$"),
    ("perf script -F comm,pid,tid,cpu,time,event,ip,sym,dso",
     r"^\S.*? +\d+/\d+ +\[\d{3}\] +\d+\.\d{6}: cpu[-.]\w+: "),
    ("perf script -F +pid,-cpu", r"^\S.*? +\d+/\d+ +\d+\.\d{6}: "),
    ("perf script --fields comm,ip,sym -G", r"^ *\S.* +[0-9a-f]+ "),
    ("perf script --header", r"\A# ========\n(# .*\n)+# ========\n#\n\S"),
    ("perf script --header-only", r"\A# ====(.*\n)+#\n\Z"),
    ("perf script --max-stack 2", SAMPLE), ("perf script --ns --reltime", r"\A.* +0\.000000000: "),
    ("perf script --no-demangle --show-lost-events", SAMPLE),
    ("perf report --stdio", r"^# Children      Self  Command "),
    ("perf report --stdio -n", r"^# Children +Self +Samples  "),
    ("perf report -i perf.data --no-children", r"^# Overhead  Command "),
    ("perf report --stdio -g none --sort comm,dso",
     r"^#  ?Overhead|^# Children      Self  Command +Shared Object *$"),
    ("perf report --no-children --sort=dso,symbol --percent-limit 5", r"^# Overhead  Shared Object +Symbol"),
    ("perf report --stdio -g graph,0.5,caller", r"^            \|\n            ---\S"),
    ("perf report --stdio --no-children -g folded", r"^\d+\.\d\d% \S+;\S+"),
    ("perf report --stdio -g fractal,0.5,callee", r"^            \|\n            ---\S"),
    ("perf report --stdio -F +period,sample", r"^# .*Period +Samples"),
    ("perf report --stdio -t, --no-children -g none", r"^\d+\.\d\d%,"),
    ("perf report --header-only", r"\A# ====(.*\n)+#\n\Z"), ("perf report --stats", r"SAMPLE events: +\d+"),
]


@pytest.mark.replay
@pytest.mark.parametrize("line, shape", READING, ids=[line for line, _ in READING])
def test_a_command_line_runs_unchanged(shell, line, shape):
    done = shell(line)
    assert re.search(shape, done.stdout, re.M) and not done.stderr, done.stdout[:3000]


@pytest.mark.replay
def test_the_folded_stacks_of_perf_script_are_those_of_sonde(shell):
    """Read by one reader; each sample counts once."""
    native = helpers.sh(helpers.BINARY, "profile", "-r", CPU, "-o", "folded", "--stacks", "both").stdout
    stacks = collections.Counter()
    for line in native.splitlines():
        stack, _, count = line.rpartition(" ")
        stacks[stack] += int(count)
    folded = collections.Counter()
    for part in shell("perf script").stdout.split("\n\n"):
        head, *frames = part.split("\n")
        if head:
            names = [judge.perf_frame(frame)[0] for frame in frames if frame]
            folded[";".join([re.match(r"(.*?) +\d+ ", head)[1], *reversed(names)])] += 1
    assert folded == stacks and len(stacks) > 3 and sum(stacks.values()) > 10


@pytest.mark.replay
def test_the_table_adds_up(shell):
    """Self of all rows is the whole; a function has no more of it than with its callees."""
    rows = [line.split(",") for line in shell("perf report --stdio -g none -t, -q -n").stdout.split("\n") if line]
    samples = sum(int(row[2]) for row in rows)
    assert samples == shell("perf script -F comm").stdout.count("\n")
    assert all(float(row[0][:-1]) >= float(row[1][:-1]) for row in rows) and len(rows) > 3
    own = [line for line in shell("perf report --no-children -g none -q -n -t,").stdout.split("\n") if line]
    assert sum(int(line.split(",")[1]) for line in own) == samples


@pytest.mark.replay
def test_samples_are_selected(shell):
    heads = shell("perf script -G -F comm,tid,cpu,time").stdout.splitlines()
    comm, tid, cpu, time = re.match(r" *(.*?) +(\d+) \[(\d+)\] +([\d.]+):", heads[len(heads) // 2]).groups()
    for option, text in ((f"--comms {comm}", comm), (f"--tid {tid}", f" {tid} "), (f"-C {int(cpu)}", f"[{cpu}]")):
        found = shell(f"perf script -G -F comm,tid,cpu,time {option}").stdout.splitlines()
        assert found == [line for line in heads if text in line] and found
    later = shell(f"perf script -G -F comm,tid,cpu,time --time {time},").stdout.splitlines()
    assert 0 < len(later) < len(heads) and set(later) < set(heads)


@pytest.mark.replay
@pytest.mark.parametrize("line, said", [
    ("perf script -i nosuch", "failed to open nosuch"), ("perf script -F iregs", "-F iregs is not supported"),
    ("perf report --sort nosuch", "--sort nosuch is not supported"),
    ("perf report -g odd", "-g odd is not supported"),
    ("perf script --time 10%/2", "not supported in percent"), ("perf script report wakeup", "pipe the lines"),
    ("perf record -e sched:sched_switch ls", "sonde profile --mode off-cpu"),
    ("perf trace record ls", "syscalls -w FILE"),
    ("perf trace -e sched:* ls", "shows system calls"), ("perf trace --no-syscalls ls", "leaves nothing to show"),
    ("perf record -o - -F no ls", "expected samples per second"),
    ("perf stat ls", "sonde compat perf needs a command: "),
    ("printf PERFILE2xxxxxxxx > perf.data; perf script", "a file of perf itself"),
    ("printf PERFILE2xxxxxxxx > perf.data; perf report --stdio", "a file of perf itself"),
])
def test_what_is_not_taken_is_said(shell, line, said):
    done = shell(line, status=255 if "-i nosuch" in line else 2)
    assert said in done.stderr and not done.stdout and done.stderr.count("\n") == 1


# ---- live

def test_records_are_read(shell):
    """A command, all CPUs while one runs, and a process: each with its file; the one before is kept."""
    done = shell(f"perf record -F 999 -g sh -c '{BURN}'")
    said = re.search(r"^\[ perf record: Captured and wrote (\d+\.\d{3}) MB perf\.data \((\d+) samples\) \]$",
                     done.stderr, re.M)
    assert said and (shell.folder / "perf.data.old").read_bytes()[:4] == (shell.folder / "perf.data").read_bytes()[:4]
    assert shell("perf script -F comm,ip,sym").stdout.count("\n\n") == int(said[2]) > 5
    assert re.search(r"^ +\d+\.\d\d% +\d+\.\d\d%  sh ", shell("perf report --stdio -g none").stdout, re.M)
    shell("perf record -F 99 -a -o all.data -q -- sleep 0.2")
    lines = shell("perf script -i all.data").stdout.splitlines()
    assert all(re.match(r" *.*? +\d+ \[\d+\] +[\d.]+: +10101010 cpu-clock:  +[0-9a-f]{1,16} ", line)
               for line in lines)


def test_the_status_is_that_of_the_command(shell):
    shell("perf record -q -o x.data sh -c 'exit 7'", status=7)


def test_top_prints_tables(shell):
    text = shell("sh -c 'while :; do :; done' & "
                 "perf top --stdio -d 1 -E 5 -F 199 -p $! --duration 1500ms; kill $!").stdout
    assert re.match(r"   PerfTop: +\d+ irqs/sec  kernel: *\d+\.\d%  exact:  0\.0% lost: 0/0 drop: 0/0 "
                    r"\[199Hz cpu-clock\],"
                    r"  \(target_pid: \d+\)\n-+\n\n(  +\d+\.\d\d%  \S+ +\[[k.]\] \S.*\n){1,5}\n", text), text


CALL = r"^ +\d+\.\d{3} \( *(\d+\.\d{3} ms)?\): cat/\d+ "


@pytest.mark.parametrize("line, shape", [
    ("perf trace cat /etc/hostname", CALL + r"openat\(dfd: AT_FDCWD, filename: \"/etc/hostname\"\) += \d"),
    ("perf trace -S -e openat,close cat /etc/hostname",
     r"Summary of events:\n\n cat \(\d+\), \d+ events, 100\.0%\n\n"),
    ("perf trace --failure cat /nosuch",
     CALL + r"openat\(.*\"/nosuch\".*\) += -1 ENOENT \(No such file or directory\)$"),
    ("perf trace -s --errno-summary cat /nosuch", r"^   openat .*\n\t\t\t\tENOENT: \d+$"),
])
def test_trace_of_a_command(shell, line, shape):
    done = shell(line)     # whatever the status of the command is
    assert re.search(shape, done.stderr, re.M), done.stderr


def test_trace_summary_has_the_layout_of_perf(shell):
    """Headings byte by byte, rows by their columns; calls are those of the program."""
    with open(os.path.join(VECTORS, "trace-s.txt"), encoding="utf-8") as f:
        theirs = f.read()
    shell("perf trace -s -o out.txt true")
    ours = (shell.folder / "out.txt").read_text()
    row = re.compile(r"   (\S+) *" + r" [ \d]{8} [ \d]{6}" + r" [ \d]{5}\.\d{3}" * 4 + r" [ \d]{6}\.\d{2}%")
    heading = re.compile(r" true \(\d+\), \d+ events, +\d+\.\d%")
    for line in theirs.splitlines():
        assert line in ours.splitlines() or row.fullmatch(line) or heading.fullmatch(line), line
    for line in ours.splitlines():
        assert line in theirs.splitlines() or row.fullmatch(line) or heading.fullmatch(line), line
    calls = [row.fullmatch(line)[1] for line in theirs.splitlines() if row.fullmatch(line)]
    calls = set(calls) - {"execve", "fstat", "newfstatat"}      # which of the two depends on the C library
    assert calls <= {line.split()[0] for line in ours.splitlines() if row.fullmatch(line)}
