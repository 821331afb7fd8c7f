# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets at their observation points: which, whose, with which bytes; and what attaching leaves alone."""
import json
import os
import re
import signal

import pytest

from helpers import Link, sh, wait_until

UDP = "import os, socket, sys, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"


def trace_to(port, iface=None):
    def wanted(ev):
        return (ev["type"] == "net.trace" and ev.get("conn", {}).get("dport") == port
                and (iface is None or ev.get("iface") == iface))
    return wanted


def udp_send(ns, address, port, payload=50):
    return int(ns.python(UDP + f"s.sendto(b'x' * {payload}, ('{address}', {port}))\nprint(os.getpid())\n").stdout)


def send_until(running, wanted, ns, address, port):
    """Sends datagrams until one of them is an event: the monitor learns of interfaces by netlink."""
    def seen():
        udp_send(ns, address, port)
        return any(wanted(ev) for ev in running.events)
    wait_until(seen)


def udp_server(ns, port):
    child = ns.python_popen(UDP + f"s.bind(('0.0.0.0', {port}))\nprint(os.getpid(), flush=True)\n"
                            "while True: s.recv(2000)\n")
    return int(child.stdout.readline())


@pytest.fixture
def traces(sonde):
    def start(*words):
        return sonde("monitor", "--json", "--where", "evt.type=trace", *words)
    return start


@pytest.mark.parametrize("attach", ["tcx", "clsact"])
def test_both_ends_of_a_link(link, traces, attach):
    running = traces("--netns", link.a.name, "--netns", link.b.name, "--attach", attach)
    udp_server(link.b, 4201)
    sender = udp_send(link.a, link.b_ip, 4201)
    out, = running.wait_for(trace_to(4201, link.a_dev))
    into, = running.wait_for(trace_to(4201, link.b_dev))
    assert (out["point"], out["dir"], out["netns"]) == ("to-endpoint", "out", link.a.inode)
    assert (into["point"], into["dir"], into["netns"]) == ("from-endpoint", "in", link.b.inode)
    assert out["proc"]["pid"] == sender and out["owner_how"] == "skb"
    assert out["len"] == into["len"] == 92
    running.finish()


def test_loopback_is_the_stack(netns, traces):
    ns = netns()
    running = traces("--netns", ns.name)
    pid = udp_send(ns, "127.0.0.1", 4202)
    out, into = running.wait_for(trace_to(4202, "lo"), count=2)
    assert (out["point"], into["point"]) == ("to-stack", "from-stack")
    assert out["proc"]["pid"] == into["proc"]["pid"] == pid
    running.finish()


@pytest.mark.parametrize("born", ["before", "after"])
def test_owner_of_what_arrives(netns, traces, born):
    """On loopback the sender's socket is taken off the packet: the receiver's is found by its address."""
    ns = netns()
    server = udp_server(ns, 4203) if born == "before" else None
    running = traces("--netns", ns.name)
    server = server or udp_server(ns, 4203)
    client = udp_send(ns, "127.0.0.1", 4203)
    out, into = running.wait_for(trace_to(4203), count=2)
    assert out["proc"]["pid"] == client, out
    assert into["proc"]["pid"] == server and into["peer_pid"] == client, into
    assert into["owner_how"] == ("snapshot" if born == "before" else "lookup"), into
    running.finish()


def test_owner_of_a_handshake(netns, traces):
    """The SYN-ACK leaves a listener before there is a socket for the connection, and it is the listener's."""
    ns = netns()
    server = ns.python_popen("import os, socket\ns = socket.socket()\ns.bind(('127.0.0.1', 4208))\ns.listen()\n"
                             "print(os.getpid(), flush=True)\nc, _ = s.accept()\nc.recv(1)\n")
    server_pid = int(server.stdout.readline())
    running = traces("--netns", ns.name)
    client = int(ns.python("import os, socket\ns = socket.create_connection(('127.0.0.1', 4208))\n"
                           "print(os.getpid())\n").stdout)

    def syn_ack(ev):
        return (ev["type"] == "net.trace" and set(ev.get("flags", [])) == {"SYN", "ACK"}
                and ev.get("conn", {}).get("sport") == 4208)
    out, into = running.wait_for(syn_ack, count=2)
    running.finish()
    assert (out["dir"], into["dir"]) == ("out", "in")
    assert (out["proc"]["pid"], out["owner_how"], out["owner_end"]) == (server_pid, "listener", "src"), out
    assert (into["proc"]["pid"], into["owner_how"], into["owner_end"]) == (client, "tuple", "dst"), into


def test_owner_of_a_connection_that_existed(link, traces):
    server = link.b.python_popen("import os, socket\ns = socket.socket()\ns.bind(('0.0.0.0', 4204))\ns.listen()\n"
                                 "print(os.getpid(), flush=True)\nc, _ = s.accept()\n"
                                 "while c.recv(10): c.sendall(b'pong')\n")
    server_pid = int(server.stdout.readline())
    client = link.a.python_popen(
        f"import os, socket, sys\ns = socket.create_connection(('{link.b_ip}', 4204))\n"
        "print(os.getpid(), flush=True)\n"
        "sys.stdin.readline()\ns.sendall(b'ping')\ns.recv(10)\nprint('done', flush=True)\nsys.stdin.readline()\n",
        stdin=-1)
    client_pid = int(client.stdout.readline())
    running = traces("--netns", link.a.name, "--netns", link.b.name)
    client.stdin.write("\n")
    client.stdin.flush()
    assert client.stdout.readline() == "done\n"
    out, = running.wait_for(trace_to(4204, link.a_dev))
    back, = running.wait_for(lambda ev: ev["type"] == "net.trace" and ev.get("conn", {}).get("sport") == 4204
                             and ev["iface"] == link.b_dev and ev["dir"] == "out")
    assert out["proc"]["pid"] == client_pid and back["proc"]["pid"] == server_pid
    running.finish()


def test_interface_that_comes_later_and_is_renamed(link, traces):
    running = traces("--netns", link.a.name)
    late = Link(link.a, link.b)
    send_until(running, trace_to(4205, late.a_dev), link.a, late.b_ip, 4205)
    link.a.run("ip", "link", "set", late.a_dev, "down")
    link.a.run("ip", "link", "set", late.a_dev, "name", "renamed0")
    link.a.run("ip", "link", "set", "renamed0", "up")
    send_until(running, trace_to(4206, "renamed0"), link.a, late.b_ip, 4206)
    link.a.run("ip", "link", "del", "renamed0")
    udp_send(link.a, link.b_ip, 4207)
    running.wait_for(trace_to(4207, link.a_dev))
    running.finish()


def test_iface_selects(link, traces):
    running = traces("--netns", link.a.name, "--interface", "lo,nosuch*")
    udp_send(link.a, link.b_ip, 4208)
    udp_send(link.a, "127.0.0.1", 4209)
    running.wait_for(trace_to(4209), count=2)
    events = running.finish()
    assert not [ev for ev in events if trace_to(4208)(ev)]
    assert {ev["iface"] for ev in events if ev["type"] == "net.trace"} == {"lo"}


@pytest.mark.parametrize("attach", ["tcx", "clsact"])
@pytest.mark.parametrize("tags", [(), (42,), (42, 43)], ids=["untagged", "vlan", "qinq"])
def test_bytes_equal_those_of_tcpdump(link, sonde, tmp_path, tags, attach):
    """Also where the kernel has moved the outer tag into the metadata, as it does for each tagged packet in."""
    ours, theirs = tmp_path / "ours.pcapng", tmp_path / "theirs.pcap"
    dump = link.b.popen("tcpdump", "-i", link.b_dev, "-Q", "in", "-U", "-w", str(theirs), "--immediate-mode")
    while "listening" not in dump.stderr.readline():
        pass
    running = sonde("monitor", "-o", f"pcapng:{ours}", "--where", "evt.type=trace", "--netns", link.b.name,
                    "--interface",
                    link.b_dev, "--attach", attach, "ether", "src", link.a.mac(link.a_dev))
    layers = "".join(f" / Dot1Q(vlan={tag})" for tag in tags)
    link.a.run("/usr/bin/python3", "-c",
               "from scapy.all import *\nconf.verb = 0\n"
               f"for size in (0, 1, 30, 700, 1400):\n"
               f"    sendp(Ether(dst='{link.b.mac(link.b_dev)}', src='{link.a.mac(link.a_dev)}'){layers} / "
               f"IP(src='{link.a_ip}', dst='{link.b_ip}') / UDP(sport=7, dport=4210) / (b'y' * size), "
               f"iface='{link.a_dev}')\n", timeout=30)
    wait_until(lambda: b"y" * 1400 in theirs.read_bytes())
    running.stop(signal.SIGINT)
    dump.terminate()
    dump.wait(5)

    def frames(path, words):
        out = sh("tshark", "-r", str(path), "-Y", "udp.port == 4210", "-x", *words, timeout=30).stdout
        return [re.sub(r"^[0-9a-f]+  |   .*$", "", frame, flags=re.M) for frame in out.split("\n\n") if frame.strip()]
    assert len(frames(theirs, [])) == 5
    assert frames(ours, []) == frames(theirs, [])


def filters_of(ns, dev):
    return {side: ns.run("tc", "filter", "show", "dev", dev, side).stdout for side in ("ingress", "egress")}


def foreign_filters(ns, dev):
    """Five of two kinds that match nothing, among them the priority and the handle that ours would like."""
    def add(side, prio, *words):
        ns.run("tc", "filter", "add", "dev", dev, side, "protocol", "all", "prio", str(prio), *words)
    ns.run("tc", "qdisc", "add", "dev", dev, "clsact")
    for side, prio, handle in (("ingress", 1, 1), ("ingress", 2, 16), ("ingress", 2, 17), ("egress", 1, 1)):
        add(side, prio, "handle", str(handle), "bpf", "bytecode", "1,6 0 0 0,")
    add("egress", 2, "u32", "match", "u32", "0xffffffff", "0xffffffff", "flowid", "1:1")


@pytest.mark.parametrize("attach", ["tcx", "clsact"])
def test_foreign_filters_are_untouched(link, sonde, attach):
    foreign_filters(link.a, link.a_dev)
    before = filters_of(link.a, link.a_dev)
    for end in (signal.SIGINT, signal.SIGKILL, signal.SIGINT):
        running = sonde("monitor", "--json", "--netns", link.a.name, "--attach", attach)
        udp_send(link.a, link.b_ip, 4211)
        running.wait_for(trace_to(4211, link.a_dev))
        running.stop(end)
    # what the killed one left went with the next one's start
    assert filters_of(link.a, link.a_dev) == before
    assert "clsact" in link.a.run("tc", "qdisc", "show", "dev", link.a_dev).stdout


@pytest.mark.parametrize("attach", ["tcx", "clsact"])
def test_own_qdisc_goes_unless_somebody_uses_it(link, traces, attach):
    running = traces("--netns", link.a.name, "--attach", attach)
    if attach == "clsact":
        assert "sonde_" in filters_of(link.a, link.a_dev)["ingress"]
        link.a.run("tc", "filter", "add", "dev", link.a_dev, "ingress", "prio", "60", "bpf", "bytecode",
                   "1,6 0 0 0,")
    running.finish()
    left = link.a.run("tc", "qdisc", "show", "dev", link.a_dev).stdout
    assert ("clsact" in left) == (attach == "clsact"), left
    assert "sonde_" not in filters_of(link.a, link.a_dev)["ingress"]
    assert "clsact" not in link.a.run("tc", "qdisc", "show", "dev", "lo").stdout


def own_programs():
    shown = json.loads(sh("bpftool", "-j", "prog", "show").stdout)
    return {prog["id"] for prog in shown if prog.get("name", "").startswith(("sonde_in", "sonde_out", "drop_args"))}


def programs_of(pid):
    ids = set()
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as f:
            ids |= {int(number) for number in re.findall(r"^prog_id:\s*(\d+)$", f.read(), flags=re.M)}
    return ids


def test_two_beside_each_other_and_kill(link, sonde):
    """Both see the packet; one is killed and leaves no program, the other goes on."""
    one = sonde("monitor", "--json", "--netns", link.a.name)
    two = sonde("monitor", "--json", "--netns", link.a.name)
    udp_send(link.a, link.b_ip, 4212)
    for running in (one, two):
        running.wait_for(trace_to(4212, link.a_dev))
    killed = programs_of(one.pid)
    assert killed & own_programs()
    one.stop(signal.SIGKILL)
    wait_until(lambda: not killed & own_programs())
    udp_send(link.a, link.b_ip, 4213)
    two.wait_for(trace_to(4213, link.a_dev))
    two.finish()


DROPPER = """
struct __sk_buff { unsigned int len; };
__attribute__((section("classifier"), used)) int drop(struct __sk_buff *skb) { return skb->len == 819 ? 2 : -1; }
__attribute__((section("license"), used)) char granted[] = "GPL";
"""


def test_verdicts_are_left_alone(link, sonde, tmp_path):
    """A filter behind ours still drops: both are reported, and the packet does not arrive."""
    obj = tmp_path / "dropper.o"
    sh("clang", "-target", "bpf", "-O2", "-x", "c", "-c", "-", "-o", str(obj), input=DROPPER)
    link.b.run("tc", "qdisc", "add", "dev", link.b_dev, "clsact")
    link.b.run("tc", "filter", "add", "dev", link.b_dev, "ingress", "bpf", "da", "obj", str(obj), "sec", "classifier")
    udp_server(link.b, 4214)
    running = sonde("monitor", "--json", "--netns", link.b.name)
    udp_send(link.a, link.b_ip, 4214, payload=777)
    running.wait_for(trace_to(4214, link.b_dev))
    ev, = running.wait_for(lambda ev: ev["type"] == "net.drop" and ev.get("conn", {}).get("dport") == 4214)
    assert ev["reason"] in ("TC_INGRESS", "NOT_SPECIFIED") and ev["iface"] == link.b_dev and ev["len"] == 819
    running.finish()


def test_from_to_and_related(link, sonde):
    cases = [(("--from", link.a_ip), True), (("--from", link.b_ip), False), (("--to", link.b_ip), True),
             (("--to", link.a_ip), False), (("--related-to", "10.0.0.0/8"), True), (("--from", link.a_dev), False),
             (("--to", link.a_dev), True), (("--related-to", link.a_dev), True),
             (("--related-to", "192.0.2.1"), False)]
    monitors = [(sonde("compat", "cilium-dbg", "monitor", "--json", "-t", "trace", "--netns", link.a.name,
                       "--format", "text", *words), words, shown) for words, shown in cases]
    udp_send(link.a, link.b_ip, 4215)
    for running, _words, shown in monitors:
        if shown:
            running.wait_for(trace_to(4215))
    for running, words, shown in monitors:
        events = running.finish()
        assert bool([ev for ev in events if trace_to(4215)(ev)]) == shown, words


ABORTER = """
struct xdp_md;
__attribute__((section("xdp"), used)) int aborted(struct xdp_md *ctx) { return 0; }
__attribute__((section("license"), used)) char granted[] = "GPL";
"""


def test_xdp_exception(link, sonde, tmp_path):
    obj = tmp_path / "aborter.o"
    sh("clang", "-target", "bpf", "-O2", "-x", "c", "-c", "-", "-o", str(obj), input=ABORTER)
    running = sonde("monitor", "--json", "--where", "evt.type=xdp", "--netns", link.b.name)
    link.b.run("ip", "link", "set", link.b_dev, "xdpgeneric", "obj", str(obj), "sec", "xdp")
    udp_send(link.a, link.b_ip, 4216)
    ev, = running.wait_for(lambda ev: ev["type"] == "net.xdp")
    number = json.loads(link.b.run("ip", "-j", "link", "show", link.b_dev).stdout)[0]["xdp"]["prog"]["id"]
    assert (ev["action"], ev["iface"], ev["prog"]) == ("ABORTED", link.b_dev, number)
    running.finish()


def test_selection_by_process(link, traces):
    """Of the owner: what others send is filtered, and so is what nobody is known to own."""
    sender = link.a.python_popen(UDP + "print(os.getpid(), flush=True)\nsys.stdin.readline()\n"
                                 f"for i in range(3): s.sendto(b'x', ('{link.b_ip}', 4217))\n"
                                 "print('sent', flush=True)\ntime.sleep(30)\n", stdin=-1)
    pid = int(sender.stdout.readline())
    by_pid = traces("--netns", link.a.name, "--pid", str(pid))
    by_comm = traces("--netns", link.a.name, "--where", "proc.name=nosuchcomm")
    sender.stdin.write("\n")
    sender.stdin.flush()
    assert sender.stdout.readline() == "sent\n"
    udp_send(link.a, link.b_ip, 4217)
    by_pid.wait_for(trace_to(4217, link.a_dev), count=3)
    events = by_pid.finish()
    assert all(ev["proc"]["pid"] == pid for ev in events if ev["type"] == "net.trace")
    none = by_comm.finish()
    assert not [ev for ev in none if ev["type"] == "net.trace"]
    ledger, = [ev for ev in none if ev["type"] == "sonde.ledger" and ev.get("probe") == "net"]
    assert ledger["filtered"] >= 4 and ledger["delivered"] == 0, ledger
