# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde counters against what was sent, the statistics of the interfaces and of the protocols, and its own ledger.

SONDE_PACKETS=1000000 makes it as many packets as a soak wants.
"""
import json
import os
import re
import shutil

import helpers

PACKETS = int(os.environ.get("SONDE_PACKETS", "20000"))
SEND = """
import socket
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for port in (7001, 7002):
    u.connect(("{ip}", port))
    for i in range({n} // 2):
        try:
            u.send(b"x" * (i % 1000))
        except ConnectionRefusedError:	# what the one before was told; it goes out all the same
            u.send(b"x" * (i % 1000))
"""
LISTEN = """
import socket, time
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(("{ip}", 7001))
print("up", flush=True)
time.sleep(600)
"""
SAMPLE = re.compile(r'^(\w+)\{((?:\w+="(?:[^"\\\n]|\\[\\"n])*",?)+)\} (\d+)$')


def statistics(ns, device):
    """Packets and bytes, in and out, as the interface counts them."""
    s = json.loads(ns.run("ip", "-j", "-s", "link", "show", device).stdout)[0]["stats64"]
    ways = (("in", "rx"), ("out", "tx"))
    return {(way, what): s[side][what] for way, side in ways for what in ("packets", "bytes")}


def udp(ns):
    """What the namespace's UDP says of datagrams that it could not give to anybody."""
    head, line = [x.split()[1:] for x in ns.run("cat", "/proc/net/snmp").stdout.splitlines() if x.startswith("Udp:")]
    return dict(zip(head, map(int, line)))


def difference(after, before):
    return {k: after[k] - before[k] for k in after}


def counts(events, total="total_"):
    """Last totals by kind, reason or direction, packets and bytes."""
    ret = {}
    for ev in events:
        if ev["type"] == "net.count":
            key = ev["kind"], ev.get("reason") or ev.get("dir"), ev.get("iface"), ev.get("location")
            ret[key] = ev[total + "packets"], ev[total + "bytes"]
    return ret


def ledger(events):
    last = [ev for ev in events if ev["type"] == "sonde.ledger" and ev["probe"] == "net"][-1]
    assert last["seen"] == last["delivered"] + last["filtered"] + last["sampled"] + last["lost"]
    return last


def samples(path):
    """A file of Prometheus' text format, by labels."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if shutil.which("promtool"):
        done = helpers.sh("promtool", "check", "metrics", input=text)
        assert not done.stdout + done.stderr
    ret, typed = {}, set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            name, kind = line.split()[2:]
            assert kind == "counter" and name not in typed
            typed.add(name)
        elif not line.startswith("# HELP "):
            name, labels, value = SAMPLE.match(line).groups()
            assert name in typed
            key = name, tuple(sorted(re.findall(r'(\w+)="([^"]*)"', labels)))
            assert key not in ret
            ret[key] = int(value)
    return ret


def test_counters_equal_ledger_and_interface(link, sonde, tmp_path):
    rec, prom = tmp_path / "c.rec", tmp_path / "c.prom"
    for end in (link.a, link.b):    # says this and that of itself for seconds after it came up
        end.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
    assert link.b.python_popen(LISTEN.format(ip=link.b_ip)).stdout.readline() == "up\n"
    one = sonde("counters", "--agent=no", "--netns", link.b.name, "--json", "-o", f"rec:{rec}", "-o",
                f"prometheus:{prom}")
    before, udp_before = statistics(link.b, link.b_dev), udp(link.b)
    link.a.python(SEND.format(ip=link.b_ip, n=PACKETS), timeout=600)
    after, udp_after = statistics(link.b, link.b_dev), udp(link.b)
    events = one.finish()
    seen, sent, told = counts(events), difference(after, before), difference(udp_after, udp_before)

    passed = {way: seen["pass", way, link.b_dev, None] for way in ("in", "out")}
    assert passed["in"][0] >= PACKETS
    assert passed == {way: (sent[way, "packets"], sent[way, "bytes"]) for way in ("in", "out")}
    drops = {}
    for (kind, reason, _, _), (packets, _) in seen.items():
        if kind == "drop":
            drops[reason] = drops.get(reason, 0) + packets
    assert drops["NO_SOCKET"] == told["NoPorts"] == PACKETS // 2
    assert drops.get("SOCKET_RCVBUFF", 0) == told["RcvbufErrors"]
    # every packet once in the books, and once in a counter
    total = sum(packets for packets, _ in seen.values())
    assert total == ledger(events)["delivered"] and not ledger(events)["lost"]

    place = [ev for ev in events if ev["type"] == "net.count" and ev.get("reason") == "NO_SOCKET"]
    assert {ev["func"] for ev in place} <= {"__udp4_lib_rcv", "udp_unicast_rcv_skb", "udp_rcv"}
    labels = samples(prom)
    assert sum(v for (name, _), v in labels.items() if name == "sonde_net_count_packets_total") == total
    again = sonde.run("counters", "-r", str(rec), "--json")
    replayed = [json.loads(line) for line in again.stdout.splitlines()]
    assert counts(replayed) == seen and ledger(replayed)["delivered"] == total


def test_counters_have_what_a_rate_limit_keeps_back(link, sonde):
    one = sonde("counters", "--agent=no", "--netns", link.b.name, "--events", "--rate", "10", "--interval", "100ms",
                "--json", "udp", "dst", "port", "7001")
    link.a.python(SEND.format(ip=link.b_ip, n=4000), timeout=60)
    one.wait_for(lambda ev: ev["type"] == "net.count" and ev["kind"] == "pass" and ev["total_packets"] == 2000)
    events = one.finish()
    books = ledger(events)
    seen = counts(events)

    assert seen["pass", "in", link.b_dev, None][0] == 2000	# port 7002 was not asked for
    total = sum(packets for packets, _ in seen.values())
    assert total == books["delivered"] + books["sampled"] + books["lost"]
    assert books["sampled"] > books["delivered"] > 0
    # what was added in each interval adds up to the total
    added = sum(ev["packets"] for ev in events if ev["type"] == "net.count")
    assert added == total
