# SPDX-License-Identifier: GPL-2.0-or-later
"""Descriptors that were opened, duplicated, passed (SCM_RIGHTS, pidfd_getfd), inherited, kept or lost by exec, closed
by range: each read means the file that the program found behind it.

The size that a read asks for names the row of the program's log. JSON has the file behind the descriptor, lines have
%fd.name, in a run that sees all calls and in one that sees reads alone.
"""
import os
import re
import shutil
import stat

import helpers

READS, WORKERS, FIRST = 20, 3, 1000
SIZE = re.compile(r", (\d+)\)?$")
FORMAT = "%proc.pid|%syscall.name|%syscall.args|%fd.typechar|%fd.name"
CHARS = {stat.S_IFREG: "f", stat.S_IFDIR: "d", stat.S_IFIFO: "p", stat.S_IFCHR: "f"}
ANONYMOUS = {"anon_inode:[eventpoll]": "l", "anon_inode:[eventfd]": "e", "anon_inode:[timerfd]": "t"}


def run(stage):
    program = stage.compile("files.c")
    group = stage.cgroup()
    os.makedirs(stage.path("files"))
    steps = max(40, stage.events // (WORKERS * READS * 2))
    words = ("syscalls", "--cgroup", os.path.basename(group), "--format", FORMAT)
    watch = stage.watch("all", *words, txt="text", scap="scap")
    alone = stage.watch("reads", *words, "syscall.name=read", txt="text")
    stage.run("files", program, stage.path("files"), WORKERS, steps, READS, stage.random.randrange(1 << 30),
              cgroup=group)
    recordings = [stage.finish(one) for one in (watch, alone)]
    truth = {(row["pid"], row["k"]): row for row in stage.truth("files")}
    for recording, suffix in zip(recordings, ("", "-alone")):
        check_files(stage, recording, truth, suffix)
        check_names(stage, recording, truth, suffix)
    if shutil.which("sysdig"):
        check_capture(stage.score("scap"), recordings[0], truth)
    else:
        stage.lacks("scap", "sysdig is not installed")
    check_same(stage.score("alone"), *recordings)
    stage.check_replay(recordings[0])


def row_of(truth, pid, args):
    match = SIZE.search(args)
    return truth.get((pid, int(match[1]) - FIRST)) if match else None


def identity(row):
    """(device as the kernel numbers it, inode, path; of a socket of IP its address)"""
    return os.major(row["dev"]) << 20 | os.minor(row["dev"]), row["ino"], row["address"] or row["path"]


def reads_of(recording):
    """Reads that returned, in JSON."""
    for ev in recording.events(b'"name":"read"'):
        if ev["type"] == "sys.exit":
            yield ev


def check_files(stage, recording, truth, suffix):
    """JSON: the file behind the descriptor and its number, which means one file; sockets by cookie, or by inode."""
    meaning = {}
    for ev in reads_of(recording):
        row = row_of(truth, ev["proc"].get("pid"), ev["args"])
        if row:
            check_file(stage, ev, row, meaning, suffix)


def check_file(stage, ev, row, meaning, suffix):
    found, how = ev.get("open_file") or {}, ev.get("file_how")
    file, number = stage.score("file" + suffix), stage.score("number" + suffix)
    if "id" not in found:
        file.add_unknown(how, f"{ev['args']} of {row['path']}")
        return
    got = found.get("dev"), found.get("ino"), found.get("path")
    file.equal(got, identity(row), ev["args"], how)
    number.equal(identity(row), meaning.setdefault(found["id"], identity(row)), f"file {found['id']}", how)
    if stat.S_ISSOCK(row["mode"]):
        sock = stage.score("socket" + suffix)
        expected = row["cookie" if "cookie" in ev else "ino"]
        sock.equal(ev.get("cookie") or ev.get("sock_inode"), expected, str(row), how)


def lines_of(recording):
    """(pid, arguments, type, name) of the reads."""
    with open(recording.file("txt"), encoding="utf-8", errors="replace") as lines:
        for line in lines:
            words = line.rstrip("\n").split("|")
            if len(words) == 5 and words[0].isdigit() and words[1] == "read":
                yield int(words[0]), *words[2:]


def expected(row):
    """(letter of the type, name or None if sonde has words of its own for it)"""
    if stat.S_ISSOCK(row["mode"]):
        return None, None
    path = row["path"].removesuffix(" (deleted)")
    if row["path"].startswith("/memfd:"):
        return None, path
    return ANONYMOUS.get(path, CHARS.get(stat.S_IFMT(row["mode"]))), path if path.startswith("/") else None


def check_names(stage, recording, truth, suffix):
    for pid, args, kind, name in lines_of(recording):
        row = row_of(truth, pid, args)
        if not row:
            continue
        char, path = expected(row)
        if char:
            stage.score("kind" + suffix).equal(kind.strip() or None, char, f"{args} of {row['path']}", "named")
        if path:
            stage.score("name" + suffix).equal(name.strip() or None, path, args, "named")


def check_capture(score, recording, truth):
    """Names of files in a capture, as sysdig reads them."""
    lines = helpers.sh("sysdig", "-r", recording.file("scap"), "-p", "%proc.pid|%evt.args|%fd.name",
                       "evt.type=read and evt.dir=>", timeout=60).stdout.splitlines()
    for words in (line.split("|") for line in lines):
        size = re.search(r"size=(\d+)", words[1])
        row = truth.get((int(words[0]), int(size[1]) - FIRST)) if size else None
        path = expected(row)[1] if row else None
        if path and not path.startswith("/memfd:"):
            score.equal(words[2].strip() or None, path, words[1])


def check_same(score, everything, alone):
    """Reads by process, in order, of the run that sees all calls and of the one that sees reads."""
    both = []
    for recording in (everything, alone):
        by_process = {}
        for ev in reads_of(recording):
            found = {**(ev.get("open_file") or {}), "id": None}     # each run numbers files by itself
            by_process.setdefault(ev["proc"].get("pid"), []).append((ev["args"], ev["ret"], found, ev.get("cookie")))
        both.append(by_process)
    for pid in both[0].keys() | both[1].keys():
        one, other = (some.get(pid, []) for some in both)
        if len(one) != len(other):
            score.add_wrong(f"process {pid}: {len(one)} reads, {len(other)} with reads alone")
        for x, y in zip(one, other):
            score.equal(y, x)
