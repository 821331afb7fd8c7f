# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands that read a recording as root decode it without rights, whatever they write."""
import contextlib
import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
import termios
import threading

import pytest

import helpers
from helpers import BINARY, ROOT, wait_until
from test_cilium import sockets

pytestmark = pytest.mark.replay

DATA = os.path.join(ROOT, "tests", "data")
LOOPBACK, FLOWS, CPU = (os.path.join(DATA, "rec", name + ".rec") for name in ("loopback", "flows", "cpu"))
SCAP = os.path.join(DATA, "scap", "session.scap")
NOBODY = 65534

COMMANDS = [
    (LOOPBACK, ["monitor", "--json"]),
    (LOOPBACK, ["monitor", "-o", "rec:@OUT@"]),
    (LOOPBACK, ["monitor", "-o", "pcapng:@OUT@"]),
    (LOOPBACK, ["capture", "-w", "@OUT@", "--rotate", "size=1M"]),
    (FLOWS, ["flows", "--top", "talkers"]),
    (CPU, ["profile", "-o", "folded"]),
    (CPU, ["profile", "-o", "svg:@OUT@", "-o", "pprof:@OUT@.pb.gz"]),
    (SCAP, ["syscalls", "--view", "errors"]),
    (SCAP, ["syscalls", "-o", "scap:@OUT@"]),
    (LOOPBACK, ["rpc", "-o", "otlp:@OUT@"]),
    (LOOPBACK, ["counters", "--json"]),
    (LOOPBACK, ["counters", "--events", "-o", "pcapng:@OUT@"]),
]


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f)


def wait_until_confined(child):
    """Its status once it has a filter: the last thing it does before it reads."""
    while child.poll() is None:
        status = status_of(child.pid)
        if status["Seccomp"] == "2":
            return status
    raise AssertionError(child.stderr.read())


def assert_no_rights(status):
    assert status["Uid"].split() == [str(NOBODY)] * 4 and status["Gid"].split() == [str(NOBODY)] * 4
    assert {int(status[name], 16) for name in ("CapPrm", "CapEff", "CapInh", "CapAmb", "CapBnd")} == {0}
    assert status["NoNewPrivs"] == "1" and not status["Groups"].strip()


@pytest.fixture
def private(tmp_path):
    """A folder that only root may enter."""
    path = tmp_path / "private"
    path.mkdir(mode=0o700)
    return path


@pytest.mark.parametrize("recording, words", COMMANDS, ids=lambda p: " ".join(p) if isinstance(p, list) else "")
def test_no_rights_while_reading(recording, words, private):
    words = [word.replace("@OUT@", str(private / "out")) for word in words]
    with open(recording, "rb") as f:
        data = f.read()
    child = subprocess.Popen([BINARY, words[0], "-r", "-", *words[1:]], stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    child.stdin.write(data[:100])
    child.stdin.flush()
    assert_no_rights(wait_until_confined(child))
    child.stdin.write(data[100:])
    child.stdin.close()
    assert child.wait(helpers.TIMEOUT_S) == 0, child.stderr.read()


def test_rotated_files_below_a_private_folder(private):
    """All of its files are there, root's, and equal to one file in their records."""
    words = [BINARY, "capture", "-r", LOOPBACK]
    subprocess.run([*words, "-w", private / "one"], check=True)
    subprocess.run([*words, "-w", private / "f", "--rotate", "events=5"], check=True)
    files = sorted(private.glob("f*"), key=os.path.getmtime)
    assert len(files) > 2
    assert all((os.stat(f).st_uid, os.stat(f).st_mode & 0o777) == (0, 0o600) for f in files)
    count = [len(subprocess.run([BINARY, "monitor", "-r", f, "--where", "evt.type=packet"], check=True,
                                capture_output=True).stdout.splitlines()) for f in [private / "one", *files]]
    assert count[0] == sum(count[1:])


def test_rotated_files_stay_in_the_folder_as_it_was(private):
    """A link that takes the folder's place while the run goes on leads nowhere."""
    folder, elsewhere = private / "logs", private / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    with open(LOOPBACK, "rb") as f:
        data = f.read()
    child = subprocess.Popen([BINARY, "capture", "-r", "-", "-w", folder / "f", "--rotate", "events=5"],
                             stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until_confined(child)
    folder.rename(private / "moved")
    folder.symlink_to(elsewhere)
    child.stdin.write(data)
    child.stdin.close()
    assert child.wait(helpers.TIMEOUT_S) == 0, child.stderr.read()
    assert not list(elsewhere.iterdir())
    assert len(list((private / "moved").iterdir())) > 2


SOME = 4000     # bytes of a recording: some records, so that the run waits in its loop for the next


def test_a_replay_that_serves_clients(private):
    """Without rights it accepts a client, and removes its socket where it made it: not what took the path's place."""
    folder, elsewhere = private / "run", private / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (elsewhere / "sock").touch()
    with open(LOOPBACK, "rb") as f:
        data = f.read()
    child = subprocess.Popen([BINARY, "monitor", "-r", "-", "-o", "null", "--serve-cilium", folder / "sock"],
                             stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdin.write(data[:SOME])
    child.stdin.flush()
    assert_no_rights(wait_until_confined(child))
    before = sockets(child.pid)
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(helpers.TIMEOUT_S)
        client.connect(str(folder / "sock"))
        wait_until(lambda: sockets(child.pid) == before + 1)    # accepted
        folder.rename(private / "moved")
        folder.symlink_to(elsewhere)
        child.stdin.write(data[SOME:])
        child.stdin.close()
        received = sum(len(part) for part in iter(lambda: client.recv(65536), b""))
    assert child.wait(helpers.TIMEOUT_S) == 0, child.stderr.read()
    assert received > 1000
    assert not list((private / "moved").iterdir())
    assert [entry.name for entry in elsewhere.iterdir()] == ["sock"]


def test_names_of_a_program_in_a_private_folder(private):
    """Symbols are read from a file that nobody may open, through the process that opens files."""
    source = private / "spin.c"
    source.write_text("__attribute__((noinline)) void secret_work(void) { for (volatile long i = 0; i < 300000000;)"
                      " i++; }\nint main(void) { secret_work(); return 0; }\n")
    subprocess.run(["gcc", "-O1", "-o", private / "spin", source], check=True)
    recording = private / "spin.rec"
    subprocess.run([BINARY, "profile", "-F", "199", "-o", f"rec:{recording}", "--", private / "spin"], check=True,
                   timeout=helpers.TIMEOUT_S, capture_output=True)
    folded = subprocess.run([BINARY, "profile", "-r", recording, "-o", "folded"], check=True, capture_output=True,
                            text=True)
    assert re.search(r"^spin;.*;secret_work \d+$", folded.stdout, re.M), folded.stdout
    both = subprocess.run([BINARY, "profile", "diff", recording, recording], check=True, capture_output=True,
                          text=True)
    assert re.search(r"secret_work (\d+) \1$", both.stdout, re.M), both.stdout


def is_asleep(pid):
    return status_of(pid)["State"].startswith("S")


def unread_bytes(fd):
    return int.from_bytes(fcntl.ioctl(fd, termios.FIONREAD, bytes(4)), sys.byteorder)


def wait_until_waiting(child, fifo):
    """Until the worker has read all of the FIFO and all processes wait for more."""
    with open(f"/proc/{child.pid}/task/{child.pid}/children", encoding="ascii") as f:
        pids = [child.pid, *map(int, f.read().split())]
    with open(fifo, "rb", opener=lambda path, _: os.open(path, os.O_RDONLY | os.O_NONBLOCK)) as f:
        wait_until(lambda: not unread_bytes(f) and all(map(is_asleep, reversed(pids))))


@pytest.mark.parametrize("signo", (signal.SIGINT, signal.SIGTERM))
@pytest.mark.parametrize("recording, command", ((LOOPBACK, "monitor"), (CPU, "profile"), (SCAP, "syscalls")))
@pytest.mark.parametrize("some", (None, 0, 5, 100), ids=("no writer", "nothing", "half a format", "half a record"))
def test_a_signal_ends_the_wait_for_input(some, recording, command, signo, tmp_path):
    """With a FIFO that has no writer yet, or whose writer stopped within the header or a record."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    child = subprocess.Popen([BINARY, command, "-r", fifo], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             text=True)
    wait_until_confined(child)
    with open(recording, "rb") as f:
        data = f.read(some or 0)
    with contextlib.ExitStack() as stack:
        if some is not None:
            writer = stack.enter_context(open(fifo, "wb", buffering=0))
            writer.write(data)
            wait_until_waiting(child, fifo)
        child.send_signal(signo)
        assert child.wait(helpers.TIMEOUT_S) == 128 + signo
    assert child.communicate()[1] == ""


def test_interrupted(private):
    """What was read until ^C is written; names are still found."""
    with open(CPU, "rb") as f:
        data = f.read()
    child = subprocess.Popen([BINARY, "profile", "-r", "-", "-o", f"folded:{private}/out"], stdin=subprocess.PIPE,
                             stderr=subprocess.PIPE, start_new_session=True)
    feeder = threading.Thread(target=child.stdin.write, args=(data,))
    feeder.start()
    wait_until_confined(child)
    feeder.join()
    os.killpg(child.pid, 2)
    assert child.wait(helpers.TIMEOUT_S) == 130
    assert (private / "out").exists()
