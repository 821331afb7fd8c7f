# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde flows: packets that the kernel dropped or sent elsewhere are counted with their flow, whoever did it."""
import collections
import json
import re
import time

import helpers
import pytest
from skb_frees import SkbFrees

SEND = """
import socket
s = socket.socket(socket.{family}, socket.SOCK_DGRAM)
s.bind(("{src}", 5000))
for size in {sizes}:
    try:
        s.sendto(b"x" * size, ("{dst}", {port}))
    except PermissionError:    # an output rule
        pass
"""


def send(ns, src, dst, port, sizes=(1, 1, 1)):
    family = "AF_INET6" if ":" in dst else "AF_INET"
    ns.python(SEND.format(family=family, src=src, dst=dst, port=port, sizes=tuple(sizes)))


def fate(one, port, iface):
    """The last report of the packets to @port at @iface."""
    found = [ev for ev in one.events if ev["type"] == "net.flow" and ev["conn"].get("dport") == port and
             ev["iface"] == iface and not ev["is_reply"]]
    return found[-1]


def summary(flow):
    return (flow["packets"], flow.get("dropped", 0), flow.get("drop_reason"), flow["verdict"], flow["action"])


def dropped(one, port, count):
    """Until the kernel has dropped so many."""
    one.wait_for(lambda ev: ev["type"] == "net.drop" and ev["conn"].get("dport") == port, count)


@pytest.mark.parametrize("version", [4, 6])
def test_drops_of_a_flow(sonde, link, version):
    """By the stack, by a rule of netfilter and by a filter of tc; beside one that is delivered."""
    src, dst = (link.a_ip, link.b_ip) if version == 4 else (link.a_ip6, link.b_ip6)
    link.b.nft("""
table inet t {
  chain c { type filter hook input priority 0; udp dport 10 udp length > 100 drop; }
}
""")
    link.b.run("tc", "qdisc", "add", "dev", link.b_dev, "clsact")
    # ldh [UDP destination port]; jeq 11: TC_ACT_SHOT, else TC_ACT_UNSPEC
    link.b.run("tc", "filter", "add", "dev", link.b_dev, "ingress", "bpf", "da", "bytecode",
               f"4,40 0 0 {36 if version == 4 else 56},21 0 1 11,6 0 0 2,6 0 0 {2 ** 32 - 1}")
    server = link.b.python_popen(f"""
import socket
for port in (10, 12):
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.bind(("::", port)); globals()[f"s{{port}}"] = s
print("up", flush=True)
for s, count in ((s10, 2), (s12, 3)):
    for _ in range(count):
        s.recv(2000)
print("got", flush=True)
import time; time.sleep(60)
""")
    assert server.stdout.readline() == "up\n"
    one = sonde("flows", "--json", "--netns", link.b.name, "--interface", link.b_dev, "udp")
    send(link.a, src, dst, 9)
    send(link.a, src, dst, 10, (1, 200, 200, 200, 1))
    send(link.a, src, dst, 11, (1, 1))
    send(link.a, src, dst, 12)
    assert server.stdout.readline() == "got\n"
    for port, count in ((9, 3), (10, 3), (11, 2)):
        dropped(one, port, count)
    one.stop()
    assert summary(fate(one, 9, link.b_dev)) == (3, 3, "NO_SOCKET", "dropped", "drop")
    assert summary(fate(one, 10, link.b_dev)) == (5, 3, "NETFILTER_DROP", "forwarded", "pass")
    assert summary(fate(one, 11, link.b_dev)) == (2, 2, "TC_INGRESS", "dropped", "drop")
    assert summary(fate(one, 12, link.b_dev)) == (3, 0, None, "forwarded", "pass")


def test_drops_where_addresses_are_translated(sonde, routed):
    """The kernel drops it with its new address; the flow at the interface has the old one. What is dropped before it
    reaches the interface is of the flow too."""
    router, left, right = routed.router, routed.left, routed.right
    router.nft(f"""
table ip t {{
  chain arrive {{ type nat hook prerouting priority -100; udp dport 20 dnat to {right.b_ip}:21; }}
  chain through {{ type filter hook forward priority 0; udp dport 21 udp length > 100 drop; }}
  chain leave {{ type filter hook output priority 0; udp dport 22 udp length > 100 drop; }}
}}
""")
    one = sonde("flows", "--json", "--netns", router.name, "udp")
    send(routed.client, left.a_ip, left.b_ip, 20, (1, 200, 200))
    dropped(one, 21, 2)
    send(router, right.a_ip, right.b_ip, 22, (1, 1, 1, 200))
    dropped(one, 22, 1)
    one.stop()
    assert summary(fate(one, 20, left.b_dev)) == (3, 2, "NETFILTER_DROP", "forwarded", "nat")
    assert summary(fate(one, 21, right.a_dev)) == (1, 0, None, "forwarded", "nat")
    assert summary(fate(one, 22, right.a_dev)) == (3, 1, "NETFILTER_DROP", "forwarded", "pass")


def action_packets(ns, device):
    """Packets that an action of the first filter has seen."""
    filters = json.loads(ns.run("tc", "-s", "-j", "filter", "show", "dev", device, "ingress").stdout)
    return sum(a["stats"]["packets"] for f in filters for a in f.get("options", {}).get("actions", []))


def test_redirected_by_an_action(sonde, routed):
    """tc's mirred sends datagrams out of another interface; a mirror of others is no redirection."""
    router, left, right = routed.router, routed.left, routed.right
    router.run("tc", "qdisc", "add", "dev", left.b_dev, "clsact")
    for number, port, what in ((1, 30, "redirect"), (2, 31, "mirror")):
        router.run("tc", "filter", "add", "dev", left.b_dev, "ingress", "prio", str(number), "protocol", "ip", "u32",
                   "match", "ip", "dport", str(port), "0xffff", "action", "mirred", "egress", what, "dev",
                   right.a_dev)
    one = sonde("flows", "--json", "--netns", router.name, "--interface", left.b_dev, "udp")
    for port in (30, 31):
        send(routed.client, left.a_ip, left.b_ip, port)
    deadline = time.monotonic() + helpers.TIMEOUT_S
    while action_packets(router, left.b_dev) < 6:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    dropped(one, 31, 3)		# the originals find no socket
    one.stop()
    sent = fate(one, 30, left.b_dev)
    assert (sent["redirected"], *summary(sent)) == (3, 3, 0, None, "redirected", "redirect")
    mirrored = fate(one, 31, left.b_dev)
    assert "redirected" not in mirrored and summary(mirrored) == (3, 3, "NO_SOCKET", "dropped", "drop")


def test_other_formats_have_it(sonde, link, tmp_path):
    """The line, and Hubble's flows, where a verdict and a reason have names."""
    out = tmp_path / "flows.json"
    one = sonde("flows", "-v", "-o", "text", "-o", f"hubble:{out}", "--netns", link.b.name, "--interface", link.b_dev,
                "udp")
    send(link.a, link.a_ip, link.b_ip, 9)
    deadline = time.monotonic() + helpers.TIMEOUT_S
    while sum("xx drop" in line for line in one.lines) < 3:
        assert time.monotonic() < deadline, one.lines
        time.sleep(0.02)
    one.stop()
    line = next(line for line in one.lines if re.search(r" (end|closed|idle) +<-", line))
    assert "  3 packets " in line and " 3 dropped (NO_SOCKET)" in line
    flows = [json.loads(line)["flow"] for line in out.read_text().splitlines()]
    last = next(f for f in reversed(flows) if f["event_type"]["type"] == 4)
    drops = collections.Counter((f["verdict"], f["drop_reason"], f["drop_reason_desc"]) for f in flows
                                if f["event_type"]["type"] == 1)
    lost = ("DROPPED", 178, "SOCKET_LOOKUP_FAILED")
    assert (last["verdict"], last["drop_reason"], last["drop_reason_desc"]) == lost
    assert drops == {lost: 3}


WINDOWS = 5


def test_the_walk_frees_no_packet_that_others_see(sonde, netns):
    """Each second a program walks the table of flows; its run must not look like a drop to other tracers.

    An interrupt may free somebody's packet while sonde runs, so one quiet window out of several is enough. Each has a
    walk in it, as the end of a silent flow is noticed by one.
    """
    ns, frees = netns(), SkbFrees()
    one = sonde("flows", "--json", "--idle", "500ms", "--netns", ns.name)
    counts = []
    try:
        while 0 not in counts and len(counts) < WINDOWS:
            frees.begin(one.pid)
            port = 4300 + len(counts)
            send(ns, "127.0.0.1", "127.0.0.1", port)
            one.wait_for(lambda ev, port=port: ev["type"] == "net.flow" and ev["event"] == "idle" and
                         ev["conn"].get("dport") == port)
            counts.append(frees.count(one.pid))
    finally:
        frees.close()
    assert counts[-1] == 0, counts
    one.finish()
