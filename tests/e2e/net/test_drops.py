# SPDX-License-Identifier: GPL-2.0-or-later
"""Drops: the kernel's reason, the interface, the connection and the owner, for each way to lose a packet.

Where the receiving side has a socket its process is the owner, else the local sender, in whatever namespace.
Expected reasons are sets: kernels name some of these cases differently.
"""
import errno
import os

import pytest

from helpers import READY_S, Link, sh, wait_until

UDP = "import os, socket, sys, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"


def udp_send(ns, address, port, payload=100, prepare=""):
    """Sends one datagram; the pid of the sender and its port."""
    out = ns.python(UDP + prepare + f"s.sendto(b'x' * {payload}, ('{address}', {port}))\n"
                    "print(os.getpid(), s.getsockname()[1])\ntime.sleep(0.05)\n").stdout
    pid, sport = out.split()
    return int(pid), int(sport)


def udp_server(ns, port, prepare="", receive=False):
    """A process that binds and says so; its pid."""
    loop = "while True: s.recv(2000)\n" if receive else "time.sleep(60)\n"
    child = ns.python_popen(UDP + prepare + f"s.bind(('0.0.0.0', {port}))\nprint(os.getpid(), flush=True)\n" + loop)
    return int(child.stdout.readline())


def drop_of(port, src=None):
    def wanted(ev):
        conn = ev.get("conn", {})
        return ev["type"] == "net.drop" and conn.get("dport") == port and (src is None or conn.get("src") == src)
    return wanted


def check(ev, reasons, iface, src, dst, dport, proto="udp", pid=None, by=None, sport=None):
    assert ev["reason"] in reasons, ev
    assert ev["iface"] == iface, ev
    conn = ev["conn"]
    assert (conn["proto"], conn["src"], conn["dst"], conn["dport"]) == (proto, src, dst, dport), ev
    assert sport is None or conn["sport"] == sport, ev
    if pid is not None:
        assert ev.get("proc", {}).get("pid") == pid, ev
    if by is not None:
        assert ev["owner_how"] in by, ev
    assert ev["func"] and not str(ev["func"]).startswith("0x"), ev


@pytest.fixture
def drops(sonde):
    """A running monitor of drops, in all namespaces."""
    def start(*words):
        return sonde("monitor", "--json", "--where", "evt.type=drop", *words)
    return start


def test_udp_closed_port(link, drops):
    running = drops()
    pid, sport = udp_send(link.a, link.b_ip, 4101)
    ev, = running.wait_for(drop_of(4101))
    check(ev, {"NO_SOCKET"}, link.b_dev, link.a_ip, link.b_ip, 4101, pid=pid, sport=sport, by={"tuple"})
    assert ev["len"] == 142 and ev["netns"] == link.b.inode
    running.finish()


def test_udp_closed_port_on_loopback(netns, drops):
    ns = netns()
    running = drops()
    pid, sport = udp_send(ns, "127.0.0.1", 4102)
    ev, = running.wait_for(drop_of(4102))
    check(ev, {"NO_SOCKET"}, "lo", "127.0.0.1", "127.0.0.1", 4102, pid=pid, sport=sport, by={"tuple"})
    running.finish()


@pytest.mark.parametrize("family", ["ip", "ip6"])
def test_tcp_closed_port(link, drops, family):
    address, source = (link.b_ip, link.a_ip) if family == "ip" else (link.b_ip6, link.a_ip6)
    running = drops()
    pid = int(link.a.python(
        f"import os, socket\ns = socket.socket(socket.AF_INET{'6' if family == 'ip6' else ''})\n"
        f"e = s.connect_ex(('{address}', 4103))\nassert e == {errno.ECONNREFUSED}, e\nprint(os.getpid())\n").stdout)
    ev, = running.wait_for(drop_of(4103))
    check(ev, {"NO_SOCKET"}, link.b_dev, source, address, 4103, proto="tcp", pid=pid)
    running.finish()


def test_no_route(routed, drops):
    running = drops()
    pid, sport = udp_send(routed.client, "198.51.100.7", 4104)
    ev, = running.wait_for(drop_of(4104))
    check(ev, {"IP_INNOROUTES"}, routed.left.b_dev, routed.left.a_ip, "198.51.100.7", 4104, pid=pid, sport=sport)
    assert ev["netns"] == routed.router.inode
    running.finish()


def nft_drop(hook, port):
    return f"table inet t {{\n chain c {{\n  type filter hook {hook} priority 0;\n  udp dport {port} drop\n }}\n}}\n"


def test_netfilter_input(link, drops):
    link.b.nft(nft_drop("input", 4105))
    server = udp_server(link.b, 4105)
    running = drops()
    _, sport = udp_send(link.a, link.b_ip, 4105)
    ev, = running.wait_for(drop_of(4105))
    check(ev, {"NETFILTER_DROP"}, link.b_dev, link.a_ip, link.b_ip, 4105, pid=server, sport=sport,
          by={"lookup", "snapshot"})
    running.finish()


def test_netfilter_output(link, drops):
    link.a.nft(nft_drop("output", 4106))
    running = drops()
    # the sender learns of it
    pid = int(link.a.python(UDP + f"try: s.sendto(b'x', ('{link.b_ip}', 4106))\nexcept PermissionError: pass\n"
                            "print(os.getpid())\n").stdout)
    ev, = running.wait_for(drop_of(4106))
    check(ev, {"NETFILTER_DROP"}, link.a_dev, link.a_ip, link.b_ip, 4106, pid=pid, by={"skb"})
    running.finish()


def test_ttl_expiry(routed, drops):
    running = drops()
    pid, _ = udp_send(routed.client, routed.right.b_ip, 4107,
                      prepare="s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 1)\n")
    ev, = running.wait_for(drop_of(4107))
    # before 6.2 the kernel had no name for it here
    check(ev, {"IP_INHDR", "NOT_SPECIFIED"}, routed.left.b_dev, routed.left.a_ip, routed.right.b_ip, 4107, pid=pid)
    assert ev["func"] == "ip_forward" and ev["ttl"] == 1 and ev["cause"] == "TTL exceeded"
    running.finish()


SEND_HOPS = """
import socket
UNICAST = ((socket.AF_INET, socket.IPPROTO_IP, socket.IP_TTL, %r),
           (socket.AF_INET6, socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, %r))
for family, level, option, address in UNICAST:
    for hops in (2, 1):
        s = socket.socket(family, socket.SOCK_DGRAM)
        s.setsockopt(level, option, hops)
        s.sendto(b"x", (address, 4190))
"""


@pytest.mark.parametrize("words, reason", [(("-o", "cilium"), "TTL exceeded"), ((), "IP_INHDR: TTL exceeded")])
def test_no_hops_left(routed, sonde, words, reason):
    """The packet with a hop left arrives and finds no socket."""
    running = sonde("monitor", "--where", "evt.type=drop", "--count", "4", *words, "udp", "dst", "port", "4190")
    routed.client.python(SEND_HOPS % (routed.right.b_ip, routed.right.b_ip6))
    running.child.wait(READY_S)
    running.stop()
    for address in (routed.right.b_ip, routed.right.b_ip6):
        lines = [line for line in running.lines if address in line]
        assert len(lines) == 2 and sum(f"drop ({reason})" in line for line in lines) == 1, running.lines


def test_flow_without_hops(routed, sonde):
    """A flow knows it of its last dropped packet, and has Hubble's code for it."""
    running = sonde("flows", "-o", "hubble", "--interval", "100ms", "udp", "port", "4190", netns=routed.router)
    routed.client.python(SEND_HOPS % (routed.right.b_ip, routed.right.b_ip6))
    for version in ("IPv4", "IPv6"):
        running.wait_for(lambda ev, v=version: ev.get("flow", {}).get("drop_reason_desc") == "TTL_EXCEEDED" and
                         ev["flow"]["IP"]["ipVersion"] == v)
    running.finish()


def test_martian_source(link, drops):
    for where in ("all", link.b_dev):
        link.b.sysctl(f"net.ipv4.conf.{where}.rp_filter", 1)
    link.a.run("ip", "addr", "add", "203.0.113.5/32", "dev", "lo")
    running = drops()
    pid, _ = udp_send(link.a, link.b_ip, 4108, prepare="s.bind(('203.0.113.5', 0))\n")
    ev, = running.wait_for(drop_of(4108))
    check(ev, {"IP_RPFILTER"}, link.b_dev, "203.0.113.5", link.b_ip, 4108, pid=pid)
    running.finish()


def test_loopback_source_on_the_wire(link, drops):
    """The other martian: an address that may not arrive from outside. There is no sender's socket to name."""
    running = drops()
    send_raw(link, "IP(src='127.0.0.9', dst='%s') / UDP(sport=7, dport=4109)" % link.b_ip)
    ev, = running.wait_for(drop_of(4109))
    check(ev, {"IP_LOCALNET", "IP_INVALID_SOURCE", "NOT_SPECIFIED"}, link.b_dev, "127.0.0.9", link.b_ip, 4109)
    assert "proc" not in ev and "owner_how" not in ev
    running.finish()


def test_mtu_too_big(routed, drops):
    routed.router.run("ip", "link", "set", routed.right.a_dev, "mtu", "1000")
    running = drops()
    # IP_MTU_DISCOVER = IP_PMTUDISC_PROBE: DF set, whatever is known of the path
    pid, _ = udp_send(routed.client, routed.right.b_ip, 4110, payload=1300,
                      prepare="s.setsockopt(socket.IPPROTO_IP, 10, 3)\n")
    ev, = running.wait_for(drop_of(4110))
    check(ev, {"PKT_TOO_BIG", "NOT_SPECIFIED"}, routed.left.b_dev, routed.left.a_ip, routed.right.b_ip, 4110, pid=pid)
    assert ev["len"] == 1342
    running.finish()


def send_raw(link, layers):
    link.a.run("/usr/bin/python3", "-c",
               "from scapy.all import *\nconf.verb = 0\n"
               f"sendp(Ether(dst='{link.b.mac(link.b_dev)}', src='{link.a.mac(link.a_dev)}') / {layers} / "
               f"('x' * 100), iface='{link.a_dev}')\n", timeout=30)


def test_bad_ip_checksum(link, drops):
    server = udp_server(link.b, 4111)
    running = drops()
    send_raw(link, f"IP(src='{link.a_ip}', dst='{link.b_ip}', chksum=0x1111) / UDP(sport=6, dport=4111)")
    ev, = running.wait_for(drop_of(4111))
    check(ev, {"IP_CSUM"}, link.b_dev, link.a_ip, link.b_ip, 4111, pid=server, sport=6,
          by={"lookup", "snapshot"})
    running.finish()


def test_bad_udp_checksum(link, drops):
    server = udp_server(link.b, 4112, receive=True)
    running = drops()
    send_raw(link, f"IP(src='{link.a_ip}', dst='{link.b_ip}') / UDP(sport=6, dport=4112, chksum=0x1234)")
    ev, = running.wait_for(drop_of(4112))
    check(ev, {"UDP_CSUM"}, link.b_dev, link.a_ip, link.b_ip, 4112, pid=server, sport=6)
    running.finish()


@pytest.mark.parametrize("born", ["before", "after"])
def test_full_socket_buffer(link, drops, born):
    """Of a socket that existed before the start, and of one that came later."""
    def serve():
        return udp_server(link.b, 4113, prepare="s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2500)\n")
    server = serve() if born == "before" else None
    running = drops()
    server = server or serve()
    link.a.python(UDP + f"for i in range(10): s.sendto(b'x' * 900, ('{link.b_ip}', 4113))\n")
    ev, = running.wait_for(drop_of(4113))
    check(ev, {"SOCKET_RCVBUFF"}, link.b_dev, link.a_ip, link.b_ip, 4113, pid=server,
          by={"storage", "lookup", "snapshot"})
    running.finish()


CLIENT = """
import socket, sys
address, port, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for i in range(n):
    with socket.create_connection((address, port)) as s:
        s.sendall(b'request')
        assert s.recv(100) == b'answer'
        assert s.recv(100) == b''
"""

SERVER = """
import socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('0.0.0.0', int(sys.argv[1])))
s.listen(128)
print('up', flush=True)
while True:
    c, _ = s.accept()
    c.recv(100)
    c.sendall(b'answer')
    c.close()
"""


def test_no_drop_of_clean_traffic(link, drops):
    """10,000 TCP requests with a connection each, UDP and ICMP both ways: not one drop."""
    server = link.b.popen("/usr/bin/python3", "-c", SERVER, "4115")
    server.stdout.readline()
    udp_server(link.b, 4116, receive=True)
    running = drops()
    # ports for 10,000 connections in TIME_WAIT
    link.a.sysctl("net.ipv4.ip_local_port_range", "10000 65000")
    link.a.run("/usr/bin/python3", "-c", CLIENT, link.b_ip, "4115", "10000", timeout=120)
    link.a.python(UDP + f"for i in range(1000):\n    s.sendto(b'x', ('{link.b_ip}', 4116))\n    time.sleep(0.0005)\n")
    link.a.run("ping", "-q", "-f", "-c", "500", link.b_ip)
    # a drop behind the traffic shows that earlier ones would have been seen
    udp_send(link.a, link.b_ip, 4114)
    running.wait_for(drop_of(4114))
    events = running.finish()
    ours = [ev for ev in events if ev["type"] == "net.drop" and ev["netns"] in (link.a.inode, link.b.inode)
            and ev.get("conn", {}).get("proto") != "icmpv6" and not drop_of(4114)(ev)
            # a bare acknowledgement that a later one, or the end, overtook between two CPUs: of no use to the kernel
            and not (ev["reason"] in ("TCP_RFC7323_PAWS_ACK", "TCP_OLD_DATA") and ev["len"] <= 66)]
    assert not ours, [(ev["reason"], ev["func"], ev.get("conn")) for ev in ours[:5]]
    ledger = [ev for ev in events if ev["type"] == "sonde.ledger"]
    assert ledger and all(ev["lost"] == 0 for ev in ledger), ledger


def test_replies_to_a_broadcast_ping_are_no_drops(link, drops):
    """They come from other addresses than the request went to."""
    link.b.sysctl("net.ipv4.icmp_echo_ignore_broadcasts", 0)
    everybody = link.b_ip.rpartition(".")[0] + ".255"
    link.a.run("ip", "addr", "del", f"{link.a_ip}/24", "dev", link.a_dev)
    link.a.run("ip", "addr", "add", f"{link.a_ip}/24", "brd", everybody, "dev", link.a_dev)
    running = drops()
    pinged = link.a.run("ping", "-b", "-c", "3", "-i", "0.01", everybody)
    assert "3 received" in pinged.stdout, pinged.stdout
    # a drop behind them shows that they would have been seen
    udp_send(link.a, link.b_ip, 4119)
    running.wait_for(drop_of(4119))
    wrong = [ev for ev in running.finish() if ev["type"] == "net.drop" and ev.get("func") == "ping_rcv"
             and ev["netns"] == link.a.inode]
    assert not wrong, wrong


def test_closing_a_socket_with_unread_data_is_no_drop(link, drops):
    running = drops()
    child = link.b.python_popen(UDP + "s.bind(('0.0.0.0', 4117))\nprint('up', flush=True)\nsys.stdin.readline()\n"
                                "s.close()\nprint('closed', flush=True)\ntime.sleep(5)\n", stdin=-1)
    child.stdout.readline()
    udp_send(link.a, link.b_ip, 4117)
    child.stdin.write("\n")
    child.stdin.flush()
    assert child.stdout.readline() == "closed\n"
    # a drop behind it shows that the first would have been seen
    udp_send(link.a, link.b_ip, 4117)
    ev, = running.wait_for(drop_of(4117))
    assert ev["reason"] == "NO_SOCKET"
    udp_send(link.a, link.b_ip, 4118)
    running.wait_for(drop_of(4118))
    assert len([ev for ev in running.finish() if drop_of(4117)(ev)]) == 1


def test_selection_by_namespace_interface_and_process(netns, sonde):
    one, two = Link(netns(), netns()), Link(netns(), netns())
    cases = [("--netns", one.b.name), ("--interface", one.b_dev)]
    monitors = [sonde("monitor", "--json", "--where", "evt.type=drop", "--netns", one.b.name),
                sonde("monitor", "--json", "--where", "evt.type=drop", "--interface", one.b_dev[:-1] + "?"),
                sonde("monitor", "--json", "--where", "evt.type=drop", "--interface", one.b_dev + "*")]
    for _ in range(3):
        udp_send(two.a, two.b_ip, 4118)
        udp_send(one.a, one.b_ip, 4118)
    for running in monitors:
        running.wait_for(drop_of(4118, one.a_ip), count=3)
        events = [ev for ev in running.finish() if ev["type"] == "net.drop"]
        if running is not monitors[1]:
            assert all(ev["netns"] == one.b.inode for ev in events), (cases, events[:3])


def test_packet_bytes_of_a_drop(link, sonde):
    """The bytes are those of the wire, from the Ethernet header on."""
    running = sonde("monitor", "--json", "--data", "hex", "--where", "evt.type=drop", "--snaplen", "drop=60")
    udp_send(link.a, link.b_ip, 4119)
    ev, = running.wait_for(drop_of(4119))
    assert ev["packet"]["link"] == "ethernet" and ev["caplen"] == 60 and ev["len"] == 142 and ev["cut"] is True
    running.finish()


def test_bytes_in_page_fragments(link, sonde, tmp_path):
    """TCP data lies in page fragments; tracing programs may read those from 6.12 on."""
    if tuple(int(n) for n in os.uname().release.split(".")[:2]) < (6, 12):
        pytest.skip("this kernel lets no tracing program read page fragments")
    path = tmp_path / "drops.pcapng"
    server = link.b.python_popen("import socket, time\ns = socket.socket()\ns.bind(('0.0.0.0', 4122))\ns.listen()\n"
                                 "print('up', flush=True)\nc, _ = s.accept()\nprint('open', flush=True)\n"
                                 "time.sleep(60)\n")
    server.stdout.readline()
    client = link.a.python_popen(f"import socket, sys, time\ns = socket.create_connection(('{link.b_ip}', 4122))\n"
                                 "sys.stdin.readline()\ns.sendall(bytes(range(256)) * 4)\nprint('sent', flush=True)\n"
                                 "time.sleep(60)\n", stdin=-1)
    assert server.stdout.readline() == "open\n"
    link.b.nft(nft_drop("input", 4122).replace("udp", "tcp"))
    running = sonde("monitor", "--where", "evt.type=drop", "-o", f"pcapng:{path}", "-o", "json", "--netns",
                    link.b.name,
                    "tcp[(tcp[12] >> 4) * 4 + 1000] = 0xe8")
    client.stdin.write("\n")
    client.stdin.flush()
    assert client.stdout.readline() == "sent\n"
    running.wait_for(drop_of(4122))
    running.stop()
    out = sh("tshark", "-r", str(path), "-T", "fields", "-e", "tcp.payload", timeout=30).stdout.split()
    assert out and bytes.fromhex(out[0]) == bytes(range(256)) * 4


def test_stack(link, sonde):
    running = sonde("monitor", "--json", "-v", "--where", "evt.type=drop")
    udp_send(link.a, link.b_ip, 4120)
    ev, = running.wait_for(drop_of(4120))
    assert ev["kstack"][0].startswith(ev["func"] + "+")
    assert any(frame.startswith("ip_") for frame in ev["kstack"]), ev["kstack"]
    running.finish()


def no_ports(ns):
    """Datagrams that the namespace dropped for lack of a socket."""
    names, values = [line.split() for line in ns.run("cat", "/proc/net/snmp").stdout.splitlines()
                     if line.startswith("Udp: ")]
    return int(values[names.index("NoPorts")])


def test_rate_limit_counts_what_it_leaves_out(link, sonde):
    running = sonde("monitor", "--json", "--where", "evt.type=drop", "--rate", "5/1h", "--netns", link.b.name)
    link.a.python(UDP + f"for i in range(100): s.sendto(b'x', ('{link.b_ip}', 4121))\n")
    wait_until(lambda: no_ports(link.b) >= 100)
    events = running.finish()
    shown = [ev for ev in events if ev["type"] == "net.drop"]
    ledger, = [ev for ev in events if ev["type"] == "sonde.ledger" and ev.get("probe") == "net"]
    assert 5 <= len(shown) <= 5 + 2, len(shown)
    assert ledger["seen"] == ledger["delivered"] + ledger["filtered"] + ledger["sampled"] + ledger["lost"], ledger
    assert ledger["sampled"] >= 90, ledger


def test_devices_that_come_and_go_drop_nothing(netns, drops):
    """A NAPI instance frees an empty shell when it is added: a tunnel, and a veth that takes up generic receive."""
    ns = netns()
    running = drops("--netns", ns.name)
    ns.run("ip", "link", "add", "va", "type", "veth", "peer", "name", "vb")
    ns.run("ethtool", "-K", "va", "gro", "on")
    for device, kind in (("vx0", ("vxlan", "id", "7", "dstport", "4789")), ("bridge0", ("bridge",)),
                         ("mv0", ("link", "vb", "type", "macvlan")), ("tap0", ("tap",))):
        words = ("tuntap", "add", device, "mode", *kind) if kind == ("tap",) else \
            ("link", "add", "name", device, *(kind if "type" in kind else ("type", *kind)))
        if ns.run("ip", *words, check=False).returncode:
            continue    # this kernel lacks the driver
        for state in ("up", "down"):
            ns.run("ip", "link", "set", "dev", device, state)
    ns.run("ip", "link", "del", "va")
    udp_send(ns, "127.0.0.1", 4123)
    running.wait_for(drop_of(4123))
    empty = [ev for ev in running.finish() if ev["type"] == "net.drop" and not ev["caplen"]]
    assert not empty, empty
