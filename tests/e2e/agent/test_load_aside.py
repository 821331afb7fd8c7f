# SPDX-License-Identifier: GPL-2.0-or-later
"""Loading and attaching beside the reader's loop: it runs on, and a signal ends everything at once."""
import os
import re
import select
import signal
import socket
import struct
import time

import helpers
import pytest
from agent_client import END, ERROR, READY, STOP, SUBSCRIBE, Client, words

PAIRS = 25
AFTER_TEST = ("nice", "-n", "19")	# what attaches has not ended before the test has looked


@pytest.fixture
def crowd(netns):
    """A namespace with many interfaces."""
    ns = netns()
    add_pairs(ns, PAIRS)
    return ns


def add_pairs(ns, count):
    text = "".join(f"link add c{i} type veth peer name d{i}\nlink set c{i} up\nlink set d{i} up\n"
                   for i in range(count))
    ns.run("ip", "-batch", "-", input=text)


@pytest.fixture
def agent(sonde, tmp_path):
    one = sonde("agent", "--socket-dir", str(tmp_path / "run"), before=AFTER_TEST)
    one.sock = str(tmp_path / "run" / "read.sock")
    return one


def connect(agent):
    client = Client(agent.sock)
    client.hello()
    return client


def ask(client, *texts):
    client.send(SUBSCRIBE, words(*texts))


def is_silent(client):
    return not client.buf and not select.select([client.sock], [], [], 0)[0]


def load_error(client):
    kind, payload = client.recv()
    assert kind == ERROR, (kind, payload)
    return struct.unpack_from("<II", payload)[1], payload[8:].rstrip(b"\0").decode()


def send_udp(port, count):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for _ in range(count):
            s.sendto(b"x", ("127.0.0.1", port))


def test_streams_flow_while_another_client_waits_for_its_probes(agent, sonde, crowd):
    port = 20000 + os.getpid() % 20000
    stream = sonde("monitor", "--where", "evt.type=drop", "--json", f"--agent={agent.sock}", "udp", "port", str(port))
    slow = connect(agent)
    ask(slow, "probe=net", f"netns={crowd.path}")
    send_udp(port, 3)
    stream.wait_for(lambda ev: ev["type"] == "net.drop", 3)
    code, status = connect(agent).call("status")
    assert is_silent(slow), "it was ready before the others had their turn: nothing was shown"
    assert code == 0 and re.search(r"^loop: held for [\d.]+ ms at most \([\d.]+ ms of CPU time\): \w", status, re.M)
    assert slow.recv()[0] == READY
    slow.send(STOP)
    _, _, ledgers = slow.books()
    assert ledgers
    stream.finish()


def test_a_client_that_goes_while_its_probes_load_leaves_nothing(agent, crowd):
    client = connect(agent)
    ask(client, "probe=net", f"netns={crowd.path}")
    client.close()
    again = connect(agent)
    assert again.subscribe("probe=net", "option=--interface=lo") == [1]
    again.send(STOP)
    assert again.books()[2]
    code, status = again.call("status")
    assert code == 0 and "instance 1" not in status and "clients: 1 " in status


def test_a_long_packet_filter_is_refused_and_holds_nobody(agent):
    hosts = " or ".join(f"host 10.1.{i}.{i * 7 & 255}" for i in range(250))
    client = connect(agent)
    ask(client, "probe=net", f"option=--words={hosts}")
    assert connect(agent).call("status")[0] == 0 and is_silent(client), "the loop was held while it was compiled"
    code, sentence = load_error(client)
    assert code == 110 and "too long to compile" in sentence
    assert client.call("verbs")[0] == 0	# the connection stays


def test_the_agent_looks_up_no_names(agent, sonde):
    port = 20000 + os.getpid() % 20000
    client = connect(agent)
    for text in "host sonde.invalid", "host localhost", "udp port domain":
        ask(client, "probe=net", f"option=--words={text}")
        code, sentence = load_error(client)
        assert code == 22 and "looks up no names" in sentence and "\n" not in sentence
    one = sonde("monitor", "--where", "evt.type=drop", "--json", f"--agent={agent.sock}",
                f"host localhost and (udp port domain or udp port {port})")
    send_udp(port, 2)
    one.wait_for(lambda ev: ev["type"] == "net.drop", 2)
    one.finish()
    done = sonde.run("monitor", "--agent=no", "host", "sonde.invalid")
    assert done.returncode == 2 and "unknown host 'sonde.invalid'" in done.stderr and "^^^" in done.stderr


def test_a_fifo_is_no_network_namespace(agent, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    client = connect(agent)
    ask(client, "probe=net", f"netns={fifo}")
    code, sentence = load_error(client)
    assert code == 22 and "network namespace not found" in sentence


def test_sigterm_gives_up_a_load(agent, crowd):
    client, before = connect(agent), objects_of(agent.pid)
    ask(client, "probe=net", f"netns={crowd.path}")
    wait_for_objects(agent.pid, before)
    assert agent.stop(signal.SIGTERM) == 0
    frames = []
    while (one := client.recv()):
        frames.append(one[0])
    assert READY not in frames and END not in frames


def objects_of(pid, kind=""):
    """Maps, programs and links that a process holds, or those of one kind."""
    count = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            count += os.readlink(f"/proc/{pid}/fd/{fd}").startswith(f"anon_inode:bpf{kind}")
        except OSError:
            pass
    return count


def wait_for_objects(pid, before=0, kind=""):
    """Until it has begun to load programs, which takes longer than attaching. @before: objects that it had."""
    end = time.monotonic() + helpers.TIMEOUT_S
    while objects_of(pid, kind) < before + 5:
        assert time.monotonic() < end, "it loads nothing"
        time.sleep(0.01)


def test_sigint_ends_a_command_that_attaches(sonde, crowd):
    one = sonde("monitor", "--agent=no", "--json", "--netns", crowd.path, wait=False, before=AFTER_TEST)
    wait_for_objects(one.pid)
    assert one.stop() == 130
    assert "ready" not in one.stderr
    assert [ev["type"] for ev in one.events if ev["type"] == "sonde.ledger"]


def test_sigint_ends_a_command_whose_agent_attaches(agent, sonde, crowd):
    before = objects_of(agent.pid)
    one = sonde("monitor", f"--agent={agent.sock}", "--json", "--netns", crowd.path, wait=False)
    wait_for_objects(agent.pid, before)
    assert one.stop() == 130
    assert "ready" not in one.stderr and "sonde:" not in one.stderr
    assert connect(agent).subscribe("probe=net", "option=--interface=lo") == [1]


def test_records_are_read_while_it_attaches(sonde, crowd):
    """Births and deaths of 600 processes overrun a life-cycle ring of 64 KiB that nobody reads."""
    one = sonde("monitor", "--agent=no", "--json", "--ring-size", "128k", "--netns", crowd.path, wait=False)
    wait_for_objects(one.pid, 5, "_link")
    helpers.sh("sh", "-c", "i=0; while [ $i -lt 600 ]; do (:); i=$((i+1)); done")
    one.wait_ready()
    ledger = {ev["probe"]: ev for ev in one.finish() if ev["type"] == "sonde.ledger"}["proc"]
    assert ledger["seen"] > 1200 and ledger["lost"] == 0, ledger


def test_interfaces_that_come_and_go_lose_no_life_cycle_record(sonde, netns):
    ns = netns()
    one = sonde("monitor", "--agent=no", "--json", "--ring-size", "128k", "--netns", ns.path)
    add_pairs(ns, 15)
    helpers.sh("sh", "-c", "i=0; while [ $i -lt 600 ]; do (:); i=$((i+1)); done")
    ns.run("ip", "-batch", "-", input="".join(f"link del c{i}\n" for i in range(15)))
    ledger = {ev["probe"]: ev for ev in one.finish() if ev["type"] == "sonde.ledger"}["proc"]
    assert ledger["seen"] > 1200 and ledger["lost"] == 0, ledger
