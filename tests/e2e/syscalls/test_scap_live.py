# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures of live runs, read back by sysdig, tshark and ourselves: what a program did must be in them."""
import fnmatch
import os
import re
import shutil
import struct
import subprocess
import sys

import pytest

import helpers
from helpers import BINARY

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs/workload.c")
ENV = dict(os.environ, TZ="UTC")
FORM = "*%evt.type %evt.dir %fd.num %fd.typechar %fd.name"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
needs_sysdig = pytest.mark.skipif(not shutil.which("sysdig"), reason="sysdig is not installed")
needs_tshark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")


def output(*words, **kwargs):
    done = subprocess.run(words, env=ENV, capture_output=True, timeout=60, check=False, **kwargs)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "replace")


@pytest.fixture(scope="module")
def workload(tmp_path_factory):
    binary = str(tmp_path_factory.mktemp("workload") / "workload")
    subprocess.run(["cc", "-O1", "-Wall", "-o", binary, SOURCE, "-lpthread"], check=True)
    return binary


@pytest.fixture(scope="module")
def live(workload, tmp_path_factory):
    """A capture of the workload, the lines shown meanwhile, and what the program says it did."""
    folder = tmp_path_factory.mktemp("live")
    (folder / "w").mkdir()
    capture, text, said = str(folder / "live.scap"), str(folder / "live.txt"), str(folder / "said")
    output(BINARY, "syscalls", "--agent=no", "-s", "80", "-o", f"scap:{capture}", "--format", "sysdig",
           "-o", f"text:{text}", "--", workload, said, str(folder / "w"))
    with open(said, encoding="utf-8") as f:
        steps = [line.rstrip("\n").split("\t") for line in f]
    with open(text, encoding="utf-8", errors="replace") as f:
        lines = f.read().splitlines()
    return capture, lines, steps


def missing(steps, text):
    """Those of @steps that are not in @text, in order."""
    shown = [line.rstrip().split(" ", 4) for line in text.splitlines()]
    out, at = [], 0
    for step in steps:
        found = next((i for i in range(at, len(shown)) if shown[i][:4] == step[:4] and
                      fnmatch.fnmatchcase("".join(shown[i][4:]), step[4])), None)
        if found is None:
            out.append((step, [s for s in shown if s[:2] == step[:2]][:3]))
        else:
            at = found
    return out


@needs_sysdig
def test_sysdig_reads_what_the_program_did(live):
    capture, lines, steps = live
    assert len(steps) >= 30
    assert not missing(steps, output("sysdig", "-r", capture, "-p", FORM))
    whole = output("sysdig", "-r", capture).splitlines()
    assert len(whole) == len(lines)
    assert not [line for line in whole if "<NA>" in line]


def test_a_capture_shows_what_live_showed(live):
    """But for kinds of descriptors that the format has no event for: live, the kernel names them."""
    capture, lines, steps = live
    assert not missing(steps, output(BINARY, "syscalls", "-r", capture, "--format", FORM))
    shown = output(BINARY, "syscalls", "-r", capture, "--format", "sysdig").splitlines()
    assert shown == [re.sub(r"\(<.>anon_inode:\[\w+\]\)", "", line) for line in lines]


@needs_sysdig
def test_processes_are_whole(live):
    """What exec and clone say, and the threads that were there before: as sysdig finds it."""
    capture, _, steps = live
    form = "%evt.type|%proc.name|%proc.exe|%proc.args|%proc.cwd|%proc.pname|%user.name|%proc.exepath|%thread.cgroups"
    rows = [line.split("|") for line in
            output("sysdig", "-r", capture, "-p", form, "evt.dir=< and evt.type in (execve,clone)").splitlines()]
    cat = next(r for r in rows if r[0] == "execve" and r[1] == "cat")
    assert cat[2:4] == ["cat", "file"] and cat[5] == "workload" and cat[7].endswith("/bin/cat") and cat[6] == "root"
    assert cat[4].rstrip("/") == os.path.dirname(steps[0][4])
    names = {r[1] for r in rows if r[0] == "clone"}
    assert "workload" in names
    ancestors = output("sysdig", "-r", capture, "-p", "%proc.aname[2] %proc.apid[2]", "proc.name=cat").splitlines()
    assert ancestors and ancestors[0].split()[0] == "sonde"
    threads = output("sysdig", "-r", capture, "-p", "%proc.pid %thread.tid", "thread.ismain=false").splitlines()
    assert threads and all(line.split()[0] != line.split()[1] for line in threads)


@needs_sysdig
def test_signals_and_ends_are_there(live):
    capture, _, _ = live
    kinds = output("sysdig", "-r", capture, "-p", "%evt.type %evt.args",
                   "evt.type in (signaldeliver, procexit)").splitlines()
    assert any(k.startswith("signaldeliver") and "SIGUSR1" in k for k in kinds), kinds
    assert sum(k.startswith("procexit") for k in kinds) == 3, kinds


@needs_tshark
def test_tshark_reads_every_event(live):
    capture, lines, _ = live
    rows = output("tshark", "-r", capture, "-T", "fields", "-e", "sysdig.event_type").splitlines()
    assert len(rows) == len(lines)


def test_descriptors_from_before_the_start_have_names(tmp_path):
    """Opened before, used after: the start reads what is there."""
    path = tmp_path / "early"
    path.write_text("x" * 100)
    capture = str(tmp_path / "c.scap")
    with open(path, "rb") as f:
        output(BINARY, "syscalls", "--agent=no", "-o", f"scap:{capture}", "--", "cat", stdin=f)
    shown = output(BINARY, "syscalls", "-r", capture, "--format", "%evt.type %fd.num %fd.name", "--where",
                   "evt.type=read and fd.num=0")
    assert f"read 0 {path}" in shown.splitlines()


PROCINFO = 234


def cpu_times(path, pid):
    """(user, system) ticks of each procinfo event of the process: raw blocks, because readers hide them."""
    with open(path, "rb") as f:
        data = f.read()
    at, found = 0, []
    while at < len(data):
        kind, total = struct.unpack_from("<II", data, at)
        if kind == 0x216:
            _, tid, _, number = struct.unpack_from("<QqIH", data, at + 10)
            if (tid, number) == (pid, PROCINFO):
                found.append(struct.unpack_from("<QQ", data, at + 10 + 26 + 4))
        at += total
    return found


def test_captures_have_the_cpu_times_of_processes(tmp_path):
    path = str(tmp_path / "x.scap")
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        output(BINARY, "syscalls", "--agent=no", "-o", f"scap:{path}", "--duration", "1500ms")
    finally:
        busy.kill()
        busy.wait()
    ticks = [sum(times) for times in cpu_times(path, busy.pid)]
    assert len(ticks) >= 2 and ticks == sorted(ticks) and ticks[-1] > ticks[0], ticks
    assert "procinfo" not in output(BINARY, "syscalls", "-r", path, "--format", "sysdig")
    shown = output(BINARY, "compat", "sysdig", "-r", path, f"evt.type=procinfo and proc.pid={busy.pid}").splitlines()
    assert [int(user) + int(sys) for user, sys in
            (re.search(r" > procinfo cpu_usr=(\d+) cpu_sys=(\d+) *$", line).groups() for line in shown)] == ticks
    helpers.need("sysdig")
    table = output("sysdig", "-r", path, "-c", "topprocs_cpu").splitlines()
    shares = {int(line.split()[2]): float(line.split()[0][:-1]) for line in table[2:] if len(line.split()) == 3}
    assert shares.get(busy.pid, 0) > 0, table


@pytest.mark.parametrize("words, more", [(["compat", "sysdig"], " and proc.pid={}"), (["syscalls"], "")])
def test_cpu_times_are_shown_where_they_are_asked_for(words, more):
    """Each second, of all processes; with the tables that sysdig's lines need also of the selected ones."""
    me = os.getpid()
    lines = output(BINARY, *words, "--agent=no", "--duration", "2500ms",
                   "evt.type=procinfo" + more.format(me)).splitlines()
    lines = [line for line in lines if "sys.gap" not in line]       # on a busy host
    mine = [line for line in lines if re.search(rf"[(\[]{me}[)\]] > procinfo cpu_usr=\d+ cpu_sys=\d+", line)]
    assert len(mine) >= 2 and all(" > procinfo " in line for line in lines), lines
    assert not more or mine == lines


def wrong_names(lines):
    """Lines of a process after its exec that bear another name than the program's."""
    names, wrong = {}, []
    for line in lines:
        words = line.split(" ")
        if len(words) < 7 or not words[4].startswith("("):
            continue
        name, tid, way, call = words[3:7]
        if tid in names and call != "procexit" and name != names[tid]:
            wrong.append(line)
        if (way, call) == ("<", "execve") and words[7] == "res=0":
            names[tid] = name
    assert list(names.values()) == ["sh", "ls", "ls", "ls"]
    return wrong


def test_a_late_clone_does_not_undo_an_exec(tmp_path):
    text = tmp_path / "lines"
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2)]
    try:
        for _ in range(3):
            output(BINARY, "syscalls", "--agent=no", "--format", "sysdig", "-o", f"text:{text}", "--", "sh", "-c",
                   "ls /; ls /etc; ls /tmp")
            assert not wrong_names(text.read_text(errors="replace").splitlines())
    finally:
        for p in busy:
            p.kill()
            p.wait()
