# SPDX-License-Identifier: GPL-2.0-or-later
"""Where in its conversation a packet stands (net.state): by connection tracking where it runs, else by what was told.

Expectations are made of what was sent: who began, and what had been answered by then.
"""
import json

import helpers

LISTEN = """
import socket
t = socket.create_server(("0.0.0.0", {port}))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(("0.0.0.0", {port}))
print("up", flush=True)
c, _ = t.accept()
c.sendall(b"hello")
c.recv(1)
for n in range(2):
    u.recvfrom(9)
u.sendto(b"answer", u.recvfrom(9)[1])
u.recvfrom(9)
"""
TALK = """
import socket
c = socket.create_connection(("{ip}", {port}), timeout=5)
print(c.recv(9).decode(), flush=True)
input()
c.sendall(b"x")
c.close()
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.settimeout(5)
u.connect(("{ip}", {port}))
for n in range(3):
    u.send(b"question")
u.recv(9)
u.send(b"thanks")
d = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
d.connect(("{ip}", 9))
d.send(b"nobody")
"""
PORT = 7070


def talk(client, server, ip, begun=lambda: None):
    """One connection that stays open while begun() runs, datagrams, and one datagram that is refused."""
    there = server.python_popen(LISTEN.format(port=PORT))
    assert there.stdout.readline() == "up\n"
    here = client.popen("/usr/bin/python3", "-c", TALK.format(ip=ip, port=PORT), stdin=-1)
    assert here.stdout.readline() == "hello\n"
    begun()
    here.communicate("go\n", timeout=helpers.TIMEOUT_S)
    assert here.returncode == 0 and there.wait(helpers.TIMEOUT_S) == 0


def is_icmp(ev):
    return ev["type"] == "net.trace" and ev.get("conn", {}).get("proto") == "icmp"


def is_load_error(ev):
    """An error: longer than its headers by the header that it is about, and shorter than an echo of ping's."""
    return is_icmp(ev) and ev["len"] == 14 + 20 + 8 + 20 + 8 + len("nobody")


def is_datagram(ev):
    conn = ev.get("conn", {})
    return conn.get("proto") == "udp" and PORT in (conn["sport"], conn["dport"])


def expected(tcp, udp, asker):
    """States of a connection's and a port's packets in order; @asker: is the packet from who began?"""
    for ev in tcp:
        flags = set(ev["flags"])
        yield ev, "reply" if not asker(ev) else "new" if flags == {"SYN"} else "established"
    answered = False
    for ev in udp:
        answered |= not asker(ev)
        yield ev, "reply" if not asker(ev) else "established" if answered else "new"


def check(events, iface, asker):
    mine = [ev for ev in events if ev["type"] == "net.trace" and ev["iface"] == iface]
    tcp = [ev for ev in mine if ev.get("conn", {}).get("proto") == "tcp"]
    udp = [ev for ev in mine if is_datagram(ev)]
    seen = []
    for ev, state in expected(tcp, udp, asker):
        assert ev.get("state") == state, (state, json.dumps(ev))
        seen.append(state)
    assert seen.count("new") == 4 and set(seen) == {"new", "reply", "established"}, seen
    (error,) = [ev for ev in mine if is_load_error(ev)]
    assert error["state"] == "related"


def test_states_by_what_was_told(sonde, link, tmp_path):
    lines = tmp_path / "cilium"
    one = sonde("monitor", "--netns", link.b.name, "--where", "evt.type=trace", "--json", "-o", f"cilium:{lines}")
    link.a.run("ping", "-q", "-c", "2", "-i", "0.2", link.b_ip)
    talk(link.a, link.b, link.b_ip)
    one.wait_for(lambda ev: is_load_error(ev) and ev.get("state") == "related")
    events = one.finish()
    check(events, link.b_dev, lambda ev: ev["conn"]["src"] == link.a_ip)
    echoes = [ev["state"] for ev in events if is_icmp(ev) and not is_load_error(ev)]
    assert echoes == ["new", "reply", "established", "reply"]
    traces = [ev for ev in events if ev["type"] == "net.trace"]
    said = [line.split(" state ")[1].split()[0] for line in lines.read_text().splitlines() if " state " in line]
    assert said == [ev.get("state", "unknown") for ev in traces]


def start_late(sonde, ns, words, client, server, ip):
    """A monitor that is started while a connection is open."""
    started = []
    talk(client, server, ip, lambda: started.append(sonde("monitor", "--netns", ns.name, "--json", *words)))
    started[0].wait_for(is_load_error)
    return started[0].finish()


def test_what_began_unseen_is_unknown_without_connection_tracking(sonde, link):
    events = start_late(sonde, link.b, ["--where", "evt.type=trace"], link.a, link.b, link.b_ip)
    tcp = [ev for ev in events if ev["type"] == "net.trace" and ev.get("conn", {}).get("proto") == "tcp"]
    assert tcp and not [ev for ev in tcp if "state" in ev]


def test_states_by_connection_tracking_on_both_sides_of_a_translation(sonde, routed):
    """It knows a connection that was not seen to begin, and both tuples of it."""
    left, right = routed.left, routed.right
    routed.router.nft(f"""
        table ip t {{
            chain post {{
                type nat hook postrouting priority 100
                oifname "{right.a_dev}" masquerade
            }}
        }}""")
    events = start_late(sonde, routed.router, ["--where", "evt.type=trace"], routed.client, routed.server, right.b_ip)
    for iface, asker in ((left.b_dev, left.a_ip), (right.a_dev, right.a_ip)):
        tcp = [ev for ev in events if ev["type"] == "net.trace" and ev["iface"] == iface and
               ev.get("conn", {}).get("proto") == "tcp"]
        states = {(ev["conn"]["src"] == asker, ev["state"]) for ev in tcp}
        assert states == {(True, "established"), (False, "reply")}, (iface, states)
        udp = [ev["state"] for ev in events if ev["type"] == "net.trace" and ev["iface"] == iface and
               is_datagram(ev)]
        assert udp == ["new", "new", "new", "reply", "established"], (iface, udp)
        errors = [ev["state"] for ev in events if is_load_error(ev) and ev["iface"] == iface]
        assert errors == ["related"], (iface, errors)
