# SPDX-License-Identifier: GPL-2.0-or-later
"""Cilium's monitor protocol, both ends: our listener and a reader of Go's gob package, our reader and its writer."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess

import pytest

import helpers
from test_rpc import calls, gotree, program     # noqa: F401  calls is a fixture

RECORDING = os.path.join(helpers.ROOT, "tests", "data", "rec", "loopback.rec")
SOURCE = os.path.join(helpers.ROOT, "tests", "workloads", "monitor_gob.go")
LINES = ("--format", "cilium", "-vv", "--data", "hex")


@pytest.fixture(scope="module")
def go(tmp_path_factory):
    """go(mode, ...) starts the Go program and waits for its first line; all end with the module's tests."""
    if not shutil.which("go"):
        pytest.skip("no Go toolchain here")
    folder = tmp_path_factory.mktemp("go")
    binary = folder / "monitor_gob"
    env = dict(os.environ, GOCACHE=str(folder / "cache"), GOFLAGS="", GO111MODULE="off", HOME=str(folder))
    subprocess.run(["go", "build", "-o", binary, SOURCE], check=True, env=env, capture_output=True, timeout=240)
    started = []

    def start(*words, data=None):
        child = subprocess.Popen([binary, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(child)
        if data is not None:
            child.stdin.write(data)
        child.stdin.close()
        assert child.stdout.readline().strip() in ("connected", "listening")
        return child
    yield start
    for child in started:
        child.kill()
        child.wait()


class Replay:
    """sonde with a file on its standard input, which waits until it is told to go."""

    def __init__(self, path, *words):
        self.path = str(path)
        words = [helpers.BINARY, "monitor", "-r", "-", "-o", "null", "--serve-cilium", self.path, *words]
        self.child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        helpers.wait_until(self.serves)
        helpers.wait_until(lambda: self.sockets() == 1)     # the connection that asked is gone again

    def serves(self):
        with socket.socket(socket.AF_UNIX) as s:
            return s.connect_ex(self.path) == 0

    def wait_for_client(self):
        """connect() returns before the other side accepts."""
        helpers.wait_until(lambda: self.sockets() > 1)

    def sockets(self):
        """That listen at the path or were accepted there; the others have no inode yet."""
        with open("/proc/net/unix", encoding="ascii", errors="replace") as f:
            rows = [line.split() for line in f]
        return sum(row[7:] == [self.path] and row[6] != "0" for row in rows)

    def go(self, file=RECORDING):
        with open(file, "rb") as f:
            shutil.copyfileobj(f, self.child.stdin)
        self.child.stdin.close()
        assert self.child.wait(helpers.READY_S) == 0


def test_go_reads_us_and_we_read_go(go, sonde, tmp_path):
    """Cilium's lines of a recording: directly, and by way of our listener, Go's decoder and encoder, our reader."""
    direct = sonde.run("monitor", "-r", RECORDING, *LINES).stdout
    replay = Replay(tmp_path / "ours.sock")
    reader = go("read", replay.path)
    replay.wait_for_client()
    replay.go()
    payloads = reader.stdout.read()
    assert payloads.count("\n") == 36
    assert not os.path.exists(replay.path)
    for other in ("0", "1"):    # the number of Payload's type is 64, or higher
        path = tmp_path / f"go{other}.sock"
        writer = go("write", path, other, data=payloads)
        back = sonde.run("monitor", "--cilium", path, "--count", "36", *LINES)
        assert back.returncode == 0, back.stderr
        assert back.stdout == direct
        writer.wait(helpers.TIMEOUT_S)


def test_a_stream_without_payloads_ends(go, tmp_path):
    """Go's decoder calls a type that no value follows a stream that was cut."""
    replay = Replay(tmp_path / "ours.sock", "port 1")
    reader = go("read", replay.path)
    replay.wait_for_client()
    replay.go()
    assert reader.stdout.read() == ""
    assert reader.wait(helpers.TIMEOUT_S) == 0


def test_cpu_zero_is_said(go, tmp_path):
    """A client that uses its struct again would show the CPU of an earlier event."""
    path = tmp_path / "ours.sock"
    stream = tmp_path / "stream"
    writer = go("write", path, "0", data='{"Data":"AQID","CPU":3,"Type":9}\n{"Data":"AQID","CPU":0,"Type":9}\n')
    with socket.socket(socket.AF_UNIX) as s, open(stream, "wb") as out:
        s.connect(str(path))
        while data := s.recv(4096):
            out.write(data)
    writer.wait(helpers.TIMEOUT_S)
    replay = Replay(tmp_path / "ours.sock2")
    reader = go("read", replay.path)
    replay.wait_for_client()
    replay.go(stream)
    cpus = [json.loads(line)["CPU"] for line in reader.stdout.read().splitlines()]
    assert cpus == [3, 0]


FLOOD = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(10000):
    try:
        s.sendto(b"x" * 200, ("127.0.0.1", 9))
    except ConnectionRefusedError:
        pass
"""


def sockets(pid):
    number = 0
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):    # closed meanwhile
            number += os.readlink(fd).startswith("socket:")
    return number


def test_a_client_that_sleeps_harms_nobody(go, sonde, netns, tmp_path):
    """Live: one client sleeps, Go's and ours hear of every event that the ledger counts as delivered."""
    ns, path = netns(), tmp_path / "live.sock"
    served = sonde("monitor", "-o", "null", "--serve-cilium", path, "--ring-size", "16M", "--where",
                   "evt.type in (trace, drop)", netns=ns)
    before = sockets(served.pid)
    sleeper, counter = go("sleep", path), go("count", path)
    ours = sonde("monitor", "--cilium", path, "-o", f"json:{tmp_path}/ours.json")
    with socket.socket(socket.AF_UNIX) as idle:
        idle.connect(str(path))
        helpers.wait_until(lambda: sockets(served.pid) == before + 4)   # who is let in later hears less
        ns.python(FLOOD, timeout=60)
    served.child.send_signal(signal.SIGINT)
    served.child.wait(helpers.READY_S)
    ledger = [ev for ev in served.events if ev["type"] == "sonde.ledger" and ev["probe"] == "net"][0]
    heard = json.loads(counter.stdout.read())
    sleeper.kill()
    assert ledger["lost"] == 0 and ledger["delivered"] > 20000
    # on a machine that has no time for it, the counting client may lose some: it is told how many
    assert heard["samples"] + heard["lost"] == ledger["delivered"] and heard["samples"] > ledger["delivered"] / 2
    helpers.wait_until(lambda: any("was closed" in line for line in ours.err_lines))
    ours.child.send_signal(signal.SIGINT)
    ours.child.wait(helpers.READY_S)
    with open(tmp_path / "ours.json", encoding="utf-8") as f:
        events = [json.loads(line) for line in f]
    kinds = [ev["type"] for ev in events]
    missed = sum(ev["count"] for ev in events if ev["type"] == "sonde.lost")
    assert kinds.count("net.trace") + kinds.count("net.drop") + missed == ledger["delivered"]
    assert {ev["reason"] for ev in events if ev["type"] == "net.drop"} >= {"Socket lookup failed"}


def test_connects_again_when_the_agent_comes_back(go, sonde, tmp_path):
    path = tmp_path / "agent.sock"
    one = '{"Data":"ggE=","CPU":1,"Type":9}\n{"CPU":2,"Lost":17,"Type":2}\n'
    writer = go("write", path, "0", data=one)
    ours = sonde("monitor", "--cilium", path, "--reconnect", "200ms", "--format", "cilium")
    writer.wait(helpers.TIMEOUT_S)
    helpers.wait_until(lambda: any("was closed" in line for line in ours.err_lines))
    writer = go("write", path, "1", data=one)
    helpers.wait_until(lambda: ours.lines.count("CPU 02: Lost 17 events") == 2)
    assert any("connected" in line for line in ours.err_lines)
    ours.child.send_signal(signal.SIGINT)
    assert ours.child.wait(helpers.READY_S) == 130


def test_the_socket_is_ours_alone(sonde, tmp_path):
    path = tmp_path / "monitor1_2.sock"
    first = Replay(path)
    assert os.stat(path).st_mode & 0o777 == 0o660
    second = sonde.run("monitor", "-o", "null", "--serve-cilium", path)    # before it loads anything
    assert second.returncode == 1 and "another process serves" in second.stderr
    first.child.kill()
    first.child.wait()
    third = Replay(path)    # what a killed one left is taken over
    third.go()
    assert not os.path.exists(path)
    none = sonde.run("monitor", "--cilium", tmp_path / "none.sock")
    assert none.returncode == 1 and "none.sock" in none.stderr


def test_the_agent_serves_ciliums_clients(go, sonde, calls, tmp_path):   # noqa: F811
    """Packets, calls and what becomes of the agent: read by our client, and by Go's gob with the types of Cilium."""
    path = str(tmp_path / "cilium.sock")
    one = calls(program(gotree.SUITES[0]))
    agent = sonde("agent", "--socket-dir", str(tmp_path / "run"), "--serve-cilium", path,
                  "--cilium-probes", "net,gohttp2")

    def status():
        return helpers.sh(helpers.BINARY, "status", "--socket", str(tmp_path / "run" / "read.sock")).stdout
    assert ": net" not in status()
    reader = go("records", path)
    ours = sonde("monitor", "--cilium", path)
    helpers.wait_until(lambda: ": net, 1 users" in status() and ": gohttp2, 1 users" in status(), 60)
    one.run("run", "unary", 3)
    one.quit()
    helpers.wait_until(lambda: sum(" POST /sonde.test.Echo/Unary => 200" in line for line in ours.lines) >= 6)
    assert any(" lo: 127.0.0.1" in line for line in ours.lines)
    assert agent.stop(signal.SIGTERM) == 0
    assert not os.path.exists(path)
    records = [json.loads(line) for line in reader.stdout.read().splitlines()]
    told = [rec["Text"] for rec in records if "Text" in rec]
    assert json.loads(told[0])["time"] and json.loads(told[-1]) == {"message": "sonde: the agent stops"}
    assert any("started probe gohttp2" in text for text in told)
    port = int(one.addr.rsplit(":", 1)[1])     # others may run Go programs too
    log = [rec for rec in records if "HTTP" in rec and rec["SourceEndpoint"]["Port"] == port
           and rec["HTTP"]["URL"]["Path"] != "/dialled"]
    assert len([rec for rec in log if rec["ObservationPoint"] == "Ingress"]) == 3, log
    assert len([rec for rec in log if rec["ObservationPoint"] == "Egress"]) == 3, log
    truth = {call["method"] for call in one.calls() if call["method"] != "/dialled"}
    for rec in log:
        assert rec["Type"] == "Response" and rec["Verdict"] == "Forwarded" and rec["HTTP"]["Code"] == 200
        assert rec["HTTP"]["Method"] == "POST" and rec["HTTP"]["URL"]["Path"] in truth
        assert rec["SourceEndpoint"]["IPv4"] == rec["DestinationEndpoint"]["IPv4"] == "127.0.0.1"
        assert rec["TransportProtocol"] == 6 and rec["DestinationEndpoint"]["Port"] not in (0, port)
