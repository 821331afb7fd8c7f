# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde flows against what was sent: counts of the interfaces and of connection tracking, both sides of translations,
processes, and how conversations end."""
import collections
import json
import re
import subprocess
import time

import helpers
import pytest

CONNECTIONS = 60

SERVER = """
import socket, threading, sys
def serve(c):
    n = int(c.recv(16))
    c.sendall(b"y" * n)
    c.close()
s = socket.create_server(("{ip}", 7000), family=socket.{family}, backlog=200)
u = socket.socket(socket.{family}, socket.SOCK_DGRAM)
u.bind(("{ip}", 7001))
def echo():
    while True:
        d, a = u.recvfrom(2000)
        u.sendto(d + d, a)
threading.Thread(target=echo, daemon=True).start()
print("up", flush=True)
while True:
    c, _ = s.accept()
    threading.Thread(target=serve, args=(c,), daemon=True).start()
"""
CLIENT = """
import socket, struct, sys
for i in range({n}):
    c = socket.create_connection(("{ip}", 7000))
    c.sendall(str(100 * i + 1).encode())
    if i % 10 == 9:	# gone with data unread: a reset
        c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    else:
        while c.recv(65536):
            pass
    c.close()
u = socket.socket(socket.{family}, socket.SOCK_DGRAM)
u.connect(("{ip}", 7001))
for i in range(5):
    u.send(b"z" * 100)
    u.recv(2000)
"""


def talk(server, client, ip):
    family = "AF_INET6" if ":" in ip else "AF_INET"
    child = server.python_popen(SERVER.format(ip=ip, family=family))
    assert child.stdout.readline() == "up\n"
    ran = client.popen("/usr/bin/python3", "-c", CLIENT.format(ip=ip, family=family, n=CONNECTIONS))
    assert ran.wait(timeout=60) == 0, ran.stderr.read()
    return child, ran


def wait_for_comm(children):
    """Until each has given itself its name."""
    deadline = time.monotonic() + 10
    for child in children:
        while not open(f"/proc/{child.pid}/comm", encoding="utf-8").read().startswith("talker"):
            assert time.monotonic() < deadline
            time.sleep(0.02)


def last_of(events):
    """The last report of each direction of each conversation: totals."""
    ret = {}
    for ev in events:
        if ev["type"] == "net.flow":
            ret[ev["id"], ev["is_reply"]] = {**ev, **ev["conn"], "pid": ev.get("proc", {}).get("pid")}
    return list(ret.values())


def counters(ns, device):
    stats = json.loads(ns.run("ip", "-j", "-s", "link", "show", device).stdout)[0]["stats64"]
    return stats["rx"]["packets"], stats["rx"]["bytes"], stats["tx"]["packets"], stats["tx"]["bytes"]


@pytest.mark.parametrize("version", [4, 6])
def test_counts_are_those_of_the_interface(sonde, link, version):
    outer = [counters(link.b, link.b_dev)]  # from before the start until after the end: no less than was seen
    one = sonde("flows", "--json", "--netns", link.b.name, "--interface", link.b_dev)
    inner = [counters(link.b, link.b_dev)]
    server, client = talk(link.b, link.a, link.b_ip if version == 4 else link.b_ip6)
    inner.append(counters(link.b, link.b_dev))
    one.stop()
    outer.append(counters(link.b, link.b_dev))
    flows = [f for f in last_of(one.events) if f["proto"] in ("tcp", "udp")]
    others = [f for f in last_of(one.events) if f["proto"] not in ("tcp", "udp")]
    sums = collections.Counter()
    for f in flows + others:
        sums[f["dir"], "packets"] += f["packets"]
        sums[f["dir"], "bytes"] += f["bytes"]
    seen = (sums["in", "packets"], sums["in", "bytes"], sums["out", "packets"], sums["out", "bytes"])
    least, most = ([b - a for a, b in zip(*pair)] for pair in (inner, outer))
    # ARP is no flow: 42 bytes each
    assert all(low - arp <= n <= high for low, arp, n, high in zip(least, (4, 400) * 2, seen, most)), \
        (inner, seen, outer)

    tcp = [f for f in flows if f["proto"] == "tcp" and not f["is_reply"]]
    assert len(tcp) == CONNECTIONS
    assert {f["dport"] for f in tcp} == {7000} and {f["dir"] for f in tcp} == {"in"}
    assert collections.Counter(f["state"] for f in tcp) == {"closed": CONNECTIONS * 9 // 10,
                                                            "reset": CONNECTIONS // 10}
    assert {f["event"] for f in tcp} <= {"closed", "end"}
    assert all(0 < f["rtt"] < 10**9 for f in tcp)
    how = {"listener", "tuple", "late"}     # late: its packets came before accept()
    assert {(f["pid"], f["owner_how"]) for f in tcp} <= {(server.pid, one) for one in how}, client.pid
    udp = {f["is_reply"]: f for f in flows if f["proto"] == "udp"}
    assert udp[False]["packets"] == udp[True]["packets"] == 5
    head = 14 + (20 if version == 4 else 40) + 8
    assert (udp[False]["bytes"], udp[True]["bytes"]) == (5 * (head + 100), 5 * (head + 200))


def test_both_sides_of_a_translation(sonde, routed):
    """SNAT and DNAT in a router: each interface's flow knows what the other one sees."""
    routed.router.nft(f"""
table ip nat {{
  chain post {{ type nat hook postrouting priority 100; oifname "{routed.right.a_dev}" masquerade; }}
  chain pre {{ type nat hook prerouting priority -100; tcp dport 8080 dnat to {routed.right.b_ip}:7000; }}
}}
""")
    child = routed.server.python_popen(SERVER.format(ip=routed.right.b_ip, family="AF_INET"))
    assert child.stdout.readline() == "up\n"
    one = sonde("flows", "--json", "--netns", routed.router.name)
    routed.client.python(f"""
import socket
c = socket.create_connection(("{routed.left.b_ip}", 8080))
c.sendall(b"5000")
while c.recv(65536):
    pass
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("{routed.right.b_ip}", 9))
""")
    one.stop()
    through, = [f for f in last_of(one.events) if f["proto"] == "udp" and f["iface"] == routed.left.b_dev]
    assert (through["next_hop"], through["route_iface"]) == (routed.right.b_ip, routed.right.a_dev)
    flows = [f for f in last_of(one.events) if f["proto"] == "tcp"]
    left = [f for f in flows if f["iface"] == routed.left.b_dev]
    right = [f for f in flows if f["iface"] == routed.right.a_dev]
    assert len(left) == len(right) == 2
    near = next(f for f in left if not f["is_reply"])
    far = next(f for f in right if not f["is_reply"])
    assert (near["src"], near["dst"], near["dport"]) == (routed.left.a_ip, routed.left.b_ip, 8080)
    assert (far["src"], far["dst"], far["dport"]) == (routed.right.a_ip, routed.right.b_ip, 7000)
    assert (near["nat_saddr"], near["nat_daddr"], near["nat_dport"]) == (routed.right.a_ip, routed.right.b_ip, 7000)
    assert (far["nat_saddr"], far["nat_daddr"], far["nat_dport"]) == (routed.left.a_ip, routed.left.b_ip, 8080)
    back = next(f for f in left if f["is_reply"])
    assert (back["src"], back["sport"], back["nat_saddr"], back["nat_sport"]) == \
        (routed.left.b_ip, 8080, routed.right.b_ip, 7000)
    for f in left + right:
        assert f["ct_state"] == "established"
        assert f["owner_how"] in ("skb", "tuple", "conntrack"), f
    # every packet passes both interfaces
    assert near["packets"] == far["packets"] and back["packets"] == \
        next(f for f in right if f["is_reply"])["packets"]


def test_levels(sonde, link):
    """One exchange of 12 packets at each level of aggregation."""
    code = f"""
import socket
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(12):
    u.sendto(b"x", ("{link.b_ip}", 9))
"""
    told = {}
    for level in ("none", "medium", "max"):
        one = sonde("flows", "--json", "--aggregation", level, "--netns", link.a.name, "udp")
        link.a.python(code)
        one.stop()
        told[level] = [ev["event"] for ev in one.events if ev["type"] == "net.flow"]
        assert last_of(one.events)[0]["packets"] == 12, one.events
    assert told["none"] == ["packet"] * 12 or told["none"] == ["new"] + ["packet"] * 11 + ["end"]
    assert told["medium"] == ["new", "end"] and told["max"] == ["new", "end"]


def test_loopback_counts_once(sonde, netns):
    ns = netns()
    one = sonde("flows", "--json", "--netns", ns.name, "udp")
    ns.python("""
import socket
a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
a.bind(("127.0.0.1", 0)); b.bind(("127.0.0.1", 0))
for i in range(3):
    a.sendto(b"x", b.getsockname()); b.recv(9)
    b.sendto(b"yy", a.getsockname()); a.recv(9)
""")
    one.stop()
    flows = {f["is_reply"]: f for f in last_of(one.events)}
    assert (flows[False]["packets"], flows[True]["packets"]) == (3, 3)
    assert (flows[False]["bytes"], flows[True]["bytes"]) == (3 * 43, 3 * 44)


def test_ports_used_again_are_another_flow(sonde, link):
    """The same five-tuple twice: two conversations, each with its own end."""
    code = f"""
import socket, struct
def once():
    c = socket.socket()
    c.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    c.bind(("{link.a_ip}", 5555))
    c.connect(("{link.b_ip}", 7000))
    c.sendall(b"1")
    c.recv(1)
    c.close()
once()
once()
"""
    child = link.b.python_popen(SERVER.format(ip=link.b_ip, family="AF_INET"))
    assert child.stdout.readline() == "up\n"
    one = sonde("flows", "--json", "--netns", link.a.name, "tcp")
    link.a.python(code)
    one.stop()
    ends = [ev for ev in one.events if ev["type"] == "net.flow" and ev["event"] in ("closed", "end")
            and not ev["is_reply"]]
    assert len({ev["id"] for ev in ends}) == 2
    assert [ev["state"] for ev in ends] == ["reset", "reset"]


def test_a_port_of_a_closed_socket_is_another_flow(sonde, link):
    """Without connections the next process with the port has a flow of its own; of two that share it there is one."""
    code = f"""
import os, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
s.bind(("{link.a_ip}", 5556))
for i in range(3):
    s.sendto(b"x", ("{link.b_ip}", 9))
print(os.getpid(), flush=True)
sys.stdin.readline()
"""
    one = sonde("flows", "--json", "--netns", link.a.name, "udp", "port", "9")
    sharers, pids = [], []
    for _ in range(2):
        sharers.append(link.a.python_popen(code, stdin=-1))
        pids.append(int(sharers[-1].stdout.readline()))
    for child in sharers:
        child.communicate("\n")
    pids += [int(link.a.python(code, stdin=subprocess.DEVNULL).stdout) for _ in range(2)]
    one.stop()
    flows = [(f["pid"], f["packets"]) for f in last_of(one.events)]
    assert sorted(flows) == sorted([(pids[0], 6), (pids[2], 3), (pids[3], 3)]), (flows, pids)


def test_a_server_that_starts_again_has_flows_of_its_own(sonde, link):
    """A client that keeps its port: what comes for a server is that process's, what comes for none the client's."""
    code = f"""
import os, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("{link.b_ip}", 5557))
print(os.getpid(), flush=True)
for i in range(3):
    s.sendto(b"y", s.recvfrom(9)[1])
"""
    client = link.a.python_popen(f"""
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("{link.a_ip}", 5558))
for line in sys.stdin:
    s.sendto(b"x", ("{link.b_ip}", 5557))
    if line == "ask\\n":
        s.recv(9)
    print(flush=True)
""", stdin=-1)
    one = sonde("flows", "--json", "--netns", link.b.name, "udp", "port", "5557")

    def send(line):
        client.stdin.write(line)
        client.stdin.flush()
        client.stdout.readline()
    pids = []
    for _ in range(2):
        server = link.b.python_popen(code)
        pids.append(int(server.stdout.readline()))
        for _ in range(3):
            send("ask\n")
        server.wait()
    time.sleep(0.05)    # the flow asks once a tick
    send("tell\n")
    client.communicate()
    one.stop()
    flows = [(f["pid"], f["is_reply"], f["sport"], f["packets"]) for f in last_of(one.events)]
    both = [(pid, is_reply, port, 3) for pid in pids for is_reply, port in ((False, 5558), (True, 5557))]
    assert sorted(flows, key=str) == sorted([*both, (client.pid, False, 5558, 1)], key=str), (flows, pids)


def test_a_full_table_is_counted(sonde, link):
    one = sonde("flows", "--json", "--max-flows", "4", "--netns", link.a.name, "udp")
    link.a.python(f"""
import socket
for i in range(10):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("{link.b_ip}", 9000 + i))
""")
    one.stop()
    ledger, = [ev for ev in one.events if ev["type"] == "sonde.ledger" and ev.get("probe") == "net"]
    assert ledger["lost_by"]["map_full"] >= 6
    assert ledger["seen"] == ledger["delivered"] + ledger["filtered"] + ledger["sampled"] + ledger["lost"]


def test_drops_stand_among_them(sonde, link):
    one = sonde("flows", "--netns", link.b.name)
    link.a.python(f'import socket; socket.socket(2, 2).sendto(b"x", ("{link.b_ip}", 9))')
    one.stop()
    text = "\n".join(one.lines)
    assert re.search(r"new +<- .*: .* -> .*:9 udp  1 packets 43 B", text)
    assert "xx drop (" in text


@pytest.mark.parametrize("by", ["--pid", "proc.pid", "proc.name"])
def test_the_kernel_selects_processes(sonde, link, tmp_path, by):
    """Two programs speak; of the one that was not asked for nothing comes out of the kernel, at its end neither."""
    code = f"""
import socket, sys
open("/proc/self/comm", "w").write(sys.argv[1])
sys.stdin.readline()
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("{link.b_ip}", int(sys.argv[2])))
sys.stdin.readline()
"""
    talkers = [link.a.popen("/usr/bin/python3", "-c", code, f"talker{port}", str(port), stdin=subprocess.PIPE)
               for port in (9001, 9002)]
    wait_for_comm(talkers)
    record = tmp_path / "flows.rec"
    wanted = "talker9001" if by == "proc.name" else str(talkers[0].pid)
    words = ["--pid", wanted] if by == "--pid" else ["--where", f"{by}={wanted}"]
    one = sonde("flows", "--json", "-o", f"rec:{record}", "--netns", link.a.name, *words, "udp")
    for talker in talkers:
        talker.stdin.write("go\n")
        talker.stdin.flush()
    one.wait_for(lambda ev: ev["type"] == "net.flow" and ev["conn"]["dport"] == 9001)
    one.stop()
    replay = sonde.run("flows", "--json", "-r", str(record))
    flows = [ev for ev in map(json.loads, replay.stdout.splitlines()) if ev["type"] == "net.flow"]
    assert {ev["conn"]["dport"] for ev in flows} == {9001} and {ev["event"] for ev in flows} == {"new", "end"}
