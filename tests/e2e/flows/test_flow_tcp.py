# SPDX-License-Identifier: GPL-2.0-or-later
"""What sonde flows says of TCP against the kernel's own books: TCP_INFO of both ends, the namespace's counters, the
rule that dropped the packets."""
import collections
import json
import time

import helpers

INFO = """
import json, socket, struct, sys, time
def info(s):
    raw = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    words = struct.unpack_from("24I", raw, 8)
    return {"state": raw[0], "rtt_us": words[15], "retransmitted": words[23]}
def tell(**what):
    print(json.dumps(what), flush=True)
"""
SERVER = INFO + """
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
s.bind(("%s", 7000))
s.listen()
tell(up=True)
c, _ = s.accept()
sys.stdin.readline()        # the window closes meanwhile
n = 0
while True:
    data = c.recv(65536)
    if not data:
        break
    n += len(data)
tell(bytes=n, **info(c))
sys.stdin.readline()
"""
CLIENT = INFO + """
c = socket.create_connection(("%s", 7000), timeout=10)
tell(**info(c))
c.sendall(b"x" * %d)
c.shutdown(socket.SHUT_WR)
sys.stdin.readline()        # the other end has all of it
for _ in range(500):
    if info(c)["state"] == 5:    # and its last acknowledgement is here: nothing is sent again from now on
        break
    time.sleep(0.02)
tell(**info(c))
sys.stdin.readline()
"""
BRIDGE = """
import select, socket, time
ends = []
for device in ("%s", "%s"):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.bind((device, 3))
    ends.append(s)
print("up", flush=True)
while True:
    for s in select.select(ends, [], [])[0]:
        frame, (_, _, kind, _, _) = s.recvfrom(65536)
        if kind != 4:    # what it sent itself
            time.sleep(%f)
            ends[s is ends[0]].send(frame)
"""
CLOSE_WAIT, FIN_WAIT2, ESTABLISHED = 8, 5, 1
SIZE = 400000


def told(child):
    return json.loads(child.stdout.readline())


def say(child):
    child.stdin.write("go\n")
    child.stdin.flush()


def start(ns, code):
    return ns.popen("/usr/bin/python3", "-c", code, stdin=-1)


def counter(ns, name):
    """Of /proc/net/snmp and netstat, "Tcp:RetransSegs"."""
    group, word = name.split(":")
    for path in ("/proc/net/snmp", "/proc/net/netstat"):
        lines = [line.split() for line in ns.run("cat", path).stdout.splitlines()]
        for head, values in zip(lines[::2], lines[1::2]):
            if head[0] == f"{group}:" and word in head:
                return int(values[head.index(word)])
    raise KeyError(name)


def last(one, iface):
    """The last report of each direction, by is_reply."""
    return {ev["is_reply"]: ev for ev in one.events if ev["type"] == "net.flow" and ev["iface"] == iface}


def test_retransmissions_windows_and_states_are_the_kernels(sonde, link):
    """The receiver's netfilter drops every ninth packet; it begins to read when its window has closed."""
    for ns, dev in ((link.a, link.a_dev), (link.b, link.b_dev)):    # one segment, one packet
        ns.run("ethtool", "-K", dev, "tso", "off", "gso", "off", "gro", "off")
    link.b.nft("""
table ip t {
  chain c { type filter hook input priority 0; tcp dport 7000 numgen inc mod 9 == 8 counter drop; }
}
""")
    server = start(link.b, SERVER % link.b_ip)
    assert told(server)["up"]
    one = sonde("flows", "--json", "--netns", link.a.name, "--netns", link.b.name, "tcp")
    client = start(link.a, CLIENT % (link.b_ip, SIZE))
    assert told(client)["state"] == ESTABLISHED
    deadline = time.monotonic() + helpers.TIMEOUT_S
    while not counter(link.b, "TcpExt:TCPToZeroWindowAdv"):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    say(server)
    receiver = told(server)
    say(client)
    sender = told(client)
    assert (receiver["bytes"], receiver["state"], sender["state"]) == (SIZE, CLOSE_WAIT, FIN_WAIT2)
    one.stop()

    at_a, at_b = last(one, link.a_dev), last(one, link.b_dev)
    assert sender["retransmitted"] == counter(link.a, "Tcp:RetransSegs") > 0
    assert receiver["retransmitted"] == counter(link.b, "Tcp:RetransSegs")
    for flow in (at_a, at_b):
        assert flow[False]["retransmitted"] == sender["retransmitted"]
        assert flow[True].get("retransmitted", 0) == receiver["retransmitted"]
        assert flow[True]["zero_windows"] >= counter(link.b, "TcpExt:TCPToZeroWindowAdv")
        assert "zero_windows" not in flow[False]
        assert flow[False]["state"] == "fin-wait"
    rule = next(entry["rule"] for entry in json.loads(link.b.run("nft", "-j", "list", "ruleset").stdout)["nftables"]
                if "rule" in entry)
    thrown = next(step["counter"]["packets"] for step in rule["expr"] if "counter" in step)
    reasons = collections.Counter(ev["reason"] for ev in one.events
                                  if ev["type"] == "net.drop" and ev["conn"]["dport"] == 7000)
    assert reasons["NETFILTER_DROP"] == thrown > 0, one.stderr
    assert at_b[False]["dropped"] == sum(reasons.values()), "some bytes came twice, or to a closed window"
    assert "dropped" not in at_a[False], "it happened in the other namespace"


def test_the_handshake_time_is_that_of_the_socket(sonde, netns):
    """Frames between the ends take 20 ms each."""
    a, middle, b = netns(), netns(), netns()
    for ns, dev, ip in ((a, "near", "10.77.0.1"), (b, "far", "10.77.0.2")):
        ns.run("ip", "link", "add", "eth0", "type", "veth", "peer", dev, "netns", middle.name)
        ns.run("ip", "addr", "add", f"{ip}/24", "dev", "eth0")
        ns.run("ip", "link", "set", "eth0", "addrgenmode", "none", "up")
        ns.run("ethtool", "-K", "eth0", "tx", "off")    # a copied frame needs its checksum
        middle.run("ip", "link", "set", dev, "addrgenmode", "none", "up")
    bridge = middle.python_popen(BRIDGE % ("near", "far", 0.02))
    assert bridge.stdout.readline() == "up\n"
    assert a.run("ping", "-q", "-c", "1", "-W", "5", "10.77.0.2").returncode == 0
    server = start(b, SERVER % "10.77.0.2")
    assert told(server)["up"]
    one = sonde("flows", "--json", "--netns", a.name, "--interface", "eth0", "tcp")
    client = start(a, CLIENT % ("10.77.0.2", 1))
    handshake = told(client)["rtt_us"] * 1000
    say(server)
    assert told(server)["bytes"] == 1
    one.stop()
    rtt = last(one, "eth0")[False]["rtt"]
    assert handshake >= 40e6 and abs(rtt - handshake) < handshake / 5, (rtt, handshake)


ECHO = """
import socket
s = socket.socket()
s.bind(("%s", 7000))
s.listen()
print("up", flush=True)
c, _ = s.accept()
while True:
    c.sendall(c.recv(10))
"""
TRIPS = INFO + """
c = socket.create_connection(("%s", 7000), timeout=10)
tell(rtts=[info(c)["rtt_us"]])
for _ in range(2):
    rtts = []
    for _ in range(20):
        c.sendall(b"x")
        c.recv(10)
        rtts.append(info(c)["rtt_us"])
        time.sleep(0.005)
    tell(rtts=rtts)
    sys.stdin.readline()
"""


def test_the_running_round_trip_is_that_of_the_socket(sonde, link):
    """Nothing is on its way when the sender looks, so each packet left with one of the times that it saw."""
    server = link.b.python_popen(ECHO % link.b_ip)
    assert server.stdout.readline() == "up\n"
    one = sonde("flows", "--json", "--netns", link.a.name, "--interface", link.a_dev, "--interval", "50ms", "tcp")
    client = start(link.a, TRIPS % link.b_ip)
    early = told(client)["rtts"] + told(client)["rtts"]
    one.wait_for(lambda ev: ev["type"] == "net.flow" and ev["event"] == "active" and not ev["is_reply"])
    say(client)
    late = told(client)["rtts"]
    one.stop()
    seen = [ev["srtt"] // 1000 for ev in one.events if ev["type"] == "net.flow" and not ev["is_reply"] and
            "srtt" in ev]
    assert set(seen) <= set(early + late) and seen[-1] in late, (seen, early, late)
