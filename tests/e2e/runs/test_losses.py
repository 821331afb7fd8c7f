# SPDX-License-Identifier: GPL-2.0-or-later
"""What was lost is one number: the sonde.lost events of a stream add up to the ledger, for each probe and cause."""
import collections
import json
import os
import signal
import subprocess

import pytest

import helpers

# Too much for every ring while nobody reads: threads that come and go, an exec, mappings of code, calls.
MAPPINGS = 40000     # twice as many do not fit into the rings of two CPUs, 2 MiB each
STORM = f"""
import mmap, os, subprocess, threading
for _ in range(3000):
    one = threading.Thread(target=os.getppid)
    one.start()
    one.join()
for _ in range(20):
    subprocess.run(["/bin/true"])
with open("/usr/bin/env", "rb") as f:
    for _ in range({MAPPINGS} * 2):
        mmap.mmap(f.fileno(), 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC, flags=mmap.MAP_PRIVATE).close()
"""
RING = "64K"
COMMANDS = {
    "lives and mappings": ["monitor", "--where", "evt.type in (proc.exec, trace)"],
    "calls": ["syscalls", "--where", "proc.name=losing", "syscall.name in (mmap,clone3)"],
}


def storm():
    subprocess.run(["/usr/bin/python3", "-c", 'open("/proc/self/comm", "w").write("losing")\n' + STORM], check=True,
                   timeout=60)


def told(events):
    """Lost events by probe and cause, as the stream has them and as the ledger sums them up."""
    stream, ledger = collections.Counter(), collections.Counter()
    for ev in events:
        if ev["type"] == "sonde.lost":
            stream[ev["probe"], ev["cause"]] += ev["count"]
        elif ev["type"] == "sonde.ledger":
            causes = {cause: n for cause, n in ev.get("lost_by", {}).items() if n}
            ledger.update({(ev["probe"], cause): n for cause, n in causes.items()})
            assert ev["lost"] == sum(causes.values())
            assert ev["seen"] == ev["delivered"] + ev["filtered"] + ev["sampled"] + ev["lost"], ev
    return dict(stream), dict(ledger)


def overrun(one, stopped):
    """A storm while @stopped does not run, and one while it does."""
    os.kill(stopped, signal.SIGSTOP)
    try:
        storm()
    finally:
        os.kill(stopped, signal.SIGCONT)
    storm()
    stream, ledger = told(one.finish())
    assert ledger and stream == ledger
    assert sum(n for (probe, _), n in ledger.items() if probe == "proc") > MAPPINGS
    return stream


# Packets wait for the process that accepts their connection, and what follows waits behind them.
SLOW_ACCEPT = """
import socket, threading, time
server = socket.create_server(("127.0.0.1", 0), backlog=64)
def serve():
    held = []
    while True:
        held.append(server.accept()[0])
        time.sleep(0.02)
        held = held[-8:]
threading.Thread(target=serve, daemon=True).start()
print("ready", flush=True)
while True:
    socket.create_connection(server.getsockname()).close()
    time.sleep(0.015)
"""


def test_losses_that_wait_are_booked_once(sonde, netns):
    ns = netns()
    assert ns.python_popen(SLOW_ACCEPT).stdout.readline() == "ready\n"
    one = sonde(*COMMANDS["lives and mappings"], "--ring-size", RING, "-v", "-o", "json", netns=ns)
    overrun(one, one.pid)
    assert "does not close" not in one.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_stream_and_ledger_agree(sonde, name, tmp_path):
    recording = str(tmp_path / "storm.rec")
    one = sonde(*COMMANDS[name], "--ring-size", RING, "-v", "-o", "json", "-o", f"rec:{recording}")
    stream = overrun(one, one.pid)
    assert "does not close" not in one.stderr
    again = helpers.sh(helpers.BINARY, "monitor", "--json", "-r", recording, timeout=30).stdout.splitlines()
    assert told(json.loads(line) for line in again) == (stream, stream)


def test_client_of_an_agent_reads_the_same(sonde, tmp_path):
    agent = sonde("agent", "--socket-dir", str(tmp_path / "run"), "--ring-size", RING)
    one = sonde(*COMMANDS["lives and mappings"], "--json", f"--agent={tmp_path}/run/read.sock")
    overrun(one, agent.pid)
    agent.stop()
