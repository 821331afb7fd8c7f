# SPDX-License-Identifier: GPL-2.0-or-later
"""Losses that only the kernel's counters tell, against nstat in the same network namespace."""
import collections
import json
import re

PORT = 8001

# Datagrams to a closed port, more than a small buffer holds, and one without a route.
LOSE = """
import errno, socket
closed, full = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(7):
    closed.sendto(b"x", ("{address}", {port}))
full.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
full.bind(("127.0.0.1", {port}))
for _ in range(200):
    closed.sendto(b"x" * 1000, ("127.0.0.1", {port}))
try:
    closed.sendto(b"x", ("203.0.113.1", 9))
except OSError as e:
    assert e.errno == errno.ENETUNREACH
"""
CAUSED = {"UdpNoPorts": 7, "UdpRcvbufErrors": 1, "UdpInErrors": 1, "IpOutNoRoutes": 1}      # at least


def nstat(ns):
    """Of all counters, zeros too."""
    return json.loads(ns.run("nstat", "-asjz").stdout)["kernel"]


def shown(mon, ns):
    ret = collections.Counter()
    for ev in mon.events:
        if ev["type"] == "net.mib" and ev["netns"] == ns.inode:
            ret[ev["name"]] += ev["count"]
            assert ev["total"] == ret[ev["name"]], ev
            assert ev["what"], ev
    return ret


def test_counters_are_those_of_nstat(link, sonde):
    """The first and the last reading lie between two of nstat each, and the caused losses between them."""
    first = nstat(link.a)
    mon = sonde("monitor", "--json", "--netns", link.a.name)
    before = nstat(link.a)
    link.a.python(LOSE.format(address=link.a_ip, port=PORT))
    after = nstat(link.a)
    assert mon.stop() in (0, 130), mon.stderr
    last, seen = nstat(link.a), shown(mon, link.a)
    for name, least in CAUSED.items():
        assert seen[name] >= least and seen[name] == after[name] - before[name], (name, seen)
    for name, count in seen.items():
        assert after[name] - before[name] <= count <= last[name] - first[name], name


def test_only_where_nothing_is_selected(link, sonde):
    """The namespace's counters say nothing about selected packets; named in the filter they are shown alone."""
    some = sonde("monitor", "--json", "--netns", link.a.name, "udp")
    named = sonde("monitor", "--json", "--netns", link.a.name, "--where", "evt.type=mib and mib.name=UdpNoPorts")
    link.a.python(LOSE.format(address=link.a_ip, port=PORT))
    event, = named.wait_for(lambda ev: ev["type"] == "net.mib")
    assert event["name"] == "UdpNoPorts" and event["netns_name"] == link.a.name
    assert {ev["type"] for ev in named.finish()} <= {"net.mib", "sonde.ledger"}
    assert re.fullmatch(r"\d+ events? in \d+ s; 0 lost", named.stderr.splitlines()[-1])   # not "0 packets"
    assert "net.mib" not in {ev["type"] for ev in some.finish()}
