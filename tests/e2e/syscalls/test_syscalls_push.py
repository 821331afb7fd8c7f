# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel decides of a filter: the same events as if user space had decided all of it."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

import helpers

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs/push.c")

# {pid}: of the program. The first word says where it is decided: K kernel, B both, U user space only.
FILTERS = [
    ("B", "syscall.name in (read, getppid) and not syscall.class=process"),
    ("B", "syscall.name glob '*e*d*' or syscall.nr < 2"),
    ("K", "syscall.error in (ENOENT, ENOTDIR) and proc.name in (push-child, nobody)"),
    ("U", "not syscall.error=EBADF"),
    ("K", "syscall.ret >= 3 and syscall.ret < 17 and proc.pid={pid}"),
    ("K", "syscall.latency > 50ms and thread.tid!={pid}"),
    ("B", "evt.type in (openat, stat, access) and evt.dir=< and syscall.path startswith /dev/z"),
    # sysdig's words: those that a number decides need no tables
    ("K", "evt.latency >= 50ms and proc.name=push-child"),
    # and those that do
    ("B", "evt.failed=true and evt.is_io=true and fd.type in (ipv4, ipv6, unix)"),
    ("B", "fd.type in (unix, pipe, eventpoll)"),
    ("B", "evt.res=SUCCESS and fd.typechar=f and evt.rawres >= 1"),
    ("B", "evt.category=net"),
    ("B", "fd.name startswith /tmp/push/in"),
    ("B", "fd.directory=/tmp/push/in and evt.type!=read"),
    ("B", "evt.abspath startswith /tmp/push/in"),
    ("B", "container.id={container} and evt.type=lseek"),
]
CONTAINER = "5d" * 32

EXPLAINED = [
    ("U", "syscall.path startswith /nowhere or syscall.name=lseek"),
    ("U", "not fd.type=file"),
    ("U", "fd.name contains push"),
    ("U", "container.id=0123456789abcdef"),     # there is none
]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    binary = str(tmp_path_factory.mktemp("push") / "push-program")
    subprocess.run(["cc", "-O1", "-pthread", "-o", binary, SOURCE], check=True)
    return binary


def start(out, *words):
    mine = ["--where", "proc.name in (push-program, push-child)"] # or they would all watch each other
    line = [helpers.BINARY, "syscalls", "--agent=no", "-v", *mine, *words]
    with open(out, "wb") as stdout, open(f"{out}.err", "wb") as stderr:
        return subprocess.Popen(line, stdout=stdout, stderr=stderr)


def wait_ready(out, child):
    end = time.monotonic() + 240
    while b"ready" not in open(f"{out}.err", "rb").read():
        assert child.poll() is None and time.monotonic() < end, open(f"{out}.err").read()
        time.sleep(0.05)


def events(text, pids):
    """What was called and what came of it; latencies and times are each observer's own."""
    rows = (json.loads(line) for line in text.splitlines() if '"type":"sys.e' in line)
    return [(r["type"], r["proc"]["tid"], r["nr"], r.get("ret"), r.get("args")) for r in rows
            if r["proc"]["pid"] in pids]


def filter_of(text, pid):
    return text.format(pid=pid, container=CONTAINER[:12])


def start_program(program):
    """Does not begin before it is told to, so its number can stand in filters."""
    return subprocess.Popen(["sh", "-c", 'read x; exec "$0"', program], stdin=subprocess.PIPE)


@pytest.fixture
def folders():
    """What the program opens; a name in /tmp, for paths are part of the test."""
    root = pathlib.Path("/tmp/push")
    for name in ("in", "out"):
        (root / name).mkdir(parents=True)
    for name in ("in/one", "in/two", "out/three", "indeed"):
        (root / name).write_text("some text")
    (root / "link").symlink_to("in")
    os.mkfifo(root / "in/pipe")
    keep = os.open(root / "in/pipe", os.O_RDWR)         # or opening it would wait
    os.write(keep, b"x" * 4096)
    yield root
    os.close(keep)
    shutil.rmtree(root)


@pytest.fixture
def container():
    """A cgroup such as an engine makes, and one below it, where the processes are."""
    if not helpers.cgroup_root():
        pytest.skip("no cgroup2 mount")
    top = pathlib.Path(helpers.cgroup_root()) / f"docker-{CONTAINER}.scope"
    (top / "below").mkdir(parents=True)
    yield top / "below"
    (top / "below").rmdir()
    top.rmdir()


def test_pushed_filters_show_the_same(program, folders, container, tmp_path):
    child = start_program(program)
    pid = child.pid
    (container / "cgroup.procs").write_text(str(pid))
    said = subprocess.run([helpers.BINARY, "syscalls", "--explain-filter", f"container.id={CONTAINER}"], check=True,
                          capture_output=True, text=True).stdout
    assert ": kernel" in said
    recording = str(tmp_path / "all.rec")
    watchers = {}
    for i, (_, text) in enumerate(FILTERS):
        out = str(tmp_path / str(i))
        watchers[out] = start(out, "-o", "json", "--enter", *filter_of(text, pid).split())
    watchers[recording] = start(recording + ".out", "-o", f"rec:{recording}", "--enter")
    try:
        for out, watcher in watchers.items():
            wait_ready(out if out != recording else recording + ".out", watcher)
        child.communicate(b"go\n", timeout=120)
    finally:
        child.kill()
        for watcher in watchers.values():
            watcher.send_signal(signal.SIGINT)
        for watcher in watchers.values():
            watcher.wait(120)
    everything = subprocess.run([helpers.BINARY, "syscalls", "-r", recording, "-o", "json"], capture_output=True,
                                check=True, text=True).stdout
    pids = {pid} | {r["proc"]["pid"] for r in map(json.loads, everything.splitlines())
                    if r.get("proc", {}).get("name") == "push-child"}
    assert len(pids) == 2
    for i, (_, text) in enumerate(FILTERS):
        words = filter_of(text, pid)
        want = subprocess.run([helpers.BINARY, "syscalls", "-r", recording, "-o", "json", words],
                              capture_output=True, check=True, text=True).stdout
        with open(tmp_path / str(i), encoding="utf-8") as f:
            got = f.read()
        assert events(want, pids), words
        assert sorted(events(got, pids), key=str) == sorted(events(want, pids), key=str), words
        assert "does not close" not in (tmp_path / f"{i}.err").read_text()


@pytest.mark.parametrize("where,text", FILTERS + EXPLAINED)
def test_explained(where, text):
    """Every part is said to be decided where the table above says."""
    said = subprocess.run([helpers.BINARY, "syscalls", "--explain-filter", filter_of(text, 7)], capture_output=True,
                          check=True, text=True).stdout.splitlines()
    for line in said:
        if CONTAINER[:12] in line:      # of one that is not there nothing is known
            assert ": user space" in line
            continue
        kernel, both = ": kernel" in line, "again in user space" in line
        assert {"K": kernel and not both, "B": both, "U": not kernel or both}[where], line


def test_a_summary_decides_all_in_the_kernel(program):
    line = [helpers.BINARY, "syscalls", "--agent=no", "-c", "-o", "json", "syscall.error=EBADF", "--", program]
    done = subprocess.run(line, capture_output=True, check=False, text=True, timeout=60)
    rows = {r["name"]: r for r in map(json.loads, done.stdout.splitlines()) if r.get("type") == "sys.sum"}
    assert rows["read"]["calls"] == rows["read"]["errors"] >= 60 and "getppid" not in rows
    done = subprocess.run(line[:4] + ["proc.exe=/x"], capture_output=True, check=False, text=True, timeout=60)
    assert done.returncode == 2 and "cannot decide" in done.stderr
