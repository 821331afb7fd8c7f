# SPDX-License-Identifier: GPL-2.0-or-later
"""Two hundred files made to hurt a profiler: it goes on, within its memory and time, and says what it refused."""
import os
import platform
import stat
import subprocess
import sys
import threading
import time

import pytest

import helpers
import hostile_files
from helpers import ROOT, sh

sys.path.insert(0, os.path.join(ROOT, "tests", "bench", "profile"))
sys.path.insert(0, os.path.join(ROOT, "tests", "workloads"))
import judge  # noqa: E402  found by the lines above
import workloads  # noqa: E402

OUT = os.path.join(os.path.abspath(os.environ.get("SONDE_BUILD", os.path.join(ROOT, "build"))), "workloads")
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the code in the files is x86-64's")

MS = 40                 # of CPU time for each process: at 999 Hz, tens of samples
AT_ONCE = 24
DAMAGED = 60
MAPS = ("link", "fifo", "sparse", "garbage", "line", "folder")
RSS_KB = 160 << 10      # far above what a profile of this many files needs, far below what the files ask for
END_S = 30              # each file is a worker of its own, on a machine that may be busy
NAMES = ("semi;colon", "new\nline", "esc\x1b[31mape", "blank space 7", "\xc3(\xff", "%s%n%d", "-a", "[unknown]")


def peak_kb(pid, found, stop):
    """Memory of @pid and its children, what they share counted once, until @stop is set."""
    while not stop.wait(0.05):
        total = 0
        for one in workloads.descendants(pid):
            try:
                with open(f"/proc/{one}/smaps_rollup", encoding="ascii", errors="replace") as f:
                    total += next((int(line.split()[1]) for line in f if line.startswith("Pss:")), 0)
            except OSError:
                pass
        found.append(total)


def write(path, body, mode=0o644):
    with open(path, "wb") as f:
        f.write(body)
    os.chmod(path, mode)
    return path


def commands(folder, hostile, program):
    """What is run: every one of them at least MS milliseconds, most from or with a file of its own."""
    for i, (label, body) in enumerate(hostile_files.from_nothing()):
        yield [hostile, "map", write(f"{folder}/{i}-{label.replace(' ', '_')}", body), str(MS)]
    with open(program, "rb") as f:
        good = f.read()
    for i, body in enumerate(hostile_files.damaged(good, DAMAGED)):
        yield [write(f"{folder}/damaged{i}", body, 0o755), str(MS // 2)]
    hostile_files.write_sparse(f"{folder}/sparse")
    yield [hostile, "map", f"{folder}/sparse", str(MS)]
    for i in range(8):
        body = hostile_files.with_section(".symtab", hostile_files.SHT_SYMTAB,
                                          hostile_files.symbol(1, hostile_files.PAGE, 16) * 100, link=2, entsize=24)
        yield [hostile, "truncate", write(f"{folder}/cut{i}", body), str(MS)]
    for how in MAPS * 3:
        yield [hostile, "jit", how, str(MS)]
    for name in NAMES:
        yield [write(os.path.join(folder.encode(), name.encode("latin-1")), good, 0o755), str(MS // 2)]


def run_all(todo):
    """Exit statuses and pids; AT_ONCE of them at a time."""
    running, done = [], []
    for words in todo:
        running.append(subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        while len(running) >= AT_ONCE:
            done += [child for child in running if child.poll() is not None]
            running = [child for child in running if child.returncode is None]
            time.sleep(0.005)
    for child in running:
        child.wait(60)
    return done + running


def remove_perf_maps(children):
    for child in children:
        path = f"/tmp/perf-{child.pid}.map"
        if os.path.lexists(path):
            if stat.S_ISDIR(os.lstat(path).st_mode):
                os.rmdir(path)
            else:
                os.unlink(path)


class Attack:
    """All of it under one profile, beside a program that means no harm."""

    def __init__(self, folder):
        hostile, program = workloads.build(OUT, "hostile"), workloads.build(OUT, "short90")
        todo = list(commands(str(folder), hostile, program))
        self.n_files, path = len(todo), os.path.join(str(folder), "folded")
        self.peaks, stop, children = [], threading.Event(), []
        self.sonde = helpers.Sonde("compat", "profile-bpfcc", "-F", "999", "-a", "-v", "-o", f"folded:{path}",
                                   preexec=lambda: os.nice(-10))
        watch = threading.Thread(target=peak_kb, args=(self.sonde.pid, self.peaks, stop), daemon=True)
        watch.start()
        try:
            with workloads.Runs(["split"], OUT):
                children = run_all(todo)
            began = time.monotonic()
            self.status = self.sonde.stop(timeout=60)
            self.end_s = time.monotonic() - began
        finally:
            stop.set()
            watch.join()
            remove_perf_maps(children)
        self.ran = sum(child.returncode == 0 for child in children)
        with open(path, "rb") as f:
            self.folded = f.read()
        self.stacks = judge.from_folded(self.folded.decode("utf-8", "backslashreplace").splitlines())


@pytest.fixture(scope="module")
def attack(tmp_path_factory):
    return Attack(tmp_path_factory.mktemp("hostile"))


def test_two_hundred_files_were_tried(attack):
    assert attack.n_files >= 200
    assert attack.ran >= attack.n_files - 4    # the kernel itself may refuse a damaged program


def test_the_profile_goes_on(attack):
    assert attack.status in (0, 130), attack.sonde.stderr
    split = [s for s in attack.stacks if s.comm == "split"]
    verdict = judge.Verdict([s for s in split if not any("not loaded yet" in frame for frame in s.user[:1])])
    assert sum(s.count for s in split) > 100
    assert verdict.complete_pct >= 99 and verdict.named_pct >= 85, verdict.bad.most_common(3)


def test_the_attackers_are_in_it(attack):
    """Nothing is left out because its file is bad."""
    samples = sum(s.count for s in attack.stacks if s.comm == "hostile")
    assert samples >= 0.5 * 108 * MS
    assert sum(s.count for s in attack.stacks if s.comm.startswith("damaged")) >= 0.5 * DAMAGED * MS


def test_memory_and_time_are_bounded(attack):
    assert 0 < max(attack.peaks) <= RSS_KB
    assert attack.end_s <= END_S


def test_what_was_refused_is_said_once(attack):
    lines = [line for line in attack.sonde.err_lines if "refused" in line or "cannot" in line]
    assert len(lines) == len(set(lines))
    assert len(attack.sonde.err_lines) <= 60


def test_no_control_byte_gets_out(attack):
    text = attack.folded + attack.sonde.stderr.encode()
    assert not [byte for byte in text if byte < 32 and byte not in b"\n\t"]
    for line in attack.folded.decode("utf-8", "backslashreplace").splitlines():
        assert judge.split_folded(line), line


def test_nothing_was_read_through_a_link(attack):
    with open("/etc/shadow", encoding="ascii") as f:
        secrets = set(f.read().split())
    frames = {frame for stack in attack.stacks if stack.comm == "hostile" for frame in stack.user}
    assert frames
    assert not [f for f in frames if any(f in secret for secret in secrets) and len(f) > 3]
    assert not [f for f in frames if "shadow" in f]


def test_no_worker_is_left(attack):
    assert attack.sonde.child.returncode is not None
    assert f"{attack.sonde.pid}" not in sh("ps", "-e", "-o", "ppid=").stdout.split()
