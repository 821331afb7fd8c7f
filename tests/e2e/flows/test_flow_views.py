# SPDX-License-Identifier: GPL-2.0-or-later
"""What is made of flows: names by DNS, Hubble's form, tables, and captures of one conversation."""
import json
import os
import subprocess

from helpers import BINARY

SERVER = """
import socket, struct, threading
name = socket.inet_aton("{ip}")
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(("{ip}", 53))
s = socket.create_server(("{ip}", 7000))
def echo(c):
    while True:
        d = c.recv(1000)
        if not d:
            return c.close()
        c.sendall(d * 2)
def accept():
    while True:
        threading.Thread(target=echo, args=(s.accept()[0],), daemon=True).start()
threading.Thread(target=accept, daemon=True).start()
print("up", flush=True)
while True:
    d, a = u.recvfrom(2000)
    end = d.index(b"\\0", 12) + 5
    u.sendto(d[:2] + struct.pack(">5H", 0x8180, 1, 1, 0, 0) + d[12:end] + struct.pack(">HHHIH", 0xc00c, 1, 1, 60, 4)
             + name, a)
"""
ASK = r"""
import socket, struct, sys
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.connect(("{ip}", 53))
u.send(struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + b"\3Www\7example\3org\0" + struct.pack(">2H", 1, 1))
u.recv(600)
both = [socket.create_connection(("{ip}", 7000)) for _ in range(2)]
print(*[c.getsockname()[1] for c in both], flush=True)
for line in sys.stdin:
    for c in both:
        c.sendall(b"x" * 100)
        c.recv(1000)
"""


def test_names_forms_and_one_of_two(sonde, routed, tmp_path):
    routed.router.nft(f"""
table ip nat {{
  chain post {{ type nat hook postrouting priority 100; oifname "{routed.right.a_dev}" masquerade random; }}
}}
""")
    server = routed.server.python_popen(SERVER.format(ip=routed.right.b_ip))
    assert server.stdout.readline() == "up\n"
    files = {name: os.path.join(tmp_path, name) for name in ("hubble", "rec")}
    one = sonde("flows", "--json", "--netns", routed.router.name, "-o", f"hubble:{files['hubble']}",
                "-o", f"rec:{files['rec']}")
    client = routed.client.popen("/usr/bin/python3", "-c", ASK.format(ip=routed.right.b_ip), stdin=subprocess.PIPE)
    ports = [int(word) for word in client.stdout.readline().split()]
    source = routed.left.a_ip
    flow, = one.wait_for(lambda ev: (ev.get("nat_saddr"), ev.get("nat_sport")) == (source, ports[0]))
    assert flow["dname"] == "www.example.org" and (flow["action"], flow["verdict"]) == ("nat", "forwarded")
    assert flow["conn"]["src"] == routed.right.a_ip and 0 < flow["first_ns"] <= flow["last_ns"]
    outside = (routed.right.a_ip, flow["conn"]["sport"])

    # by the id, and by the ends alone: both directions at both interfaces, and nothing of the other connection
    for name in (hex(flow["id"]), f"tcp {source}:{ports[0]} -> {routed.right.b_ip}:7000"):
        capture = sonde("capture", "--json", "--netns", routed.router.name, "--flow", name)
        client.stdin.write("\n")
        client.stdin.flush()
        capture.wait_for(lambda ev: ev["type"] == "net.trace" and ev["conn"]["src"] == routed.right.b_ip and
                         ev["conn"]["dport"] == ports[0] and ev["packet"]["len"] > 200)
        capture.stop()
        conns = [ev["conn"] for ev in capture.events if ev["type"] == "net.trace"]
        ends = {frozenset([(c["src"], c["sport"]), (c["dst"], c["dport"])]) for c in conns}
        there = (routed.right.b_ip, 7000)
        assert ends == {frozenset([(source, ports[0]), there]),
                        frozenset([outside, there])}, name
        assert {c["src"] for c in conns} == {source, outside[0], routed.right.b_ip}
    client.stdin.close()
    client.wait(timeout=10)
    one.stop()

    hubble = [json.loads(line)["flow"] for line in open(files["hubble"], encoding="utf-8")]
    named = [f for f in hubble if f.get("destination_names") == ["www.example.org"] and "TCP" in f["l4"]]
    assert {f["IP"].get("source_xlated") for f in named} >= {routed.right.a_ip, source}
    table = json.loads(subprocess.run([BINARY, "compat", "hubble", "observe", "-r", files["rec"], "--top", "ports",
                                       "--json", "--port",
                                       "7000", "--interface", routed.left.b_dev], check=True, capture_output=True,
                                      text=True).stdout)
    assert (table["key"]["server.port"], table["flows"]) == ("7000", 2)
    assert table["received"] > table["sent"] > 4 * 100


def test_a_flow_is_translated_by_any_namespace(sonde, routed):
    """No `sonde flows` runs: connection tracking of each namespace of --netns is asked, by name, glob and all."""
    routed.router.nft(f"""
table ip nat {{
  chain post {{ type nat hook postrouting priority 100; oifname "{routed.right.a_dev}" masquerade random; }}
}}
""")
    server = routed.server.python_popen(SERVER.format(ip=routed.right.b_ip))
    assert server.stdout.readline() == "up\n"
    client = routed.client.popen("/usr/bin/python3", "-c", ASK.format(ip=routed.right.b_ip), stdin=subprocess.PIPE)
    port = client.stdout.readline().split()[0]
    for name in (routed.router.name, routed.router.name[:-1] + "?", "all"):
        said = sonde.run("monitor", "--agent=no", "--netns", name, "--explain-filter", "--flow",
                         f"tcp {routed.left.a_ip}:{port} -> {routed.right.b_ip}:7000")
        assert said.returncode == 0, said.stderr
        assert f"src host {routed.left.a_ip}" in said.stdout and f"src host {routed.right.a_ip}" in said.stdout, name


DIRECTIONS_SERVER = """
import socket
tcp, udp = socket.create_server(("", 5000)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("", 5001))
print("ready", flush=True)
one, _ = tcp.accept()
one.sendall(one.recv(10))
one.close()
data, who = udp.recvfrom(10)
udp.sendto(data, who)
"""
DIRECTIONS_CLIENT = """
import socket
with socket.create_connection((%(ip)r, 5000)) as tcp:
    tcp.sendall(b"x")
    while tcp.recv(10):
        pass
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.sendto(b"x", (%(ip)r, 5001))
udp.recv(10)
"""


def direction_of(ev):
    """(interface, protocol, is_reply), traffic_direction; None of what is no flow of this test."""
    flow = ev.get("flow", {})
    for name, l4 in flow.get("l4", {}).items():
        if {l4.get("source_port"), l4.get("destination_port")} & {5000, 5001}:
            return (flow["interface"]["name"], name, flow["is_reply"]), flow.get("traffic_direction")
    return None


def test_traffic_direction_is_one(routed, sonde):
    """Packets and flows: egress where the namespace began, in both directions; the router has both."""
    server = routed.server.python_popen(DIRECTIONS_SERVER)
    assert server.stdout.readline() == "ready\n"
    words = ("-o", "hubble", "--netns", routed.router.name, "port", "5000", "or", "port", "5001")
    both = [sonde("monitor", *words), sonde("flows", "--interval", "100ms", *words)]
    routed.client.python(DIRECTIONS_CLIENT % {"ip": routed.right.b_ip})
    expected = {(dev, proto, reply): direction for proto in ("TCP", "UDP") for reply in (False, True)
                for dev, direction in ((routed.left.b_dev, "INGRESS"), (routed.right.a_dev, "EGRESS"))}
    answer = (routed.left.b_dev, "UDP", True)   # the last packet; flows tell of it when they end
    both[0].wait_for(lambda ev: (direction_of(ev) or [None])[0] == answer)
    for running in both:
        running.stop()
        seen = {found for found in map(direction_of, running.events) if found}
        assert seen == set(expected.items())
