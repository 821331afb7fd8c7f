# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets that this host sends to groups it has joined, and broadcasts: the frames that tcpdump shows, and no others.

IP hands a copy of each to this host's own sockets; it passes the ingress hook of the interface without an Ethernet
header.
"""
import pathlib
import shutil
import time

import pytest

from helpers import TIMEOUT_S, sh

pytestmark = pytest.mark.skipif(not shutil.which("tcpdump") or not shutil.which("tshark"),
                                reason="needs tcpdump and tshark")

FIRST, LAST = 4201, 4202    # ports of the datagrams around the traffic
LAST_BYTES = b"mark of the end"

# Groups like those of mDNS and OSPF; to join them makes IGMP and MLD reports.
TRAFFIC = """
import socket, struct, sys
dev, ip, peer = sys.argv[1:4]
number = socket.if_nametoindex(dev)
here = struct.pack("4s4si", bytes(4), socket.inet_aton(ip), number)

def join(s, group):
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                 struct.pack("4s4si", socket.inet_aton(group), socket.inet_aton(ip), number))
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, here)
    s.settimeout(5)

mark = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
mark.sendto(b"first", (peer, 4201))
four = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
four.bind(("", 5353))
join(four, "224.0.0.251")
four.sendto(b"group of IPv4", ("224.0.0.251", 5353))
assert four.recv(100) == b"group of IPv4"
four.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
four.sendto(b"broadcast", (ip.rsplit(".", 1)[0] + ".255", 5353))
assert four.recv(100) == b"broadcast"
ospf = socket.socket(socket.AF_INET, socket.SOCK_RAW, 89)
join(ospf, "224.0.0.5")
ospf.sendto(b"raw protocol of a group", ("224.0.0.5", 0))
assert ospf.recv(100).endswith(b"group")
if dev != "lo":
    six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    six.bind(("::", 5454))
    six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
                   socket.inet_pton(socket.AF_INET6, "ff02::fb") + struct.pack("i", number))
    six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, number)
    six.settimeout(5)
    six.sendto(b"group of IPv6", ("ff02::fb", 5454))
    assert six.recv(100) == b"group of IPv6"
mark.sendto(b"mark of the end", (peer, 4202))
"""


def frames(path, iface=None):
    """What is between the marks, a line each."""
    words = ["-Y", f'frame.interface_name == "{iface}"'] if iface else []
    names = ("udp.dstport", "frame.len", "eth.src", "eth.dst", "frame.protocols", "ip.src", "ip.dst", "ipv6.dst")
    fields = [word for name in names for word in ("-e", name)]
    lines = sh("tshark", "-n", "-r", path, *words, "-T", "fields", *fields, timeout=30).stdout.splitlines()
    ports = [line.split("\t")[0] for line in lines]
    return lines[ports.index(str(FIRST)):ports.index(str(LAST)) + 1]


def tcpdump(ns, dev, path):
    child = ns.popen("tcpdump", "-Z", "root", "--immediate-mode", "-nUi", dev, "-w", path)
    assert "listening on" in child.stderr.readline()
    return child


def generate(ns, dev, ip, peer):
    ns.run("/usr/bin/python3", "-c", TRAFFIC, dev, ip, peer)
    if peer != ip:
        ns.run("ping", "-q", "-c", "1", "-W", "0.1", "-b", ip.rsplit(".", 1)[0] + ".255", check=False)


def end(child, path):
    """Once the last mark is in the file."""
    deadline = time.monotonic() + TIMEOUT_S
    while LAST_BYTES not in pathlib.Path(path).read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    child.terminate()
    child.wait(TIMEOUT_S)


def test_frames_are_those_of_tcpdump(sonde, link, tmp_path):
    link.a.run("ip", "addr", "replace", f"{link.a_ip}/24", "brd", "+", "dev", link.a_dev)
    link.a.run("ip", "addr", "add", "fe80::1/64", "dev", link.a_dev, "nodad")
    theirs, ours = str(tmp_path / "theirs.pcap"), str(tmp_path / "ours.pcapng")
    running = sonde("monitor", "--where", "evt.type=trace", "-v", "-o", "json", "-o", f"pcapng:{ours}", netns=link.a)
    dump = tcpdump(link.a, link.a_dev, theirs)
    generate(link.a, link.a_dev, link.a_ip, link.b_ip)
    running.wait_for(lambda ev: ev.get("conn", {}).get("dport") == LAST)
    events = [ev for ev in running.finish() if ev["type"] == "net.trace"]
    end(dump, theirs)
    same = frames(theirs)
    assert frames(ours, link.a_dev) == same
    broadcast = link.a_ip.rsplit(".", 1)[0] + ".255"
    assert {line.split("\t")[6] for line in same} >= {"224.0.0.251", "224.0.0.5", broadcast}
    assert all("conn" in ev for ev in events if ev["iface"] in (link.a_dev, "lo")), events


def test_frames_of_loopback_pass_twice(sonde, netns, tmp_path):
    ns = netns()
    ns.run("ip", "link", "set", "lo", "multicast", "on")
    running = sonde("monitor", "--where", "evt.type=trace", "-v", "-o", "json", netns=ns)
    dump = tcpdump(ns, "lo", str(tmp_path / "lo.pcap"))
    generate(ns, "lo", "127.0.0.1", "127.0.0.1")
    running.wait_for(lambda ev: ev.get("conn", {}).get("dport") == LAST, count=2)
    events = [ev for ev in running.finish() if ev["type"] == "net.trace"]
    end(dump, str(tmp_path / "lo.pcap"))
    ports = [ev["conn"].get("dport") for ev in events if ev["conn"]["proto"] == "udp"]
    theirs = [int(port) for port, *rest in map(lambda line: line.split("\t"), frames(str(tmp_path / "lo.pcap")))
              if port and "icmp" not in rest[3]]
    assert sorted(ports) == sorted(theirs * 2)
