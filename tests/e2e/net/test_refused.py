# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections that listeners refuse, against nstat: each with its listener, client and cause."""
import collections
import json

import pytest

from helpers import wait_until

PORT = 8001
COUNTERS = ("TcpExtListenDrops", "TcpExtListenOverflows", "TcpExtTCPReqQFullDrop")

LISTEN = """
import os, socket, sys, time
group = []
for backlog in {backlogs}:
    s = socket.socket(socket.{family})
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind(("{address}", {port}))
    s.listen(backlog)
    group.append(s)
SO_COOKIE = 57
cookies = [int.from_bytes(s.getsockopt(socket.SOL_SOCKET, SO_COOKIE, 8), sys.byteorder) for s in group]
print(os.getpid(), *cookies, flush=True)
time.sleep(60)
"""
FILL = """
import socket, time
held = [socket.create_connection(("{address}", {port})) for _ in range({count})]
print("full", flush=True)
time.sleep(60)
"""
KNOCK = """
import socket
for _ in range({count}):
    with socket.socket(socket.{family}) as s:
        s.setblocking(False)
        s.connect_ex(("{address}", {port}))
"""
# One SYN after the other, without sockets: the rate is that of the raw socket.
FLOOD = """
import socket, struct, time
def checksum(data):
    total = sum(struct.unpack(f"!{{len(data) // 2}}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff
source, target = socket.inet_aton("{source}"), socket.inet_aton("{address}")
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
packets = []
for n in range({count}):
    head = struct.pack("!HHIIBBHHH", 1024 + n % 60000, {port}, n, 0, 5 << 4, 2, 65535, 0, 0)
    sum_ = checksum(source + target + struct.pack("!BBH", 0, 6, len(head)) + head)
    packets.append(head[:16] + struct.pack("!H", sum_) + head[18:])
begun = time.monotonic()
for packet in packets:
    raw.sendto(packet, ("{address}", 0))
print(len(packets) / (time.monotonic() - begun))
"""


def nstat(ns):
    return json.loads(ns.run("nstat", "-asjz", *COUNTERS).stdout)["kernel"]


class Listener:
    """Sockets of one process on one address, each with its own backlog."""

    def __init__(self, ns, address, backlogs=(4,), family="AF_INET"):
        self.child = ns.python_popen(LISTEN.format(address=address, port=PORT, backlogs=tuple(backlogs),
                                                   family=family))
        self.pid, *self.cookies = map(int, self.child.stdout.readline().split())


def fill(ns, address, count):
    child = ns.python_popen(FILL.format(address=address, port=PORT, count=count))
    assert child.stdout.readline().strip() == "full"


def drop_answers(ns):
    """Until the table t is deleted."""
    ns.run("nft", "add table ip t; add chain ip t in { type filter hook input priority 0; }; "
           f"add rule ip t in tcp sport {PORT} drop")


def end_of_traffic(ns):
    """Connections that go on send more to the listener, FINs of killed clients too: nothing reaches it now."""
    ns.run("nft", "add table ip e; add chain ip e in { type filter hook input priority -300; }; "
           f"add rule ip e in tcp dport {PORT} drop")


def is_refused(ev):
    return ev["type"] == "net.refused"


def refused(mon):
    return [ev for ev in mon.events if is_refused(ev)]


def compared(mon):
    """[(counted by the kernel, seen, the rest)], one for each namespace."""
    return [(ev["counted"], ev["seen"], ev["rest"]) for ev in mon.events if ev["type"] == "net.unexplained"]


@pytest.fixture
def watch(sonde):
    def start(*words):
        return sonde("monitor", "--json", "--where", "evt.type=refused", *words)
    return start


def finish(mon, ns, before):
    """Ends the run; what nstat counted meanwhile."""
    after = nstat(ns)
    assert mon.stop() in (0, 130), mon.stderr
    return {name: after[name] - before[name] for name in COUNTERS}


def test_full_accept_queue(link, watch):
    server = Listener(link.b, link.b_ip)
    fill(link.a, link.b_ip, 5)
    mon = watch("--netns", link.b.name)
    before = nstat(link.b)
    link.a.python(KNOCK.format(address=link.b_ip, port=PORT, count=24, family="AF_INET"))
    counted = finish(mon, link.b, before)
    events = refused(mon)
    assert len(events) == counted["TcpExtListenDrops"] == counted["TcpExtListenOverflows"] == 24
    for ev in events:
        assert (ev["cause"], ev["step"], ev["queue"], ev["limit"]) == ("accept-queue", "syn", 5, 4), ev
        assert (ev["cookie"], ev["proc"]["pid"]) == (server.cookies[0], server.pid), ev
        assert (ev["conn"]["dst"], ev["conn"]["dport"], ev["iface"]) == (link.b_ip, PORT, link.b_dev), ev
    assert compared(mon) == [(24, 24, 0)]


def small_syn_queue(link):
    """Without SYN cookies; no answer comes back from the client's addresses, so requests remain."""
    link.b.sysctl("net.ipv4.tcp_syncookies", 0)
    link.b.sysctl("net.ipv4.tcp_max_syn_backlog", 1024)
    Listener(link.b, link.b_ip, backlogs=(8,))
    drop_answers(link.a)


def full_accept_queue(link):
    Listener(link.b, link.b_ip)
    fill(link.a, link.b_ip, 5)


@pytest.mark.parametrize("full, counter, cause", ((full_accept_queue, "TcpExtListenOverflows", "accept-queue"),
                                                  (small_syn_queue, "TcpExtTCPReqQFullDrop", "syn-queue")))
def test_exact_in_a_flood(link, watch, full, counter, cause):
    full(link)
    mon = watch("--netns", link.b.name, "--ring-size", "16M")
    before = nstat(link.b)
    rate = float(link.a.python(FLOOD.format(source=link.a_ip, address=link.b_ip, port=PORT, count=40000)).stdout)
    counted = finish(mon, link.b, before)
    events, drops = refused(mon), counted["TcpExtListenDrops"]
    print(f"{rate:.0f} SYNs a second, {counted}")
    # a busy host loses some between the device and TCP
    assert drops == len(events) and 39000 <= drops <= 40000, mon.stderr
    assert counted[counter] == sum(ev["cause"] == cause for ev in events) >= 39000
    ports = collections.Counter(ev["conn"]["sport"] for ev in events)
    assert ports <= collections.Counter(1024 + n % 60000 for n in range(40000))
    assert compared(mon) == [(drops, drops, 0)]


def test_full_syn_queue(link, watch):
    small_syn_queue(link)
    mon = watch("--netns", link.b.name)
    before = nstat(link.b)
    link.a.python(KNOCK.format(address=link.b_ip, port=PORT, count=40, family="AF_INET"))
    counted = finish(mon, link.b, before)
    causes = collections.Counter(ev["cause"] for ev in refused(mon))
    assert sum(causes.values()) == counted["TcpExtListenDrops"] > 0
    assert causes["syn-queue"] == counted["TcpExtTCPReqQFullDrop"] > 0
    assert {ev["queue"] for ev in refused(mon) if ev["cause"] == "syn-queue"} <= {8, 9}     # kernels differ


def test_last_segment_of_a_handshake(link, watch):
    """Requests that were accepted while there was room, completed when there is none."""
    Listener(link.b, link.b_ip, backlogs=(4,))
    mon = watch("--netns", link.b.name)
    before = nstat(link.b)
    drop_answers(link.a)
    clients = link.a.python_popen(
        "import socket, time\n"
        "held = [socket.socket() for _ in range(3)]\n"
        "for s in held:\n"
        "    s.setblocking(False)\n"
        f"    s.connect_ex(('{link.b_ip}', {PORT}))\n"
        "print('sent', flush=True)\ntime.sleep(60)\n")
    assert clients.stdout.readline().strip() == "sent"
    fill(link.b, link.b_ip, 5)
    link.a.run("nft", "delete table ip t")       # the next SYN-ACK is answered
    wait_until(lambda: any(ev["step"] == "ack" for ev in refused(mon)), 10)
    clients.kill()
    end_of_traffic(link.b)
    counted = finish(mon, link.b, before)
    assert len(refused(mon)) == counted["TcpExtListenDrops"]
    assert [rest for _, _, rest in compared(mon)] == [0]


def test_member_of_a_group(link, watch):
    """Of three listeners on one address those with a full queue are named."""
    server = Listener(link.b, link.b_ip, backlogs=(0, 0, 4000))
    link.a.python_popen(FILL.format(address=link.b_ip, port=PORT, count=60))
    wait_until(lambda: nstat(link.b)["TcpExtListenDrops"] > 0, 10)
    mon = watch("--netns", link.b.name)
    before = nstat(link.b)
    link.a.python(KNOCK.format(address=link.b_ip, port=PORT, count=90, family="AF_INET"))
    counted = finish(mon, link.b, before)["TcpExtListenDrops"]
    events = refused(mon)
    assert len(events) == counted > 0
    assert {ev.get("cookie") for ev in events} <= set(server.cookies[:2]), events[0]
    assert {ev["proc"]["pid"] for ev in events} == {server.pid}


def test_ipv6_and_filters(link, watch):
    server = Listener(link.b, "::", family="AF_INET6")
    fill(link.a, link.b_ip6, 5)
    mon = watch("--netns", link.b.name, f"tcp port {PORT} and ip6")
    before = nstat(link.b)
    for address, family in ((link.b_ip6, "AF_INET6"), (link.b_ip, "AF_INET")):
        link.a.python(KNOCK.format(address=address, port=PORT, count=10, family=family))
    counted = finish(mon, link.b, before)["TcpExtListenDrops"]
    events = refused(mon)
    assert (counted, len(events)) == (20, 10)
    assert {(ev["cookie"], ev["conn"]["dst"]) for ev in events} == {(server.cookies[0], link.b_ip6)}
    assert compared(mon) == [(20, 20, 0)]     # the packet filter left out ten


def test_counters(link, sonde):
    Listener(link.b, link.b_ip)
    fill(link.a, link.b_ip, 5)
    mon = sonde("counters", "--json", "--netns", link.b.name)
    link.a.python(KNOCK.format(address=link.b_ip, port=PORT, count=12, family="AF_INET"))
    assert mon.stop() in (0, 130), mon.stderr
    rows = [ev for ev in mon.events if ev["type"] == "net.count" and ev["kind"] == "refused"]
    assert [(row["reason"], row["packets"]) for row in rows] == [("accept-queue", 12)], mon.events


def test_namespace_made_later(link, watch, netns):
    """Its counters begin with zero; its first refused connection is shown."""
    mon = watch()
    later = netns()
    later.run("ip", "link", "set", "lo", "up")
    server = Listener(later, "127.0.0.1", backlogs=(0,))
    fill(later, "127.0.0.1", 1)
    later.python(KNOCK.format(address="127.0.0.1", port=PORT, count=3, family="AF_INET"))
    counted = finish(mon, later, dict.fromkeys(COUNTERS, 0))["TcpExtListenDrops"]
    assert counted == len([ev for ev in refused(mon) if ev.get("cookie") == server.cookies[0]]) == 3
