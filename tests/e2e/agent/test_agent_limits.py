# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits of the read socket: one sentence that names the row of agent.conf, and control is never locked out."""
import errno
import select
import struct

import pytest
from agent_client import END, ERROR, READY, STOP, SUBSCRIBE, Client, words

LIMITS = ("--max-clients", "12", "--max-connections", "9", "--max-subscriptions", "4", "--max-instances", "3",
          "--max-frequency", "200", "--max-memory", "100M", "--max-snaplen", "1k", "--max-expression", "500",
          "--min-interval", "100ms", "--idle-time", "1s")


@pytest.fixture
def agent(sonde, tmp_path):
    one = sonde("agent", "--socket-dir", str(tmp_path / "run"), *LIMITS)
    one.sock, one.control = str(tmp_path / "run" / "read.sock"), str(tmp_path / "run" / "control.sock")
    return one


def connect(path):
    client = Client(path)
    client.hello()
    return client


def ask(client, *texts):
    """0, or what the load_error says."""
    client.send(SUBSCRIBE, words(*texts))
    kind, payload = client.recv()
    if kind == READY:
        return 0
    assert kind == ERROR and struct.unpack_from("<I", payload, 4)[0] == errno.EDQUOT, payload
    text = payload[8:].rstrip(b"\0").decode()
    assert "agent.conf" in text and "\n" not in text, text
    return text


def stop(client):
    client.send(STOP)
    while client.recv()[0] != END:
        pass


def test_every_limit_names_its_row(agent):
    client = connect(agent.sock)
    for row, *texts in (
            ("max-frequency", "probe=cpu", "option=--frequency=100000"),
            ("max-frequency", "probe=cpu", "option=--period=100000"),
            ("max-memory", "probe=net", "option=--keep=5s", "option=--keep-memory=2G"),
            ("max-memory", "probe=cpu", "option=--unwind-memory=1G"),
            ("max-memory", "probe=net", "option=--flows", "option=--flow-max=4000000000"),
            ("max-memory", "probe=net", "option=--count", "option=--count-max=100000000"),
            ("max-snaplen", "probe=sys", "option=--snaplen=16k"),
            ("max-snaplen", "probe=net", "option=--snaplen=trace=0"),
            ("max-snaplen", "probe=net", "option=--whole-packets"),
            ("min-interval", "probe=net", "option=--count", "option=--count-interval=1ns"),
            ("min-interval", "probe=net", "option=--flows", "option=--flow-report=1ns"),
            ("min-interval", "probe=net", "option=--rate=10", "option=--interval=1ns"),
            ("min-interval", "probe=sys", "option=--summary", "option=--summary-interval=1ns"),
            ("max-expression", "probe=net", "where=" + " or ".join(["conn.dport=1"] * 50))):
        text = ask(client, *texts)
        assert text and row in text, (row, text)
    assert ask(client, "probe=sys", "option=--syscall=getppid", "option=--snaplen=1k") == 0
    stop(client)
    control = connect(agent.control)        # who may change the limits has none
    assert ask(control, "probe=sys", "option=--syscall=getppid", "option=--snaplen=2k") == 0


def test_what_a_user_has_is_added_up(agent):
    clients = [connect(agent.sock) for _ in range(8)]
    assert ask(clients[0], "probe=cpu", "option=--frequency=150", "option=--kernel-stacks-only",
               "option=--unwind-memory=1M") == 0
    assert "max-frequency" in ask(clients[1], "probe=cpu", "option=--frequency=51", "option=--unwind-memory=1M")
    same = "probe=sys", "option=--syscall=getppid"
    assert ask(clients[1], *same) == ask(clients[2], *same) == 0        # they share one
    assert ask(clients[3], "probe=sys", "option=--syscall=getpid") == 0
    assert "max-subscriptions" in ask(clients[4], *same)
    stop(clients[2])
    assert "max-instances" in ask(clients[4], "probe=sys", "option=--syscall=gettid")
    stop(clients[0])
    assert ask(clients[4], "probe=sys", "option=--syscall=gettid") == 0     # what ended makes room


def refused(path):
    client = Client(path)
    kind, payload = client.recv()
    assert kind == ERROR
    return payload[8:].rstrip(b"\0").decode()


def test_control_is_never_locked_out(agent):
    """All places for readers are taken, by idle connections of one user and another: root still gets in and is
    served, and places come free."""
    idle = [connect(agent.sock) for _ in range(9)]
    assert "max-connections" in refused(agent.sock)
    for _ in range(4):
        assert connect(agent.control).call("status")[0] == 0
    control = connect(agent.control)
    assert ask(control, "probe=sys", "option=--syscall=getppid") == 0
    cut, _, _ = select.select([client.sock for client in idle], [], [], 20)     # silent for the idle time
    kind, payload = next(client for client in idle if client.sock in cut).recv()
    assert kind == ERROR and b"idle-time" in payload, payload
    assert connect(agent.sock).call("status")[0] == 0


def test_the_last_instance_is_left_for_control(sonde, tmp_path):
    run = tmp_path / "run"
    sonde("agent", "--socket-dir", str(run), "--max-instances", "31")
    clients, text = [], 0
    while not text:
        clients.append(connect(str(run / "read.sock")))
        text = ask(clients[-1], "probe=sys", "option=--syscall=getppid", f"option=--snaplen={len(clients)}")
        assert len(clients) <= 31
    assert len(clients) == 31 and "30 instances" in text, text
    control = connect(str(run / "control.sock"))
    assert ask(control, "probe=sys", "option=--syscall=getppid", "option=--snaplen=1000") == 0
