# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde policy: the verdict that doc/policy.md gives for each packet against the one that the kernel side reports.

The evaluator below was written from that page. Packets are numbered in their source MAC address and counted behind
the programs: all of them must arrive.
"""
import collections
import functools
import ipaddress
import json
import os
import random
import signal
import struct
import time

import helpers
import pytest

RULES = """
default deny in
default audit out
deny in tcp from 10.9.0.0/24 port 22            # inside the next one
allow in tcp from 10.9.0.0/16, fd09::/16 port 22,80-90
allow tcp established
allow in udp sport 53
deny in udp to 10.9.1.0/25,10.9.1.128/26 port 1000-1999
allow in udp port 1000-65535
audit in sctp
allow in icmp type 0,8
allow in icmp6 type 128-136
allow in ip4 fragment
allow in proto 47 from any to fd09::1
allow in ip6 to fd09:0:0:1::/64
deny out proto 17 from ::/0
deny out udp port 53
allow out ip4 to 10.9.0.0/17
"""
# Numbers of protocols that the page names; (number, family or 0).
PROTOS = {"ip": (None, 0), "ip4": (None, 4), "ip6": (None, 6), "tcp": (6, 0), "udp": (17, 0), "sctp": (132, 0),
          "icmp": (1, 4), "icmp6": (58, 6)}
LISTS = ("from", "to", "sport", "port", "type")
NEEDS = {6: 20, 17: 8, 132: 12, 1: 8, 58: 8}
Look = collections.namedtuple("Look", "family src dst proto state sport dport flags")


# ---- doc/policy.md, "Language" ----

def read_rules(text):
    rules, defaults = [], {"in": ("allow", 0), "out": ("allow", 0)}
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split("#")[0].replace(",", " , ").split()
        if not words:
            continue
        if words[0] == "default":
            for way in words[2:] or ("in", "out"):
                defaults[way] = (words[1], number)
            continue
        rule = {"action": words[0], "line": number, "family": 0, "proto": None}
        at = 1
        while at < len(words):
            word, at = words[at], at + 1
            if word in LISTS:
                items = [words[at]]
                while at + 1 < len(words) and words[at + 1] == ",":
                    at += 2
                    items.append(words[at])
                at += 1
                if items != ["any"]:
                    rule[word] = items
            elif word == "proto":
                rule["proto"], at = int(words[at]), at + 1
            elif word in PROTOS:
                number_of, rule["family"] = PROTOS[word]
                rule["proto"] = number_of if number_of is not None else rule["proto"]
            else:
                rule[word] = True
        rules.append(rule)
    return rules, defaults


network = functools.lru_cache(ipaddress.ip_network)


def in_nets(items, address):
    return any(network(item).version == address.version and address in network(item) for item in items)


def in_ranges(items, port):
    return any(int(item.split("-")[0]) <= port <= int(item.split("-")[-1]) for item in items)


def fits(rule, look, way):
    ports = [key for key in ("sport", "port", "type", "established") if key in rule]
    if ("in" in rule) != ("out" in rule) and way not in rule:
        return False
    if rule["family"] not in (0, look.family) or rule["proto"] not in (None, look.proto):
        return False
    if "fragment" in rule and look.state != "fragment" or ports and look.state != "whole":
        return False
    if "established" in rule and not look.flags & 0x14:
        return False
    return (("from" not in rule or in_nets(rule["from"], look.src)) and
            ("to" not in rule or in_nets(rule["to"], look.dst)) and
            ("sport" not in rule or in_ranges(rule["sport"], look.sport)) and
            ("port" not in rule or in_ranges(rule["port"], look.dport)) and
            ("type" not in rule or in_ranges(rule["type"], look.dport)))


def evaluate(policy, frame, way):
    """(action, line) or None for what rules are not about."""
    look = look_at(frame)
    if look is None:
        return None
    rules, defaults = policy
    for rule in rules if look.family else ():
        if fits(rule, look, way):
            return rule["action"], rule["line"]
    return defaults[way]


# ---- doc/policy.md, "What a packet is" ----

BROKEN = Look(0, None, None, 0, "broken", 0, 0, 0)


def transport(look, frame, at, end):
    need = NEEDS.get(look.proto)
    if need is None:
        return look
    if at + need > end or at > 255:
        return look._replace(state="cut")
    if look.proto in (1, 58):
        return look._replace(dport=frame[at])
    sport, dport = struct.unpack_from(">HH", frame, at)
    return look._replace(sport=sport, dport=dport, flags=frame[at + 13] if look.proto == 6 else 0)


def look_v4(frame, at):
    if at + 20 > len(frame):
        return BROKEN
    head, total = (frame[at] & 15) * 4, struct.unpack_from(">H", frame, at + 2)[0]
    end = min(len(frame), at + total) if total else len(frame)
    if frame[at] >> 4 != 4 or head < 20 or at + head > end:
        return BROKEN
    look = Look(4, ipaddress.ip_address(frame[at + 12:at + 16]), ipaddress.ip_address(frame[at + 16:at + 20]),
                frame[at + 9], "whole", 0, 0, 0)
    if struct.unpack_from(">H", frame, at + 6)[0] & 0x1fff:
        return look._replace(state="fragment")
    return transport(look, frame, at + head, end)


def look_v6(frame, at):
    if at + 40 > len(frame) or frame[at] >> 4 != 6:
        return BROKEN
    length, proto, pos = struct.unpack_from(">H", frame, at + 4)[0], frame[at + 6], at + 40
    end = min(len(frame), pos + length) if length else len(frame)
    look = Look(6, ipaddress.ip_address(frame[at + 8:at + 24]), ipaddress.ip_address(frame[at + 24:at + 40]),
                proto, "whole", 0, 0, 0)
    for _ in range(8):
        if proto not in (0, 43, 60, 44):
            break
        if pos + 8 > end:
            return look._replace(proto=proto, state="cut")
        follows, length = frame[pos], 8 if proto == 44 else (frame[pos + 1] + 1) * 8
        if proto == 44 and struct.unpack_from(">H", frame, pos + 2)[0] & 0xfff8:
            return look._replace(proto=follows, state="fragment")
        if pos + length > end:
            return look._replace(proto=proto, state="cut")
        proto, pos = follows, pos + length
    if proto in (0, 43, 60, 44):
        return look._replace(proto=proto, state="cut")
    return transport(look._replace(proto=proto), frame, pos, end)


def look_at(frame):
    kind, at = struct.unpack_from(">H", frame, 12)[0], 14
    for _ in range(2):
        if kind not in (0x8100, 0x88a8) or at + 4 > len(frame):
            break
        kind, at = struct.unpack_from(">H", frame, at + 2)[0], at + 4
    return look_v4(frame, at) if kind == 0x0800 else look_v6(frame, at) if kind == 0x86dd else None


# ---- packets ----

def transport_bytes(rnd, proto):
    ports = struct.pack(">HH", rnd.choice((53, 1024, rnd.randrange(65536))),
                        rnd.choice((22, 53, 80, 90, 91, 999, 1000, 1999, 2000, 65535, rnd.randrange(65536))))
    if proto == 6:
        return ports + bytes(8) + bytes((0x50, rnd.choice((0x02, 0x10, 0x12, 0x04, 0x01, 0x18)))) + bytes(6)
    if proto in (17, 132):
        return ports + bytes(8 if proto == 132 else 4)
    return bytes((rnd.choice((0, 3, 8, 127, 128, 135, 136, 137)),)) + bytes(7)


def v4(rnd):
    proto = rnd.choice((6, 6, 17, 17, 1, 132, 47))
    body = transport_bytes(rnd, proto) + bytes(rnd.randrange(20))
    options = bytes(4 * rnd.choice((0, 0, 0, 1, 10)))
    fragment = rnd.choice((0, 0, 0, 0, 0x2000, 0x2001, 100))
    total = rnd.choice((20 + len(options) + len(body),) * 8 + (0, 20, 27, 30))
    first = 0x40 | rnd.choice((5 + len(options) // 4,) * 20 + (4, 15))
    src = ipaddress.ip_address(f"10.{rnd.choice((8, 9))}.{rnd.choice((0, 1, 128))}.{rnd.randrange(256)}").packed
    dst = ipaddress.ip_address(f"10.9.{rnd.choice((0, 1, 127, 128))}.{rnd.randrange(256)}").packed
    head = struct.pack(">BBHHHBBH", first, 0, total, 1, fragment, 64, proto, 0) + src + dst
    return 0x0800, head + options + body


def extensions(rnd, proto):
    chain, numbers = b"", []
    for _ in range(rnd.choice((0, 0, 0, 1, 2, 3, 8, 9))):
        numbers.append(rnd.choice((0, 43, 60, 44)))
    for i, number in enumerate(numbers):
        follows = numbers[i + 1] if i + 1 < len(numbers) else proto
        size = 0 if number == 44 else rnd.choice((0, 0, 0, 1, 2))
        offset = rnd.choice((0, 0, 0, 1, 8, 0x100)) if number == 44 else 0
        chain += struct.pack(">BBH", follows, size, offset) + bytes(4 + 8 * size)
    return numbers[0] if numbers else proto, chain


def v6(rnd):
    proto = rnd.choice((6, 17, 58, 47, 59, 132))
    first, chain = extensions(rnd, proto)
    body = chain + transport_bytes(rnd, proto) + bytes(rnd.randrange(20))
    length = rnd.choice((len(body),) * 10 + (0, 7, 20))
    net = rnd.choice(("fd09::", "fd09:0:0:1::", "fd0a::"))
    src = ipaddress.ip_address(rnd.choice(("fd09::5", "fe80::1", "2001:db8::1"))).packed
    dst = ipaddress.ip_address(f"{net}{rnd.randrange(1, 4)}").packed
    version = rnd.choice((0x60,) * 20 + (0x40,))
    return 0x86dd, struct.pack(">BBHHBB", version, 0, 0, length, first, 64) + src + dst + body


def make_frames(n, seed):
    """Numbers of frames are the last four bytes of their source."""
    rnd, frames = random.Random(seed), []
    for i in range(n):
        kind, packet = rnd.choice((v4, v4, v6))(rnd)
        if rnd.random() < 0.1:
            packet = packet[:rnd.randrange(max(1, len(packet)))]
        if rnd.random() < 0.02:
            kind = 0x88b5   # of experiments
        # with less behind a tag the receiving side's kernel throws the frame away
        tag = struct.pack(">HH", 0x8100, 5) if rnd.random() < 0.05 and len(packet) > 2 else b""
        frames.append(b"\x02\0\0\0\0\1\x02\x77" + struct.pack(">I", i) + tag + struct.pack(">H", kind) + packet)
    return frames


# Both ends in one process, a hundred packets at a time: what a queue of the machine cannot take would look like a
# verdict.
# Sockets of one protocol get what traffic control let pass, those of all protocols what came.
TRAFFIC = """
import ctypes, os, select, socket
def packets(ns, device, proto):
    ctypes.CDLL(None).setns(os.open(ns, os.O_RDONLY), 0)
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(proto))
    s.bind((device, proto))
    return s
receivers = [packets("{to_ns}", "{to}", proto) for proto in (0x0800, 0x86dd, 0x88b5)]
sender = packets("{from_ns}", "{device}", 0)
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])   # one queue keeps their order
frames = [bytes.fromhex(line) for line in open("{file}")]
mark = frames.pop()
seen = set()
def read_all(timeout):
    while True:
        ready = select.select(receivers, [], [], timeout)[0]
        if not ready:
            return
        for s in ready:
            frame = s.recv(65536)
            if frame[6:8] == b"\\x02\\x77":
                seen.add(int.from_bytes(frame[8:12], "big"))
        timeout = 0
for at in range(0, len(frames), 100):
    for frame in frames[at:at + 100]:
        sender.send(frame)
    number = 1 << 31 | at
    while number not in seen:
        sender.send(mark[:8] + number.to_bytes(4, "big") + mark[12:])
        read_all(1)
print(*sorted(n for n in seen if n < 1 << 31))
"""
# An address that no frame above has; rules let it pass in both directions.
MARK = bytes.fromhex("020000000001" "027780000000" "0800") + struct.pack(
    ">BBHHHBBH8s12sBB6x", 0x45, 0, 40, 1, 0, 64, 6, 0, bytes((10, 7, 7, 7, 10, 9, 0, 2)), bytes(12), 0x50, 0x10)


def is_frame(conn, link):
    """Neither the mark nor what a kernel sends by itself: it asks for a neighbour seconds after the last packet to
    it, answers such questions, and reports multicast groups."""
    return conn.get("src") not in ("10.7.7.7", link.a_ip6, link.b_ip6) and not conn.get("dst", "").startswith("ff02:")


def run_packets(sonde, tmp_path, link, frames, way, words):
    """Sends frames from link.a; returns (verdict events in order, numbers that arrived, all events)."""
    (tmp_path / "rules").write_text(RULES)
    (tmp_path / "frames").write_text("\n".join(frame.hex() for frame in [*frames, MARK]))
    ns, device = (link.b, link.b_dev) if way == "in" else (link.a, link.a_dev)
    s = sonde("policy", str(tmp_path / "rules"), "-i", device, "--verdicts", "all", "--json", *words, netns=ns)
    code = TRAFFIC.format(to_ns=link.b.path, to=link.b_dev, from_ns=link.a.path, device=link.a_dev,
                          file=tmp_path / "frames")
    seen = helpers.sh("/usr/bin/python3", "-c", code, timeout=60).stdout.split()
    events = s.finish()
    verdicts = [ev for ev in events if ev["type"] == "net.policy-verdict" and is_frame(ev.get("conn", {}), link)]
    return verdicts, {int(n) for n in seen}, events


def check_verdicts(frames, way, verdicts, arrived, events):
    policy = read_rules(RULES)
    want = [evaluate(policy, frame, way) for frame in frames]
    told = [verdict for verdict in want if verdict]
    assert len(verdicts) == len(told)
    ways = {"in": "ingress", "out": "egress"}
    shown = {"allow": "allow", "audit": "audit", "deny": "audit"}
    for number, (ev, (action, line)) in enumerate(zip(verdicts, told)):
        assert (ev["action"], ev.get("rule", 0), ev["dir"]) == (shown[action], line, ways[way]), (number, ev)
    assert arrived == set(range(len(frames)))
    assert not [ev for ev in events if ev["type"] == "net.drop"]
    counted = collections.Counter()
    for ev in events:
        if ev["type"] == "net.count" and ev["kind"] == "policy":
            counted[ev["reason"]] += ev["packets"]
    assert sum(counted.values()) == sum(ev["type"] == "net.policy-verdict" for ev in events)
    return collections.Counter(action for action, _ in told)


@pytest.mark.parametrize("way", ["in", "out"])
def test_5000_packets_are_audited_and_all_pass(sonde, link, tmp_path, way):
    frames = make_frames(5000, ["in", "out"].index(way) + 1)
    verdicts, arrived, events = run_packets(sonde, tmp_path, link, frames, way, [])
    actions = check_verdicts(frames, way, verdicts, arrived, events)
    assert min(actions["allow"], actions["deny"], actions["audit"]) > 100


def test_each_rule_has_its_packets_and_bytes(sonde, link, tmp_path):
    """In the table, in JSON and for Prometheus: the line, what it says, how much it decided."""
    rules = tmp_path / "rules"
    rules.write_text("deny in udp port 9\naudit in udp port 10\n\nallow in udp\n")
    one = sonde("policy", str(rules), "-i", link.b_dev, "--netns", link.b.name, "--verdicts", "all", "-o", "json",
                "-o", f"text:{tmp_path}/table", "-o", f"prometheus:{tmp_path}/prom")
    link.a.python(f"""
import socket
for port, count in ((9, 3), (10, 2), (11, 1)):
    for i in range(count):
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x" * 50, ("{link.b_ip}", port))
""")
    one.wait_for(lambda ev: ev["type"] == "net.policy-verdict" and ev["dir"] == "ingress", 6)
    beside = sonde("counters", "--policy", "-j", wait=False)
    assert beside.child.wait(helpers.READY_S) == 0, beside.stderr
    events = one.finish()
    want = {("deny in udp port 9", 1, 3), ("audit in udp port 10", 2, 2), ("allow in udp", 4, 1)}
    size = 14 + 20 + 8 + 50
    beside.stop()
    for told in (events, beside.events):    # others may hold packets against rules of theirs meanwhile
        rows = {(ev["reason"], ev["verdict"], ev["line"], ev["packets"], ev["bytes"]) for ev in told
                if ev["type"] == "net.count" and ev.get("file") == str(rules) and ev["dir"] == "in"}
        assert rows == {(text, "allow" if text.startswith("allow") else "audit", line, n, n * size)
                        for text, line, n in want}
    assert {ev["iface"] for ev in beside.events if ev.get("file") == str(rules)} == {link.b_dev}
    table = (tmp_path / "table").read_text()
    prom = (tmp_path / "prom").read_text()
    for text, line, n in want:
        row = next(row for row in table.splitlines() if f" {text} " in row and " in " in row and "policy " in row)
        assert row.split()[-3:] == [str(n), str(n * size), f"{rules}:{line}"]
        for what, value in (("packets", n), ("bytes", n * size)):
            sample, = [x for x in prom.splitlines()
                       if x.startswith(f'sonde_net_count_{what}_total{{kind="policy",reason="{text}",dir="in"')]
            assert sample.split()[-1] == str(value)


def reload_rules(child, path, text, answer):
    """Writes the rules, says so, and waits for the sentence about them."""
    path.write_text(text)
    before = child.stderr.count(answer)
    child.child.send_signal(signal.SIGHUP)
    deadline = time.monotonic() + 20
    while child.stderr.count(answer) == before:
        assert time.monotonic() < deadline, child.stderr
        time.sleep(0.02)


def verdict_of_ping(link, child, number):
    """(action, line) of the verdict on the echo request that reaches link.b as the @number-th one."""
    link.a.run("ping", "-c1", "-W5", link.b_ip)
    ev = child.wait_for(lambda ev: ev["type"] == "net.policy-verdict" and ev["dir"] == "ingress" and
                        ev["conn"]["proto"] == "icmp", number)[-1]
    return ev["action"], ev.get("rule", 0)


def test_rules_are_reloaded(sonde, link, tmp_path):
    """SIGHUP switches to the new rules, and keeps the old ones when the file has an error; packets always pass."""
    rules = tmp_path / "rules"
    rules.write_text("deny in icmp\n")
    child = sonde("policy", str(rules), "--netns", link.b.name, "-i", link.b_dev, "--verdicts", "all", "--json")
    assert verdict_of_ping(link, child, 1) == ("audit", 1)
    reload_rules(child, rules, "\nallow in icmp\n", "1 rules active")
    assert verdict_of_ping(link, child, 2) == ("allow", 2)
    reload_rules(child, rules, "deny in icmp\ndeny sideways\n", "the old rules stay active")
    assert verdict_of_ping(link, child, 3) == ("allow", 2)
    reload_rules(child, rules, "\n\ndefault deny\n", "0 rules active")
    assert verdict_of_ping(link, child, 4) == ("audit", 3)


def test_an_interface_that_takes_no_filter_is_reported(sonde, link, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text("deny in icmp\n")
    link.b.run("tc", "qdisc", "add", "dev", link.b_dev, "ingress_block", "22", "clsact")   # takes no filter here
    audited = sonde.run("policy", str(rules), "--netns", link.b.name, "-i", link.b_dev, "--attach", "clsact",
                        "--duration", "1s", timeout=helpers.READY_S)
    assert audited.returncode == 0 and f"warning: {link.b_dev}" in audited.stderr


# ---- processes ----

# Answers one connection and closes behind its client, so that its socket is there for every packet.
ANSWER = """
import os, socket, sys
cgroup, comm, port = sys.argv[1:]
if cgroup:
    open(f"{cgroup}/cgroup.procs", "w").write(str(os.getpid()))
if comm:
    open("/proc/self/comm", "w").write(comm)
s = socket.create_server(("0.0.0.0", int(port)))
print("up", flush=True)
while True:
    c, _ = s.accept()
    c.sendall(b"hello")
    while c.recv(9):
        pass
    c.close()
"""
MEET = """
import socket, sys
for port in sys.argv[2:]:
    try:
        c = socket.create_connection((sys.argv[1], int(port)), timeout=0.5)
        print(c.recv(9).decode(), flush=True)
        c.shutdown(socket.SHUT_WR)
        assert not c.recv(9)
    except TimeoutError:
        print("nobody", flush=True)
"""


@pytest.fixture
def cgroup():
    """A cgroup inside another one: (its path under the mount, the other one's name)."""
    if not helpers.cgroup_root():
        pytest.skip("no cgroup2 is mounted")
    outer = os.path.join(helpers.cgroup_root(), f"sd-e2e-{os.getpid()}")
    inner = os.path.join(outer, "inner")
    os.makedirs(inner)
    yield inner, "/" + os.path.basename(outer)
    for path in (inner, outer):
        with open(f"{path}/cgroup.procs", encoding="ascii") as f:
            assert not f.read()
        os.rmdir(path)


@pytest.fixture
def servers(link, cgroup):
    """{port: process}: one in the cgroup, one with a name, one that will be known by its id, and one more."""
    words = {7001: (cgroup[0], ""), 7002: ("", "sdserver"), 7003: ("", ""), 7004: ("", "")}
    made = {port: link.b.popen("/usr/bin/python3", "-c", ANSWER, *pair, str(port)) for port, pair in words.items()}
    for child in made.values():
        assert child.stdout.readline() == "up\n"
    yield made
    for child in made.values():
        helpers.stop_process(child)


def process_rules(path, servers, cgroup):
    path.write_text(f"deny tcp cgroup {cgroup[1]}\ndeny tcp comm sdserver\ndeny tcp pid {servers[7003].pid}\n")
    return [str(path), "-i"]


def meet(link, servers):
    return link.a.run("/usr/bin/python3", "-c", MEET, link.b_ip, *map(str, servers), timeout=30).stdout.split()


def test_every_packet_has_the_rule_of_its_process(sonde, link, servers, cgroup, tmp_path):
    """Both directions, from the SYN to the last acknowledgement."""
    words = process_rules(tmp_path / "rules", servers, cgroup)
    one = sonde("policy", *words, link.b_dev, "--netns", link.b.name, "--verdicts", "all", "--json")
    assert meet(link, servers) == ["hello"] * 4
    told = collections.Counter()
    for ev in one.finish():
        if ev["type"] == "net.policy-verdict":
            conn = ev["conn"]
            assert {conn["sport"], conn["dport"]} & set(servers)
            port = conn["dport"] if ev["dir"] == "ingress" else conn["sport"]
            told[port, ev["dir"], ev["action"], ev.get("rule")] += 1
    assert set(told) == {(port, way, "audit" if rule else "allow", rule) for way in ("ingress", "egress")
                         for port, rule in ((7001, 1), (7002, 2), (7003, 3), (7004, None))}
    # SYN, its acknowledgement, that of the answer, FIN, and the last one or more; and what answers them
    assert all(n >= (4 if key[1] == "ingress" else 3) for key, n in told.items()), told


TAKE_ONE = """
import socket
open("/proc/self/comm", "w").write("{comm}")
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7005))
print("up", flush=True)
_, peer = s.recvfrom(9)
if {answers}:
    s.sendto(b"x", peer)
"""
ASK_FROM_7006 = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7006))
s.sendto(b"?", ("{ip}", 7005))
assert not {answers} or s.recv(9)
"""


def test_a_datagram_has_the_rule_of_the_process_that_has_the_port_now(sonde, link, tmp_path):
    """The one before answered the same client and closed its socket."""
    rules = tmp_path / "rules"
    rules.write_text("deny in udp comm sdbefore\ndeny in udp comm sdafter\n")
    running = sonde("policy", str(rules), "-i", link.b_dev, "--netns", link.b.name, "--json")
    for comm, answers in (("sdbefore", True), ("sdafter", False)):
        server = link.b.python_popen(TAKE_ONE.format(comm=comm, answers=answers))
        assert server.stdout.readline() == "up\n"
        link.a.python(ASK_FROM_7006.format(ip=link.b_ip, answers=answers))
        server.wait()
    assert [ev["rule"] for ev in running.finish() if ev["type"] == "net.policy-verdict"] == [1, 2]


def test_a_monitor_of_verdicts_ends_with_their_number(sonde, netns, tmp_path):
    """Each has its packet, which the monitor has not seen by itself."""
    ns, rules, path = netns(), tmp_path / "rules.conf", str(tmp_path / "monitor.sock")
    rules.write_text("deny out icmp\n")
    running = sonde("policy", str(rules), "-i", "lo", "--json", "--serve-cilium", path, netns=ns)
    seen = sonde("monitor", "--cilium", path, "--json", "--where", "evt.type=policy-verdict")
    ns.run("ping", "-c", "2", "-i", "0.2", "127.0.0.1")
    seen.wait_for(lambda ev: ev["type"] == "net.policy-verdict", count=4)
    shown = sum(ev["type"] == "net.policy-verdict" for ev in seen.finish())
    assert seen.stderr.splitlines()[-1].startswith(f"0 packets, 0 drops, {shown} other events in ")
    running.finish()


def test_counters_are_one_table(sonde, netns, tmp_path):
    """In text, header and rows begin in the first column, without times, and numbers end below their titles."""
    ns, rules = netns(), tmp_path / "rules.conf"
    rules.write_text("allow out icmp\ndeny out tcp port 9\n")
    running = sonde("policy", str(rules), "-i", "lo", netns=ns)
    ns.run("ping", "-c", "1", "127.0.0.1")
    running.stop()
    header, *rows = running.lines[[line.startswith("KIND") for line in running.lines].index(True):]
    assert len(rows) > 1 and all(row.startswith("policy  ") for row in rows)
    for title in ("PACKETS", "BYTES"):
        end = header.index(title) + len(title)
        assert all(row[end - 1].isdigit() and row[end] == " " for row in rows), running.lines
