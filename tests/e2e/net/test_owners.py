# SPDX-License-Identifier: GPL-2.0-or-later
"""Owners of packets: the process that uses the socket. Programs print the truth: port of the peer and their pid."""
import json
import subprocess

import pytest

import helpers

PREFORK = """
import os, socket
s = socket.create_server(("", 5201), backlog=128)
for _ in range(4):
    if os.fork() == 0:
        while True:
            c, peer = s.accept()
            c.recv(100)
            print(peer[1], os.getpid(), flush=True)
            c.send(b"x")
            c.close()
print("master", os.getpid(), flush=True)
os.wait()
"""
CLIENT = """
import os, socket
for _ in range({n}):
    c = socket.create_connection(("{ip}", {port}))
    c.send(b"hello")
    assert c.recv(1)
    c.close()
print(os.getpid())
"""


@pytest.fixture
def traces(sonde):
    def start(*words):
        return sonde("monitor", "--json", "--where", "evt.type=trace", *words)
    return start


def pid_of(ev):
    return ev.get("proc", {}).get("pid")


def sent_from(port):
    return lambda ev: ev["type"] == "net.trace" and ev["dir"] == "out" and ev.get("conn", {}).get("sport") == port


def data_of(events, port):
    """Packets with data that left this port."""
    return [ev for ev in events if sent_from(port)(ev) and "PSH" in ev.get("flags", [])]


def test_packets_of_a_prefork_server_belong_to_the_worker(link, traces):
    """Workers accept on the master's listener; the master never owns a packet of a connection in use."""
    server = link.b.python_popen(PREFORK)
    master = int(server.stdout.readline().split()[1])
    running = traces("--netns", link.b.name, "tcp port 5201")
    link.a.python(CLIENT.format(n=40, ip=link.b_ip, port=5201))
    truth = {}
    for _ in range(40):
        peer, worker = server.stdout.readline().split()
        truth[int(peer)] = int(worker)
    running.wait_for(lambda ev: sent_from(5201)(ev) and "FIN" in ev.get("flags", []), count=40)
    answers = data_of(running.finish(), 5201)
    assert len(answers) == 40 and master not in truth.values()
    for ev in answers:
        assert pid_of(ev) == truth[ev["conn"]["dport"]], ev


PASSED = {
    "SCM_RIGHTS": ("socket.send_fds(left, [b'x'], [c.fileno()])", "socket.recv_fds(right, 1, 1)[1][0]"),
    "pidfd_getfd": ("left.send(b'%d' % c.fileno())",
                    "ctypes.CDLL(None).syscall(438, os.pidfd_open(os.getppid()), int(right.recv(9)), 0)"),
}


@pytest.mark.parametrize("way", sorted(PASSED))
def test_a_passed_socket_belongs_to_its_receiver(link, traces, way):
    """Accepted by one process, used by another that got the descriptor later."""
    give, take = PASSED[way]
    server = link.b.python_popen(f"""
import ctypes, os, socket
left, right = socket.socketpair()
if os.fork() == 0:
    c = socket.socket(fileno={take})
    right.send(b"x")
    c.recv(100)
    print("user", os.getpid(), flush=True)
    c.send(b"x")
    c.recv(1)
    os._exit(0)
s = socket.create_server(("", 5202))
print("ready", flush=True)
c, _ = s.accept()
{give}
left.recv(1)
c.close()
os.wait()
""")
    server.stdout.readline()
    running = traces("--netns", link.b.name, "tcp port 5202")
    link.a.python(CLIENT.format(n=1, ip=link.b_ip, port=5202))
    user = int(server.stdout.readline().split()[1])
    running.wait_for(lambda ev: sent_from(5202)(ev) and "FIN" in ev.get("flags", []))
    answer, = data_of(running.finish(), 5202)
    assert pid_of(answer) == user, answer


def test_a_connection_left_to_a_child_belongs_to_the_child(link, traces):
    """The parent answers once, then its child: each answer has the process that sent it."""
    server = link.b.python_popen("""
import os, socket
s = socket.create_server(("", 5203))
print("ready", flush=True)
c, _ = s.accept()
c.recv(1)
print(os.getpid(), flush=True)
c.send(b"1")
if os.fork() == 0:
    c.recv(1)
    print(os.getpid(), flush=True)
    c.send(b"2")
    os._exit(0)
c.close()
os.wait()
""")
    server.stdout.readline()
    running = traces("--netns", link.b.name, "tcp port 5203")
    link.a.python(f"import socket\nc = socket.create_connection(('{link.b_ip}', 5203))\n"
                  "for _ in range(2):\n    c.send(b'?')\n    assert c.recv(1)\n")
    truth = [int(server.stdout.readline()) for _ in range(2)]
    running.wait_for(lambda ev: sent_from(5203)(ev) and "FIN" in ev.get("flags", []))
    assert truth[0] != truth[1]
    assert [pid_of(ev) for ev in data_of(running.finish(), 5203)] == truth


def test_a_change_of_user_is_an_event(link, sonde):
    server = link.b.python_popen(PREFORK)
    server.stdout.readline()
    running = sonde("monitor", "--json", "--where", "evt.type=proc.socket", "--netns", link.b.name)
    link.a.python(CLIENT.format(n=1, ip=link.b_ip, port=5201))
    peer, worker = server.stdout.readline().split()
    used, = running.wait_for(lambda ev: ev["type"] == "proc.socket" and ev["what"] == "use"
                             and ev["conn"].get("dport") == int(peer))
    accepted, = running.wait_for(lambda ev: ev["type"] == "proc.socket" and ev["what"] == "accept"
                                 and ev["conn"]["dport"] == int(peer))
    assert pid_of(used) == int(worker) and used["cookie"] == accepted["cookie"]
    running.finish()


def ends_of(ev):
    """Processes of sender and receiver and how they were found; None = unknown."""
    owner, peer = (pid_of(ev), ev.get("owner_how")), (ev.get("peer_pid"), ev.get("peer_how"))
    return (owner, peer) if ev.get("owner_end") == "src" else (peer, owner)


def test_both_ends_of_a_packet(link, traces):
    """Behind a veth the packet still carries the sender's socket, which never names the receiver."""
    server = link.b.python_popen("import os, socket\ns = socket.create_server(('', 5204))\n"
                                 "print(os.getpid(), flush=True)\nc, _ = s.accept()\nwhile c.recv(9): c.send(b'x')\n")
    there = int(server.stdout.readline())
    running = traces("--netns", link.a.name, "--netns", link.b.name, "tcp port 5204")
    here = int(link.a.python(f"import os, socket\nc = socket.create_connection(('{link.b_ip}', 5204))\n"
                             "for _ in range(3):\n    c.send(b'?')\n    c.recv(1)\nprint(os.getpid())\n").stdout)
    running.wait_for(lambda ev: ev["type"] == "net.trace" and "FIN" in ev["flags"] and ev["dir"] == "in", count=2)
    data = [ev for ev in running.finish() if ev["type"] == "net.trace" and "PSH" in ev["flags"]]
    assert len(data) == 12                  # out of one namespace and into the other
    for ev in data:
        sender, receiver = ends_of(ev)
        ends = (here, there) if ev["conn"]["dport"] == 5204 else (there, here)
        assert sender[0] == ends[0] and receiver[0] in (ends[1], None), ev
        assert ev["owner_end"] == ("src" if ev["dir"] == "out" else "dst"), ev
    assert all(ends_of(ev)[1][0] for ev in data[2:])


NAT_RULES = """
table ip t {{
 chain pre {{ type nat hook prerouting priority dstnat; tcp dport 8080 dnat to {server}:7000; }}
 chain post {{ type nat hook postrouting priority srcnat; oifname "{out}" masquerade random; }}
}}
"""
NAT_SERVER = """
import os, socket

def say(*words):    # of two processes, so each line by one write
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(("", 7001))
if os.fork() == 0:
    say("udp", os.getpid())
    while True:
        _, peer = u.recvfrom(100)
        u.sendto(str(peer[1]).encode(), peer)
s = socket.create_server(("", 7000), backlog=64)
say("tcp", os.getpid())
while True:
    c, peer = s.accept()
    if os.fork() == 0:
        while c.recv(100):
            c.send(str(peer[1]).encode())
        say(peer[1], os.getpid())
        os._exit(0)
    c.close()
"""
NAT_CLIENT = """
import os, socket
s = socket.create_connection(("{target}", {port}))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.connect(("{server}", 7001))
for _ in range(3):
    for x in s, u:
        x.send(b"hello")
        print(os.getpid(), x.getsockname()[1], x.recv(100).decode())
"""


def test_ends_behind_nat(routed, traces):
    """Masquerade with random ports and DNAT: no wrong process anywhere, both ends known after the first packets."""
    routed.router.nft(NAT_RULES.format(server=routed.right.b_ip, out=routed.right.a_dev))
    server = routed.server.python_popen(NAT_SERVER)
    started = dict(server.stdout.readline().split() for _ in range(2))
    running = traces("--netns", routed.client.name, "--netns", routed.router.name, "--netns", routed.server.name,
                     "tcp port 7000 or tcp port 8080 or udp port 7001")
    clients, workers = {}, {}
    for target, port in ((routed.left.b_ip, 8080), (routed.right.b_ip, 7000)) * 5:
        out = routed.client.python(NAT_CLIENT.format(target=target, port=port, server=routed.right.b_ip)).stdout
        # A port may be that of a connection and of datagrams: lines of both alternate.
        for i, (pid, before, behind) in enumerate(line.split() for line in out.splitlines()):
            proto = "udp" if i % 2 else "tcp"
            clients[proto, routed.left.a_ip, int(before)] = int(pid)
            clients[proto, routed.right.a_ip, int(behind)] = int(pid)   # a random port, maybe another one's before
        behind, worker = server.stdout.readline().split()
        workers["tcp", routed.right.a_ip, int(behind)] = int(worker)
    running.wait_for(lambda ev: ev["type"] == "net.trace" and "FIN" in ev.get("flags", []), count=10 * 2 * 4)
    listeners = {int(started["tcp"])}
    servers = set(workers.values()) | {int(started["udp"])}
    known, wrong = 0, []
    packets = [ev for ev in running.finish() if ev["type"] == "net.trace"]
    for ev in packets:
        to_server = ev["conn"]["dport"] in (7000, 7001, 8080)
        client = (ev["conn"]["proto"], *(ev["conn"][name] for name in
                                         (("src", "sport") if to_server else ("dst", "dport"))))
        right = {workers[client]} if client in workers else servers
        for (pid, how), is_client in zip(ends_of(ev), (to_server, not to_server)):
            known += pid is not None
            if pid is None or pid in ({clients[client]} if is_client else right):
                continue
            if is_client or how not in ("listener", "snapshot") or pid not in listeners:
                wrong.append((pid, how, ev))
    assert not wrong, (clients, workers, wrong[:4])
    assert known >= len(packets) * 2 * 0.7
    uplink = [ev for ev in packets if ev["iface"] == routed.right.a_dev and ev["dir"] == "out"]
    assert all(ends_of(ev)[0][0] for ev in uplink if ev["conn"]["dport"] in (7000, 7001)), "senders behind masquerade"
    assert any(ends_of(ev)[0][1] == "conntrack" for ev in uplink)


SENDER = """
import os, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("{ip}", 5210))
s.sendto(b"x", ("{peer}", 9))
print(os.getpid(), flush=True)
input()
"""


def test_hosts_with_the_same_address_and_port(routed, netns, sonde):
    """Of two namespaces with one address and port, packets behind a router have no sender unless one is closed."""
    router, twin, left = routed.router, netns(), routed.left
    helpers.sh("ip", "link", "add", "twin", "netns", router.name, "type", "veth", "peer", "eth0", "netns", twin.name)
    router.run("ip", "link", "set", "twin", "up")
    twin.run("ip", "addr", "add", f"{left.a_ip}/24", "dev", "eth0")
    twin.run("ip", "link", "set", "eth0", "up")
    twin.run("ip", "neigh", "add", left.b_ip, "lladdr", router.mac("twin"), "dev", "eth0")
    twin.run("ip", "route", "add", "default", "via", left.b_ip)
    running = sonde("monitor", "--json", "--netns", routed.server.name, "udp dst port 9")

    def send(ns):
        """A program that sends a datagram; (it, its pid, the sender that the datagram is said to have)."""
        child = ns.python_popen(SENDER.format(ip=left.a_ip, peer=routed.right.b_ip), stdin=subprocess.PIPE)
        sent.append(int(child.stdout.readline()))
        packets = running.wait_for(lambda ev: ev["type"] == "net.trace", count=len(sent))
        return child, sent[-1], ends_of(packets[-1])[0][0]

    sent = []
    first, pid, seen = send(routed.client)
    assert seen == pid
    first.communicate("\n", timeout=30)
    second, pid, seen = send(twin)
    assert seen == pid
    third, _, seen = send(routed.client)
    assert seen is None, sent
    for child in second, third:
        child.communicate("\n", timeout=30)


ORIGIN_RULES = NAT_RULES + """
table ip late {{
 chain post {{ type filter hook postrouting priority 200; udp dport 7009 drop; }}
}}
"""


def test_translated_packets_show_the_tuple_of_their_sender(routed, sonde):
    """DNAT and masquerade with random ports: packets behind it show both tuples, also one that is dropped there."""
    routed.router.nft(ORIGIN_RULES.format(server=routed.right.b_ip, out=routed.right.a_dev))
    server = routed.server.python_popen("import socket\ns = socket.create_server(('', 7000))\n"
                                        "print('ready', flush=True)\nc, peer = s.accept()\n"
                                        "print(peer[1], flush=True)\nwhile c.recv(9): c.send(b'x')\n")
    server.stdout.readline()
    running = sonde("monitor", "--json", "--netns", routed.router.name, "port 7000 or port 8080 or port 7009")
    ports = routed.client.python(f"""
import socket
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.sendto(b"x", ("{routed.right.b_ip}", 7009))
c = socket.create_connection(("{routed.left.b_ip}", 8080))
for _ in range(3):
    c.send(b"?")
    assert c.recv(1)
print(c.getsockname()[1], u.getsockname()[1])
""").stdout.split()
    client, sender = ((routed.left.a_ip, int(port)) for port in ports)
    front, back = (routed.left.b_ip, 8080), (routed.right.b_ip, 7000)
    masked = (routed.right.a_ip, int(server.stdout.readline()))
    running.wait_for(lambda ev: ev["type"] == "net.drop")
    running.wait_for(lambda ev: ev["type"] == "net.trace" and "FIN" in ev.get("flags", []), count=4)
    places = {(routed.left.b_dev, "in"): (client, front, None),
              (routed.left.b_dev, "out"): (front, client, (back, masked)),
              (routed.right.a_dev, "in"): (back, masked, None),
              (routed.right.a_dev, "out"): (masked, back, (client, front))}
    seen = set()
    for ev in running.finish():
        if ev["type"] not in ("net.trace", "net.drop"):
            continue
        conn, origin = ev["conn"], None
        if "orig_ip" in ev:
            origin = (ev["orig_ip"], ev["orig_sport"]), (ev["orig_dip"], ev["orig_dport"])
        ends = (conn["src"], conn["sport"]), (conn["dst"], conn["dport"])
        if ev["type"] == "net.drop":
            assert ends[0][0] == routed.right.a_ip and origin == (sender, (routed.right.b_ip, 7009)), ev
        elif conn["proto"] == "tcp":
            assert (*ends, origin) == places[ev["iface"], ev["dir"]], ev
            seen.add((ev["iface"], ev["dir"]))
    assert seen == set(places)


def test_packets_before_accept_get_the_worker(link, traces):
    """First data is older than accept(): its event waits for the user of the connection."""
    server = link.b.python_popen(PREFORK)
    server.stdout.readline()
    running = traces("--netns", link.b.name, "tcp port 5201")
    link.a.python(CLIENT.format(n=20, ip=link.b_ip, port=5201))
    truth = {}
    for _ in range(20):
        peer, worker = server.stdout.readline().split()
        truth[int(peer)] = int(worker)
    running.wait_for(lambda ev: sent_from(5201)(ev) and "FIN" in ev.get("flags", []), count=20)
    packets = [ev for ev in running.finish() if ev["type"] == "net.trace"]
    early = [ev for ev in packets if ev.get("owner_how") == "late"]
    assert early and len({ev["cookie"] for ev in packets if ev.get("owner_how") == "listener"}) == 1
    for ev in early:
        assert pid_of(ev) == truth[ev["conn"]["sport" if ev["dir"] == "in" else "dport"]], ev
    assert [ev["ts_ns"] for ev in packets] == sorted(ev["ts_ns"] for ev in packets)


FORKING = """
import os, socket, time
s = socket.create_server(("", 5206), backlog=128)
print("ready", flush=True)
while True:
    c, peer = s.accept()
    time.sleep(0.002)
    if os.fork() == 0:
        c.recv(100)
        os.write(1, b"%d %d\\n" % (peer[1], os.getpid()))
        c.send(b"x")
        os._exit(0)
    c.close()
"""


def test_packets_before_a_fork_have_the_name_of_the_child(link, traces):
    """First data is older than the process that it belongs to, which has its parent's name at its birth."""
    server = link.b.python_popen(FORKING)
    server.stdout.readline()
    running = traces("--netns", link.b.name, "tcp port 5206")
    link.a.python(CLIENT.format(n=20, ip=link.b_ip, port=5206))
    truth = dict(map(int, server.stdout.readline().split()) for _ in range(20))
    running.wait_for(lambda ev: sent_from(5206)(ev) and "FIN" in ev.get("flags", []), count=20)
    packets = [ev for ev in running.finish() if ev["type"] == "net.trace" and ev.get("owner_how") == "late"]
    early = [ev for ev in packets if ev["ts_ns"] < ev["proc"]["start_ns"]]
    assert early
    for ev in early:
        assert ev["proc"]["pid"] == truth[ev["conn"]["sport" if ev["dir"] == "in" else "dport"]], ev
        assert ev["proc"].get("name") == "python3", ev


GROUP = """
import os, socket
kind = socket.{kind}

def serve(s):
    while True:
        if kind == socket.SOCK_DGRAM:
            _, peer = s.recvfrom(100)
        else:
            c, peer = s.accept()
            c.recv(1)
        os.write(1, b"%d %d\\n" % (peer[1], os.getpid()))

for _ in range(3):
    up = os.pipe()
    if os.fork() == 0:
        s = socket.socket(socket.{family}, kind)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        s.bind(("{address}", 5205))
        kind == socket.SOCK_STREAM and s.listen()
        os.write(up[1], b".")
        serve(s)
    os.read(up[0], 1)
os.write(1, b"ready\\n")
os.wait()
"""
GROUP_CLIENT = """
import socket
for _ in range({n}):
    s = socket.socket(socket.AF_INET, socket.{kind})
    s.connect(("{ip}", 5205))
    s.send(b"x")
"""


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6"])
@pytest.mark.parametrize("proto, kind", [("udp", "SOCK_DGRAM"), ("tcp", "SOCK_STREAM")])
def test_first_packets_to_a_group_belong_to_the_chosen_socket(link, traces, proto, kind, family):
    """
    SO_REUSEPORT: no answer has gone out when the first packet comes, and no process has accepted. IPv6 sockets
    without an address get packets of IPv4 too.
    """
    running = traces("--netns", link.b.name, f"{proto} port 5205")
    address = link.b_ip if family == "AF_INET" else "::"
    server = link.b.python_popen(GROUP.format(kind=kind, family=family, address=address))
    assert server.stdout.readline() == "ready\n"
    link.a.python(GROUP_CLIENT.format(n=40, kind=kind, ip=link.b_ip))
    truth = dict(map(int, server.stdout.readline().split()) for _ in range(40))
    assert len(set(truth.values())) > 1
    running.wait_for(lambda ev: ev["type"] == "net.trace" and ev["dir"] == "in", count=40)
    seen = set()
    for ev in running.finish():
        if ev["type"] != "net.trace" or (proto == "tcp" and "SYN" not in ev["flags"]):
            continue
        here = ends_of(ev)[1 if ev["dir"] == "in" else 0]
        port = ev["conn"]["sport" if ev["dir"] == "in" else "dport"]
        assert here == (truth[port], "lookup" if proto == "udp" else "listener"), ev
        seen.add((port, ev["dir"]))
    assert seen >= {(port, "in") for port in truth}
    if proto == "tcp":
        assert seen >= {(port, "out") for port in truth}


def test_a_socket_of_ipv6_alone_has_no_packet_of_ipv4(link, traces):
    """Bound without an address while it is watched; the datagram of IPv4 finds no socket."""
    running = traces("--netns", link.b.name, "udp port 5207")
    server = link.b.python_popen("""
import os, socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
s.bind(("::", 5207))
print(os.getpid(), flush=True)
s.recv(1)
""")
    pid = int(server.stdout.readline())
    link.a.python(f"""
import socket
for family, to in ((socket.AF_INET, "{link.b_ip}"), (socket.AF_INET6, "{link.b_ip6}")):
    socket.socket(family, socket.SOCK_DGRAM).sendto(b"x", (to, 5207))
""")
    running.wait_for(lambda ev: ev["type"] == "net.trace" and ":" in ev["conn"]["dst"])
    receivers = {ev["conn"]["dst"]: ends_of(ev)[1][0] for ev in running.finish() if ev["type"] == "net.trace"}
    assert receivers == {link.b_ip: None, link.b_ip6: pid}


FORKING_TWICE = """
import os, socket
s = socket.create_server(("", 5208))
print(os.getpid(), flush=True)
for _ in range(2):
    c, _ = s.accept()
    if os.fork() == 0:
        c.recv(100)
        print(os.getpid(), flush=True)
        c.send(b"x")
        try:
            c.recv(1)
        except ConnectionResetError:
            os._exit(0)
    c.close()
    os.wait()
"""
SAME_PORT = """
import socket, struct
for _ in range({times}):
    c = socket.socket()
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    c.bind(("", 5209))
    c.connect(("{ip}", 5208))
    c.send(b"x")
    assert c.recv(1)
    c.close()   # resets the connection: the port is free at once
"""


def test_a_connection_from_a_port_that_came_again(link, traces):
    """The same four numbers as a connection before, whose process has ended: a SYN goes to the listener."""
    server = link.b.python_popen(FORKING_TWICE)
    master = int(server.stdout.readline())
    running = traces("--netns", link.b.name, "tcp port 5208")
    link.a.python(SAME_PORT.format(ip=link.b_ip, times=2))
    children = [int(server.stdout.readline()) for _ in range(2)]
    running.wait_for(lambda ev: ev["type"] == "net.trace" and "RST" in ev["flags"], count=2)
    packets = [ev for ev in running.finish() if ev["type"] == "net.trace"]
    here = [(ev["flags"], ends_of(ev)[1 if ev["dir"] == "in" else 0]) for ev in packets]
    assert [who for flags, who in here if "SYN" in flags] == [(master, "listener")] * 4
    assert [pid for flags, (pid, _) in here if "PSH" in flags] == [pid for pid in children for _ in range(2)]


def test_the_flow_of_a_port_that_came_again(link, sonde):
    server = link.b.python_popen(FORKING_TWICE)
    server.stdout.readline()
    running = sonde("flows", "--json", "--netns", link.b.name, "tcp port 5208")
    link.a.python(SAME_PORT.format(ip=link.b_ip, times=2))
    children = [int(server.stdout.readline()) for _ in range(2)]
    ends = running.wait_for(lambda ev: ev["type"] == "net.flow" and ev["event"] == "closed", count=4)
    assert [pid_of(ev) for ev in ends] == [pid for pid in children for _ in range(2)]
    running.finish()


def test_the_flow_of_a_port_that_came_again_without_an_end(link, sonde):
    """Nobody saw the end of the connection before: the filter leaves resets out."""
    server = link.b.python_popen(FORKING_TWICE)
    server.stdout.readline()
    running = sonde("flows", "--json", "--netns", link.b.name, "tcp port 5208 and tcp[tcpflags] & tcp-rst == 0")
    link.a.python(SAME_PORT.format(ip=link.b_ip, times=2))
    events = [ev["event"] for ev in running.finish() if ev["type"] == "net.flow"]
    assert [ev for ev in events if ev not in ("flags", "active")] == ["new", "closed", "closed", "new", "end", "end"]


LATE_DATA = """
import socket, struct
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
def data(flags, check):
    return struct.pack("!HHIIBBHHH", 5209, 5208, 1, 1, 5 << 4, flags, 65535, check, 0)
words = socket.inet_aton("{a}") + socket.inet_aton("{b}") + struct.pack("!HH", 6, 20) + data(24, 0)
total = sum(struct.unpack("!16H", words))
total = (total >> 16) + (total & 0xffff)
raw.sendto(data(24, ~((total >> 16) + total) & 0xffff), ("{b}", 0))
"""


def test_a_packet_that_is_late_for_its_connection(link, sonde):
    """The listener resets it; it belongs to the process that had the connection."""
    server = link.b.python_popen(FORKING_TWICE + "import time\ntime.sleep(60)\n")
    server.stdout.readline()
    running = sonde("monitor", "--json", "--netns", link.a.name, "--netns", link.b.name, "tcp port 5208")
    link.a.python(SAME_PORT.format(ip=link.b_ip, times=2))
    *_, child = [int(server.stdout.readline()) for _ in range(2)]
    running.wait_for(lambda ev: ev["type"] == "net.trace" and "RST" in ev["flags"], count=4)
    link.a.python(LATE_DATA.format(a=link.a_ip, b=link.b_ip))
    running.wait_for(lambda ev: ev["type"] == "net.drop")
    *_, came, reset, drop = [ev for ev in running.finish() if ev.get("netns") == link.b.inode and
                             ev["type"] in ("net.trace", "net.drop")]
    assert (came["flags"], reset["flags"], drop["type"]) == (["PSH", "ACK"], ["RST"], "net.drop")
    assert [ends_of(came)[1], ends_of(reset)[0], ends_of(drop)[1]] == [(child, "tuple")] * 3


def test_a_datagram_to_a_port_that_has_a_new_process(link, traces):
    """The process before answered the same client; the new one only listens."""
    running = traces("--netns", link.b.name, "udp port 5210")
    pids = []
    for answer in "s.sendto(b'x', peer)", "pass":
        server = link.b.python_popen("import os, socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                                     "s.bind(('', 5210))\nprint(os.getpid(), flush=True)\n"
                                     f"_, peer = s.recvfrom(9)\n{answer}\n")
        pids.append(int(server.stdout.readline()))
        link.a.python("import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.bind(('', 5211))\n"
                      f"s.sendto(b'?', ('{link.b_ip}', 5210))\n" + ("" if answer == "pass" else "s.recv(1)\n"))
        server.wait()
    running.wait_for(lambda ev: ev["type"] == "net.trace" and ev["dir"] == "in", count=2)
    asked = [ev for ev in running.finish() if ev["type"] == "net.trace" and ev["dir"] == "in"]
    assert [ends_of(ev)[1] for ev in asked] == [(pid, "lookup") for pid in pids]


ONE_LINE_EACH = """
import socket
s = socket.create_server(("127.0.0.1", 5206), backlog=128)
print("ready", flush=True)
while True:
    c, _ = s.accept()
    c.send(b"x\\n")
    c.close()
"""
SHORT_CLIENTS = "while :; do bash -c 'exec 3<>/dev/tcp/127.0.0.1/5206; read <&3'; done"


@pytest.mark.parametrize("end", ["SIGINT", "--duration"])
def test_packets_up_to_the_end_have_processes(netns, sonde, tmp_path, end):
    """Clients that live for a moment, while sonde ends: what it still sees of them has their names."""
    ns, recording = netns(), str(tmp_path / "last.rec")
    assert ns.python_popen(ONE_LINE_EACH).stdout.readline() == "ready\n"
    ns.popen("bash", "-c", SHORT_CLIENTS)
    for _ in range(3):
        running = sonde("monitor", "--json", "-o", f"rec:{recording}", "--where", "evt.type=trace", "tcp port 5206",
                        *(["--duration", "1s"] if end == "--duration" else []), netns=ns)
        running.wait_for(lambda ev: ev["type"] == "net.trace", count=50)
        if end == "--duration":
            running.child.wait(helpers.READY_S)
        live = running.finish(status=0 if end == "--duration" else None)
        replay = helpers.sh(helpers.BINARY, "monitor", "--json", "-r", recording, timeout=30).stdout.splitlines()
        for events in live, [json.loads(line) for line in replay]:
            packets = [ev for ev in events if ev["type"] == "net.trace"]
            assert len(packets) >= 50 and not [ev for ev in packets if not ev.get("proc", {}).get("name")]
