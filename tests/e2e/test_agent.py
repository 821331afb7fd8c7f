# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon and its clients: the same output as without it, nothing left behind."""
import os
import signal
import socket

import helpers
import pytest


@pytest.fixture
def agent(sonde, tmp_path):
    """A running agent; agent.sock is its socket."""
    one = sonde("agent", "--socket-dir", str(tmp_path / "run"))
    one.sock = str(tmp_path / "run" / "read.sock")
    one.control = str(tmp_path / "run" / "control.sock")
    return one


def send_udp(port, count=3):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for _ in range(count):
            s.sendto(b"x", ("127.0.0.1", port))


def lost(event):
    return sum(event["lost_by"].values()) if event.get("lost_by") else event.get("lost", 0)


def test_monitor_shows_drops_through_the_agent(agent, sonde):
    port = 20000 + os.getpid() % 20000
    words = ("monitor", "--type", "drop", "--json", "udp", "port", str(port))
    remote, local = sonde(*words, f"--agent={agent.sock}"), sonde(*words, "--local")
    send_udp(port)
    for one in remote, local:
        one.wait_for(lambda ev: ev["type"] == "net.drop", 3)
    there, here = ([ev for ev in one.finish() if ev["type"] == "net.drop"] for one in (remote, local))
    assert len(there) == len(here) == 3
    for a, b in zip(there, here):
        assert a.keys() == b.keys()
        same = {key for key in a if a[key] == b[key]}
        # When and where in the stream differs, and nothing else.
        assert set(a) - same <= {"ts_ns", "time", "seq", "instance"}, {key: (a[key], b[key]) for key in set(a) - same}
    assert agent.stop(signal.SIGTERM) == 0
    assert not os.path.exists(os.path.dirname(agent.sock))


def test_a_filter_is_evaluated_by_the_agent_and_the_books_close(agent, sonde):
    port = 20000 + os.getpid() % 20000
    one = sonde("monitor", "--type", "drop", "--json", f"--agent={agent.sock}",
                "--where", f"conn.dport={port}")
    send_udp(port + 1, 5)
    send_udp(port, 2)
    one.wait_for(lambda ev: ev["type"] == "net.drop", 2)
    ledgers = [ev for ev in one.finish() if ev["type"] == "sonde.ledger"]
    assert ledgers
    for ev in ledgers:
        assert ev["seen"] == ev["delivered"] + ev["filtered"] + ev["sampled"] + ev["lost"], ev


def test_a_second_agent_is_refused(agent):
    done = helpers.sh(helpers.BINARY, "agent", "--socket-dir", os.path.dirname(agent.sock), check=False)
    assert done.returncode == 1 and "runs already" in done.stderr


def test_restart_after_kill(agent, sonde):
    agent.child.kill()
    agent.child.wait()
    again = sonde("agent", "--socket-dir", os.path.dirname(agent.sock))
    assert os.path.exists(agent.sock)
    assert again.stop(signal.SIGTERM) == 0
