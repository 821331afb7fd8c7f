# SPDX-License-Identifier: GPL-2.0-or-later
"""What is no call (switches, signals, faults, io_uring, ends of threads), names that are not wanted, and gaps."""
import contextlib
import ctypes
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import termios
import time

import pytest

from helpers import BINARY, READY_S, TIMEOUT_S

HERE = os.path.dirname(os.path.abspath(__file__))

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def run(*words, tool=("syscalls",)):
    done = subprocess.run([BINARY, *tool, "--agent=no", *words], capture_output=True, timeout=90, check=False)
    return done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"), done.returncode


def events(*words):
    out, err, status = run("--json", *words)
    assert "does not work here" not in err, err
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")], status


def test_what_is_no_call_has_events():
    seen, _ = events("--events", "switch,signal,fault,exit",
                     "syscall.name=kill or not syscall.name exists", "--", "sh", "-c",
                     "sleep 0.05; trap : USR1; kill -USR1 $$; sh -c 'kill -TERM $$'; exit 3")
    kinds = {ev["type"] for ev in seen}
    assert {"sys.switch", "sys.signal", "sys.fault", "sys.procexit"} <= kinds
    assert any(ev["type"] == "sys.signal" and ev["number"] == 10 for ev in seen)
    codes = [ev["code"] for ev in seen if ev["type"] == "sys.procexit"]
    assert 3 << 8 in codes and 15 in codes
    assert all(ev["addr"] for ev in seen if ev["type"] == "sys.fault" and not ev["kernel"])


def test_requests_through_io_uring_are_seen(tmp_path):
    binary = str(tmp_path / "uring")
    subprocess.run(["cc", "-O1", "-Wall", "-o", binary, os.path.join(HERE, "programs/uring.c")], check=True)
    seen, status = events("--events", "uring", "syscall.name=io_uring_enter or not syscall.name exists", "--", binary)
    if status == 77:
        pytest.skip("io_uring is not allowed here")
    mine = [ev for ev in seen if ev["type"] == "sys.uring"]
    assert [ev["what"] for ev in mine] == ["submit", "complete"]
    assert {ev["opcode"] for ev in mine} == {"IORING_OP_NOP"} and mine[0]["request"] == mine[1]["request"]
    assert mine[1]["result"] == 0


def test_a_filter_for_an_event_loads_it():
    seen, _ = events("--where", "evt.type=switch", "--", "sh", "-c", "sleep 0.05")
    assert seen and {ev["type"] for ev in seen if ev["type"].startswith("sys.")} == {"sys.switch"}


def test_names_that_are_not_wanted_are_left_out():
    out, err, _ = run("-v", "-U", "cat", "--", "sh", "-c", "cat /dev/null; ls / > /dev/null",
                      tool=("compat", "sysdig"))
    assert " ls (" in out and " cat (" not in out
    stats = dict(re.findall(r"(n_\w+)=(\d+)", err))
    assert len(stats) == 8 and int(stats["n_suppressed"]) > 10 and int(stats["n_evts"]) > int(stats["n_suppressed"])


@pytest.mark.skipif(not shutil.which("sysdig"), reason="sysdig is not installed")
def test_a_gap_heals(tmp_path):
    """Most calls are lost, opens among them; descriptors have their names behind the gap all the same."""
    path = str(tmp_path / "gap.scap")
    script = "exec 7</etc/hostname; while read -r x <&7; do :; done; dd if=/dev/zero of=/dev/null bs=1 count=150000"
    _, err, _ = run("-v", "--ring-size", "64k", "--latency", "500ms", "-w", path, "--", "sh", "-c", script)
    lost = int(re.search(r"n_drops_buffer=(\d+)", err)[1])
    healed, put_off = (int(n) for n in re.search(r"(\d+) tasks read again, (\d+) times postponed", err).groups())
    if not lost or not healed + put_off:
        pytest.skip("nothing was lost while the command ran")
    shown = subprocess.run(["sysdig", "-r", path, "-p", "*%evt.type %evt.dir %fd.name", "proc.name=dd and evt.dir=>"],
                           capture_output=True, check=True).stdout.decode()
    reads = [line.split()[-1] for line in shown.splitlines() if line.startswith("read >")]
    assert reads and reads.count("/dev/zero") > 0.9 * len(reads)
    assert "<NA>" not in subprocess.run(["sysdig", "-r", path], capture_output=True, check=True).stdout.decode()


def watch(path, *words):
    """A running sonde that said it is ready; its events go to a file, so that nobody has to read them."""
    child = subprocess.Popen([BINARY, "syscalls", "--agent=no", "-v", "-o", f"json:{path}", *words],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while "ready" not in child.stderr.readline():
        assert child.poll() is None
    return child


def end(child, path):
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    with open(path, encoding="utf-8", errors="replace") as f:
        seen = [json.loads(line) for line in f]
    ledger = [ev for ev in seen if ev["type"] == "sonde.ledger" and ev["probe"] == "sys"][-1]
    assert ledger["seen"] == sum(ledger[k] for k in ("delivered", "filtered", "sampled", "lost"))
    return seen, ledger


def read_much(times):
    subprocess.run(["dd", "if=/dev/zero", "of=/dev/null", "bs=8", f"count={times}"], check=True, capture_output=True)


def test_losses_are_told_by_call_and_cpu(tmp_path):
    """Nobody reads while twenty times as much is written as the rings hold."""
    path = str(tmp_path / "events")
    child = watch(path, "syscall.name=read", "-s", "16", "--ring-size", "64k")
    child.send_signal(signal.SIGSTOP)
    read_much(20000)
    child.send_signal(signal.SIGCONT)
    seen, ledger = end(child, path)
    told = [ev for ev in seen if ev["type"] == "sys.lost"]
    assert ledger["lost"] > 10000 and ledger["lost"] == ledger["lost_by"]["ring_full"]
    assert {ev["call"] for ev in told} == {"read"}
    assert sum(ev["count"] for ev in told) == ledger["lost"]
    cpus = {ev["cpu"] for ev in seen if ev["type"] == "sys.exit"}
    assert {ev["cpu"] for ev in told} <= cpus


def test_a_budget_is_kept_to_and_what_it_leaves_out_is_counted(tmp_path):
    path = str(tmp_path / "events")
    child = watch(path, "--max-cpu", "0.1%", "syscall.name in (read,execve)")
    read_much(20000)
    said = child.stderr.readline()
    assert "the limit is 0.1 %: recording calls in 1/" in said
    read_much(100000)
    seen, ledger = end(child, path)
    assert ledger["sampled"] > 1000
    sampling = [ev for ev in seen if ev["type"] == "sys.sampling"]
    assert sampling[0]["budget"] == 1 and sampling[0]["cost"] > 1 and sampling[0]["one_in"] > 1
    assert any(ev["type"] == "sys.exit" and ev["name"] == "execve" and "/dd" in json.dumps(ev) for ev in seen)


def test_budgets_that_cannot_be():
    for words in (["--max-cpu", "-1%"], ["-c", "--max-cpu", "5%"]):
        _, err, status = run(*words, "--duration", "1ms")
        assert status and "--max-cpu" in err


PIDFD_GETFD = 438   # on every architecture


def links_of(pid, pidfd):
    """Descriptors of our own for the BPF links of @pid: its programs stay attached as long as we have them."""
    held = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            if re.search("bpf[-_](link|raw-tracepoint)", os.readlink(f"/proc/{pid}/fd/{fd}")):
                held.append(ctypes.CDLL(None).syscall(PIDFD_GETFD, pidfd, int(fd), 0))
    assert held and min(held) >= 0
    return held


def run_ns(pid):
    """Nanoseconds that the process has run."""
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
        return int(f.read().split()[0])


def test_programs_that_stay_attached_for_a_moment(sonde):
    """
    Whoever looks at its descriptors while sonde ends holds them for that long; what programs make meanwhile is in the
    ledger, and so must be read. Four times: events have to fall between two looks to matter.
    """
    loop = "import os\nprint('up', flush=True)\nwhile True:\n os.getppid()\n for i in range(2000): pass"
    work = subprocess.Popen(["python3", "-c", loop], stdout=subprocess.PIPE, text=True)
    try:
        assert work.stdout.readline() == "up\n"
        for _ in range(4):
            one = sonde("syscalls", "--agent=no", "-v", "syscall.name=getppid", "-p", str(work.pid), "-o", "null")
            pidfd = os.pidfd_open(one.pid)
            held = links_of(one.pid, pidfd)
            os.kill(one.pid, signal.SIGINT)
            ran = run_ns(work.pid)
            while run_ns(work.pid) < ran + 1_000_000:
                time.sleep(0.2)
            for fd in (*held, pidfd):
                os.close(fd)
            one.finish()
            assert "sonde: sys: seen" in one.stderr and "does not close" not in one.stderr
    finally:
        work.kill()
        work.wait()
        work.stdout.close()


class Terminal:
    """sonde on a terminal of its own, in its foreground."""
    def __init__(self, *words):
        self.leader, follower = pty.openpty()
        self.text = ""
        self.process = subprocess.Popen([BINARY, "syscalls", "--agent=no", *words], stdin=follower, stdout=follower,
                                        stderr=follower, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(follower)

    def wait_for(self, what, n=1):
        end = time.monotonic() + (READY_S if "ready" in what else TIMEOUT_S)
        while self.text.count(what) < n:
            assert select.select([self.leader], [], [], max(end - time.monotonic(), 0))[0], self.text
            self.text += os.read(self.leader, 65536).decode("utf-8", "replace")

    def press(self, keys):
        os.write(self.leader, keys)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.leader)


def test_a_key_pauses():
    """What is called between two presses of Enter is not shown; several presses count each."""
    work = "import os, sys\nfor line in sys.stdin:\n for i in range(int(line)): os.getppid()\n print(flush=True)"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(["python3", "-c", work], **pipes) as child, \
            Terminal("syscall.name=getppid", "-p", str(child.pid)) as one:
        def make(n):
            child.stdin.write(f"{n}\n")
            child.stdin.flush()
            child.stdout.readline()

        one.wait_for("ready, watching; Enter or SIGUSR1 pauses")
        make(5)
        one.wait_for("getppid()", 5)
        one.press(b"\n")
        one.wait_for("sonde: paused; Enter or SIGUSR1 resumes")
        make(7)
        one.press(b"what else is on the line does not matter\n")
        one.wait_for("sonde: resumed")
        make(3)
        one.wait_for("getppid()", 8)
        one.press(b"\n\n")
        one.wait_for("sonde: resumed", 2)
        make(2)
        one.wait_for("getppid()", 10)
        one.press(b"\x03")
        assert one.process.wait(TIMEOUT_S) in (0, 130)
        child.stdin.close()
    assert one.text.count("getppid()") == 10 and one.text.count("sonde: paused") == 2, one.text
