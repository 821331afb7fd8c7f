# SPDX-License-Identifier: GPL-2.0-or-later
"""A run that shows nothing says why, and one to which nothing can come does not start."""
import errno
import os
import re
import signal
import struct
import subprocess

import pytest

import agent_client
import helpers

COMMANDS = {
    "monitor": ["monitor"], "flows": ["flows"], "capture": ["capture", "-w", "/dev/null"], "counters": ["counters"],
    "syscalls": ["syscalls"], "profile": ["profile"], "rpc": ["rpc"],
}


def ended_process():
    child = subprocess.Popen(["/bin/true"])
    child.wait()
    return str(child.pid)


@pytest.fixture
def sleeper():
    child = subprocess.Popen(["/bin/sleep", "60"])
    yield child
    child.kill()
    child.wait()


def why_nothing(one):
    """The sentence at the end of a run that showed nothing."""
    one.stop(signal.SIGINT)
    said = re.search(r"nothing shown: (.*)", one.stderr)
    assert said, (one.lines, one.stderr)
    return said.group(1)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_such_process(sonde, name):
    pid = ended_process()
    done = sonde.run(*COMMANDS[name], "--agent=no", "--pid", pid, timeout=helpers.READY_S)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"sonde: no such process: {pid}\n"


@pytest.mark.parametrize("kind, unit", [("drop", "drop"), ("mib", "event"), ("refused", "event"),
                                        ("trace", "packet")])
def test_what_is_not_watched_is_not_missed(sonde, kind, unit):
    """Nobody says "no packets" of a run that watches none."""
    one = sonde("monitor", "--agent=no", "--netns", f"/proc/{os.getpid()}/ns/net", "--where",
                f"evt.type={kind} and net.sport=1")
    why = why_nothing(one)
    assert re.fullmatch(rf"no {unit}s in [\d.]+ s|the filter and --netns refused .*{unit}s?", why), one.stderr
    assert "watching;" not in one.stderr


def test_one_of_two_processes_is_enough(sonde, sleeper):
    pid = ended_process()
    one = sonde("syscalls", "--agent=no", "--pid", pid, "--pid", str(sleeper.pid))
    one.stop()
    assert f"no such process: {pid}\n" in one.stderr


def test_no_go_program(sonde, sleeper):
    done = sonde.run("rpc", "--source", "go", "--agent=no", "-p", str(sleeper.pid), timeout=helpers.READY_S)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"process {sleeper.pid} does not run a Go program" in done.stderr


@pytest.fixture
def agent(sonde, tmp_path):
    """The read socket of an agent."""
    sonde("agent", "--socket-dir", str(tmp_path / "run"))
    return str(tmp_path / "run" / "read.sock")


def test_no_go_program_for_an_agent(sonde, sleeper, agent):
    """The agent refuses before the stream begins, with the sentence of a local run."""
    done = sonde.run("rpc", "--source", "go", f"--agent={agent}", "-p", str(sleeper.pid), timeout=helpers.READY_S)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (f"sonde: probe gohttp2: process {sleeper.pid} does not run a Go program with gRPC or "
                           f"HTTP/2; sonde rpc explain {sleeper.pid} says more\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_no_such_process_for_an_agent(sonde, agent, name):
    pid = ended_process()
    done = sonde.run(*COMMANDS[name], f"--agent={agent}", "--pid", pid, timeout=helpers.READY_S)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"sonde: no such process: {pid}\n")


def test_an_agent_refuses_ended_processes(agent, sleeper):
    """A client in another pid namespace cannot check."""
    client, pid = agent_client.Client(agent), ended_process()
    client.hello()
    client.send(agent_client.SUBSCRIBE, agent_client.words("probe=cpu", f"pid={pid}"))
    kind, payload = client.recv()
    assert kind == agent_client.ERROR
    assert struct.unpack_from("<II", payload)[1] == errno.ESRCH
    assert payload[8:] == f"no such process: {pid}\0".encode()
    assert client.subscribe("probe=cpu", f"pid={pid}", f"pid={sleeper.pid}")
    client.close()


def test_types_that_no_probe_makes(sonde):
    done = sonde.run("syscalls", "--agent=no", "--where", "evt.type=net.drop", timeout=helpers.READY_S)
    assert (done.returncode, done.stdout) == (2, "")
    assert "evt.type=net.drop: no probe of this run makes such events" in done.stderr


@pytest.mark.parametrize("words", [
    ["monitor", "-o", "svg:x"], ["monitor", "-w", "x.folded"], ["rpc", "-o", "pcap:x"],
    ["syscalls", "-o", "pcapng:x"],
    ["flows", "-o", "scap:x"], ["record", "--set", "sys", "-o", "pprof:x"],
    ["monitor", "-r", os.path.join(helpers.ROOT, "tests", "data", "rec", "loopback.rec"), "-o", "scap:x"],
], ids=" ".join)
def test_a_format_that_would_stay_empty(sonde, tmp_path, words):
    """It is refused before the start, and those that fit are named."""
    done = sonde.run(*words, timeout=helpers.READY_S, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"sonde: -o \S+: format \w+ is for [a-z ]+, which this command does not show; formats that "
                        r"fit: text, json, .*\bstore\b.*\n", done.stderr), done.stderr
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("words", [["monitor", "-n", "0"], ["record", "-n0"], ["profile", "--count=0"],
                                   ["syscalls", "--duration", "0s"]], ids=" ".join)
def test_a_limit_of_nothing(sonde, words):
    """It would mean no limit."""
    done = sonde.run(*words, timeout=helpers.READY_S)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.match(r'sonde: --(count "0": expected a number above 0|duration "0s": expected a time above 0, such as '
                    r'10ms, 2s or 5m) ', done.stderr)


def test_a_filter_that_refused_everything(sonde, netns):
    ns = netns()
    one = sonde("capture", "--agent=no", "-i", "lo", "-w", "/dev/null", "tcp port 4301", netns=ns)
    ns.run("ping", "-q", "-c", "3", "-i", "0.01", "127.0.0.1")
    seen = re.fullmatch(r"the filter and --interface refused ([\d,]+) of \1 packets", why_nothing(one)).group(1)
    assert int(seen) >= 6


def test_a_process_that_ended(sonde, netns, sleeper):
    one = sonde("capture", "--agent=no", "--pid", str(sleeper.pid), "-i", "lo", "-w", "/dev/null", netns=netns())
    sleeper.kill()
    sleeper.wait()
    assert why_nothing(one) == f"process {sleeper.pid} ended"


def test_traffic_elsewhere(sonde, netns):
    here, there = netns(), netns()
    there.popen("/bin/sleep", "60")     # namespaces are found by their processes
    one = sonde("capture", "--agent=no", "-i", "lo", "-w", "/dev/null", netns=here)
    there.run("ping", "-q", "-c", "1", "127.0.0.1")
    why = re.fullmatch(r"no packets in [\d.]+ s; only other network namespaces had traffic \((\d+) seen\)",
                       why_nothing(one))
    assert int(why.group(1)) >= 1


def test_an_idle_process(sonde, sleeper):
    """The samples of the others are refused by --pid, not by a filter."""
    done = sonde.run("profile", "--agent=no", "--pid", str(sleeper.pid), "-o", "folded", "--duration", "1s",
                     timeout=helpers.READY_S)
    assert re.search(r"nothing shown: --pid refused ([\d,]+) of \1 samples$", done.stderr, re.M), done.stderr


def test_packets_of_other_interfaces_are_not_the_filters(sonde, link):
    """No filter was given: drops on another interface are refused by --interface."""
    idle = f"sdidle{os.getpid()}"       # a name that no other namespace has: drops are of all
    link.b.run("ip", "link", "add", idle, "type", "veth")
    one = sonde("monitor", "--agent=no", "-i", idle, netns=link.b)
    link.a.python(f"import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('{link.b_ip}', 9))")
    link.b.run("ping", "-q", "-c", "1", link.a_ip)
    why = re.fullmatch(r"--interface refused ([\d,]+) of \1 packets?", why_nothing(one))
    assert int(why.group(1)) >= 1


@pytest.fixture
def other_cpu():
    """A busy CPU that what this test starts never runs on."""
    before = os.sched_getaffinity(0)
    if len(before) < 2:
        pytest.skip("needs two CPUs")
    other = min(before)
    os.sched_setaffinity(0, {other})
    with subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"]) as busy:
        os.sched_setaffinity(0, before - {other})
        yield str(other)
        os.sched_setaffinity(0, before)
        busy.kill()


def test_a_command_that_does_not_run(sonde, other_cpu):
    """A command without samples is not a filter that refused the samples of others."""
    words = ["profile", "--agent=no", "--cpu", other_cpu, "-o", "folded"]
    done = sonde.run(*words, "--", "sleep", "1", timeout=helpers.READY_S)
    assert re.search(r"nothing shown: no samples of the command in [\d.]+ s, [\d,]+ other samples$", done.stderr,
                     re.M), done.stderr
    done = sonde.run(*words, "-F", "1", "--", "sleep", "0.05", timeout=helpers.READY_S)
    assert re.search(r"nothing shown: no samples of the command: ran [\d.]+ s at 1 Hz", done.stderr), done.stderr


def test_no_sample_in_a_short_run(sonde, sleeper):
    done = sonde.run("profile", "--agent=no", "-F", "1", "--pid", str(sleeper.pid), "-o", "folded:/dev/null",
                     "--duration", "50ms", timeout=helpers.READY_S)
    assert done.returncode == 0
    assert re.search(r"nothing shown: no samples: ran [\d.]+ s at 1 Hz$", done.stderr, re.M), done.stderr
