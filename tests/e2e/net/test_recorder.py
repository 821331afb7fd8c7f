# SPDX-License-Identifier: GPL-2.0-or-later
"""The dump of an armed flight recorder: the packets of the time before the drop that set it off, all of them, in
order; and nothing is lost outside while it is made. SONDE_WINDOW is that time in seconds.

Each datagram has a number as its port, so that it can be told in any record, and comes back. The sender notes on the
recorder's clock when it sent and when it had the answer: what was sent after the window's beginning must be in the
dump, what was answered before it must not.
"""
import json
import os

from test_owners import FORKING_TWICE, SAME_PORT, ends_of

WINDOW_S = float(os.environ.get("SONDE_WINDOW", "1"))
PACE_S = 0.004
FIRST = 20000       # port of number 0
SMALL_SLOTS = 16    # of a ring
BURST = 4 * SMALL_SLOTS
SECOND = 10**9

SERVER = """
import os, socket, sys
os.sched_setaffinity(0, {cpu})
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("{ip}", 7000))
print("up", flush=True)
while True:
    data, whose = s.recvfrom(2000)
    s.sendto(data, whose)
"""
# A third of the paced traffic is older than the window. A burst right before the drop is more than small rings hold.
CLIENT = """
import json, os, socket, time
os.sched_setaffinity(0, {cpu})
now = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME)
asked = []
def ask(n):
    out = []
    for number in range(len(asked), len(asked) + n):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.settimeout(20)
        s.bind(("{mine}", {first} + number))
        out.append((now(), s))
        s.sendto(b"x", ("{ip}", 7000))
    for sent, s in out:
        s.recv(10)
        asked.append((sent, now()))
begin = now()
while now() - begin < {window_ns} * 1.5:
    ask(1)
    time.sleep({pace})
ask({burst})
before = len(asked)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.sendto(b"x", ("{ip}", 7009))
ask(4)
print(json.dumps([before, asked]))
"""


def recorder(sonde, link, *words):
    """One dump, half a second after the drop."""
    return sonde("capture", "--agent=no", "--netns", link.b.name, "-i", link.b_dev, "--keep", f"{WINDOW_S}s",
                 "--after",
                 "500ms", "--dumps", "1", "--on", "drop.reason=NO_SOCKET and net.dport=7009", "-j", *words,
                 "udp", "port", "7000", "or", "7009", wait=False)


def possible_cpus():
    with open("/sys/devices/system/cpu/possible", encoding="ascii") as f:
        return int(f.read().replace("-", ",").split(",")[-1]) + 1


def traffic(link):
    """How many numbers were answered before the drop; and (sent, answered) of each, on the recorder's clock."""
    cpu = {min(os.sched_getaffinity(0))}
    server = link.b.python_popen(SERVER.format(ip=link.b_ip, cpu=cpu))
    assert server.stdout.readline() == "up\n"
    out = link.a.python(CLIENT.format(ip=link.b_ip, mine=link.a_ip, cpu=cpu, first=FIRST, pace=PACE_S,
                                      burst=BURST, window_ns=int(WINDOW_S * SECOND)), timeout=30 + 3 * WINDOW_S)
    return json.loads(out.stdout)


def numbers(events, way):
    """Of the packets of that direction, as they come."""
    key, other = ("sport", "dport") if way == "in" else ("dport", "sport")
    return [ev["conn"][key] - FIRST for ev in events if ev["type"] == "net.trace" and ev["dir"] == way and
            ev["conn"][other] == 7000]


def check_dump(events, before, asked):
    """It holds whatever passed from the moment on from which it says that it is whole, and nothing older than the
    window. How many packets of the window it does not have."""
    dump, = (ev for ev in events if ev["type"] == "net.dump")
    trigger, = (ev for ev in events if ev["type"] == "net.drop" and ev.get("trigger"))
    assert dump["before"] == int(WINDOW_S * SECOND)
    begin = trigger["ts_ns"] - dump["before"]
    held = begin + dump["missing"]
    times = [ev["ts_ns"] for ev in events if ev["type"] in ("net.trace", "net.drop")]
    assert times == sorted(times)
    missing = 0
    for way in ("in", "out"):
        got = numbers(events, way)
        assert got == list(range(got[0], got[-1] + 1)) and got[-1] >= before - 1    # in order, without a gap
        assert all(sent < held for sent, _ in asked[:got[0]]), (way, got[0], dump)
        assert all(answered >= begin for _, answered in asked[got[0]:]), (way, got[0], dump)
        missing += sum(sent >= begin for sent, _ in asked[:got[0]])
    assert asked[0][1] < begin < asked[before - SMALL_SLOTS][0]     # some are older; many younger
    return missing


def lost(events):
    return [ev["lost"] for ev in events if ev["type"] == "sonde.ledger" and ev["probe"] == "net"]


def test_dump_has_all_of_the_window(sonde, link):
    beside = sonde("monitor", "--agent=no", "--netns", link.b.name, "-i", link.b_dev, "-j", "udp", "port", "7000",
                   "or",
                   "7009", wait=False)
    large = recorder(sonde, link)
    small = recorder(sonde, link, "--memory", str(possible_cpus() * 2 * SMALL_SLOTS * 256))
    for run in (beside, large, small):
        run.wait_ready()
    before, asked = traffic(link)
    runs = {}
    for name, run in (("large", large), ("small", small)):
        run.wait_for(lambda ev: ev["type"] == "sonde.ledger" and ev["probe"] == "net")
        runs[name] = run.events
    everything = beside.finish()
    assert lost(everything) == lost(runs["large"]) == lost(runs["small"]) == [0]
    assert numbers(everything, "in") == numbers(everything, "out") == list(range(len(asked)))

    assert check_dump(runs["large"], before, asked) == 0
    # what a ring had no room for is missing, and the dump says so
    assert check_dump(runs["small"], before, asked) > 0
    assert "were overwritten before the trigger" in small.stderr and "overwritten" not in large.stderr


def test_a_port_that_came_again_has_both_processes(sonde, link):
    """Two connections with the same four numbers in one dump: each packet has the process of its own."""
    server = link.b.python_popen(FORKING_TWICE)
    server.stdout.readline()
    run = sonde("capture", "--agent=no", "--netns", link.b.name, "-i", link.b_dev, "--keep", "60s", "--after", "1ms",
                "--dumps", "1", "--on", "drop.reason=NO_SOCKET and net.dport=7009", "-j", "port 5208 or port 7009")
    link.a.python(SAME_PORT.format(ip=link.b_ip, times=2))
    children = [int(server.stdout.readline()) for _ in range(2)]
    link.a.python("import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                  f"s.sendto(b'x', ('{link.b_ip}', 7009))\n")
    run.wait_for(lambda ev: ev["type"] == "sonde.ledger" and ev["probe"] == "net")
    owners = []
    for ev in run.events:
        if ev["type"] == "net.trace" and 5208 in (ev["conn"]["sport"], ev["conn"]["dport"]):
            if ev["flags"] == ["SYN"]:
                owners.append(set())
            owners[-1].add(ends_of(ev)[ev["dir"] == "in"][0])
    assert owners == [{pid} for pid in children]


def test_a_drop_in_a_handshake_is_not_of_the_connection_before(sonde, link):
    """On loopback, with the four numbers of a closed connection: its process has no part in it."""
    ns = link.b
    server = ns.python_popen(FORKING_TWICE)
    master = int(server.stdout.readline())
    run = sonde("capture", "--agent=no", "--netns", ns.name, "-i", "lo", "--keep", "60s", "--after", "1ms", "--dumps",
                "1", "--on", "drop.reason=NO_SOCKET and net.dport=7009", "-j", "port 5208 or port 7009")
    ns.python(SAME_PORT.format(ip="127.0.0.1", times=1))
    first = int(server.stdout.readline())
    ns.nft("table ip t { chain c { type filter hook input priority 0; "
           "tcp dport 5208 tcp flags & (fin | syn | rst | psh | ack) == ack drop; }; }")
    ns.python(SAME_PORT.format(ip="127.0.0.1", times=1))     # its data, with which the handshake ends, passes
    second = int(server.stdout.readline())
    ns.python("import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 7009))\n")
    run.wait_for(lambda ev: ev["type"] == "sonde.ledger" and ev["probe"] == "net")
    drop, *_ = (ev for ev in run.events if ev["type"] == "net.drop" and ev["conn"]["dport"] == 5208)
    assert drop["flags"] == ["ACK"] and ends_of(drop)[1][0] in (master, None), (first, second, drop)
