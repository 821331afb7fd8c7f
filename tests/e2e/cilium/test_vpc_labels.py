# SPDX-License-Identifier: GPL-2.0-or-later
"""Each kind of event of the example network, from real packets, by the names that people read: in our own form and
as Cilium's client prints it. Lines of source are found in the source, by what stands there.
"""
import collections
import json
import os
import re

import helpers
import pytest
from test_vpc import GATEWAY_MAC, ROOT, TABLE, Network, ask, serve

TOUR = 20000
MORE = f"""
allow 10.9.0.11 udp/90
tour {TOUR}
"""
POINTS = ["to-endpoint", "to-proxy", "to-host", "to-stack", "to-overlay", "from-endpoint", "from-proxy", "from-host",
          "from-stack", "from-overlay", "from-network", "to-network", "from-crypto", "to-crypto"]
REASONS = ["new", "established", "reply", "related", "reopened", "unknown", "srv6-encap", "srv6-decap",
           "encrypt-overlay"]
TOUR_STOPS = [(point, 5) for point in range(14)] + [(5, reason) for reason in (0, 1, 2, 3, 4, 6, 7, 8)] + [(5, 15)]

# Frames that a kernel would not send: an endpoint that pretends, that cuts, that speaks something else.
RAW = """
import socket, struct
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("eth0", 0))
mac = s.getsockname()[4]
gateway = bytes.fromhex("{gateway}")
def ip(src="10.9.0.10", proto=17, rest=struct.pack(">HHHH", 1, 2, 8, 0)):
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(rest), 1, 0, 64, proto, 0) + socket.inet_aton(src) + \\
        socket.inet_aton("10.9.0.11") + rest
for source, kind, packet in ((b"\\x02" + bytes(5), 0x0800, ip()), (mac, 0x0800, ip(src="10.9.0.99")),
                             (mac, 0x0800, ip()[:16]), (mac, 0x0800, ip(proto=47)), (mac, 0x88b5, bytes(50))):
    s.send(gateway + source + struct.pack(">H", kind) + packet)
"""
TALK = """
import socket
def datagram(ip, port, data=b"x", ttl=None):
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.connect((ip, port))
    if ttl:
        u.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
    u.send(data)
    return u
def refused(u):
    u.settimeout(5)
    try:
        u.recv(9)
    except ConnectionRefusedError:
        return
    raise SystemExit("nobody refused it")
refused(datagram("10.9.0.11", 90))
refused(datagram("192.0.2.2", 91))
datagram("10.9.0.11", 90, ttl=1)
datagram("192.0.2.2", 5353, b"x" * 40)
for point, reason in {stops}:
    datagram("192.0.2.2", {tour} + 16 * point + reason)
"""


def place(function, *texts, file="vpc.bpf.c"):
    """FILE:LINE of the one line in a function of the example that has these texts."""
    with open(os.path.join(ROOT, "examples/vpc", file), encoding="utf-8") as f:
        lines = f.read().splitlines()
    start = next(i for i, line in enumerate(lines) if re.match(rf"(static|int|__).*\b{function}\(", line))
    end = next(i for i in range(start, len(lines)) if lines[i] == "}")
    found = [i for i in range(start, end) if all(text in lines[i] for text in texts)]
    assert len(found) == 1, (function, texts, found)
    return f"{file}:{found[0] + 1}"


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """The events of all that is done to the network, and a way to print them again."""
    folder, made = str(tmp_path_factory.mktemp("vpc")), []

    def netns():
        made.append(helpers.Netns())
        return made[-1]
    network = Network(netns, folder, MORE)
    try:
        yield record(network, folder)
    finally:
        network.stop()
        for ns in made:
            ns.close()


class Seen:
    """@file: the same events as a recording; @a_index: of vpc-a; @counted: what `sonde counters` said."""

    def __init__(self, events, file, a_index, counted):
        self.events, self.file, self.a_index, self.counted = events, file, a_index, counted
        self.cilium = self.lines("--format", "cilium", "-v")
        self.long = self.lines("--format", "cilium", "-vv")
        self.ours = [line.split(" ", 1)[1] for line in self.lines()]

    def lines(self, *words):
        done = helpers.sh(helpers.BINARY, "monitor", "-r", self.file, *words, timeout=helpers.READY_S)
        return done.stdout.splitlines()

    def of(self, kind, **fields):
        return [ev for ev in self.events if ev["type"] == f"net.{kind}" and
                all(ev.get(key) == value for key, value in fields.items())]


def record(network, folder):
    network.start(reader=False)
    file = os.path.join(folder, "all.rec")
    one = helpers.Sonde("monitor", "--event-map", f"{network.pins}/sonde_events", "--event-names", TABLE, "--json",
                        "-o",
                        f"rec:{file}", netns=network.router)
    for port in (80, 81, 82):
        serve(network.b, port)
    serve(network.out, 8000)
    for port in (80, 81):
        assert ask(network.a, "10.9.0.11", port).stdout == "hello\n"
    assert ask(network.a, "10.9.0.11", 82, timeout=0.3, check=False).returncode
    assert ask(network.a, "10.9.9.9", 80).stdout == "hello\n"
    assert ask(network.b, "192.0.2.2", 8000).stdout == "hello\n"
    network.a.python(TALK.format(stops=TOUR_STOPS, tour=TOUR))
    network.a.python(RAW.format(gateway=GATEWAY_MAC.replace(":", "")))
    network.out.python('import socket; socket.socket(2, 2).sendto(b"x", ("192.0.2.1", 4000))')
    one.wait_for(lambda ev: ev.get("reason") == "No mapping for NAT masquerade")
    events = one.finish()
    rows = helpers.sh(helpers.BINARY, "counters", "--event-map", f"{network.pins}/sonde_metrics", "--event-names",
                      TABLE,
                      "--json", timeout=helpers.READY_S).stdout.splitlines()
    return Seen(events, file, network.router.link_index("vpc-a"), [json.loads(row) for row in rows])


def ends(ev):
    conn = ev["conn"]
    ports = [f":{conn[key]}" if key in conn else "" for key in ("sport", "dport")]
    return f"{conn['src']}{ports[0]} -> {conn['dst']}{ports[1]}"


def udp(ev):
    """The end of our line: what is left of the packet behind Ethernet, IPv4 and UDP."""
    return f"udp {ev['packet']['len'] - 42} B"


def test_traces_at_each_point_and_with_each_reason(seen):
    arrows = ["-> endpoint 77", "-> proxy port 77", "-> host from", "-> stack", "-> overlay", "<- endpoint 101",
              "<- proxy", "<- host", "<- stack", "<- overlay", "<- network", "-> network", "<- crypto", "-> crypto"]
    for point, reason in TOUR_STOPS:
        wanted = TOUR + 16 * point + reason
        (ev,) = [ev for ev in seen.of("trace", dst_endpoint=77) if ev["conn"]["dport"] == wanted]
        state, encrypted = REASONS[reason if reason < 9 else 1], reason > 8
        assert (ev["point"], ev["state"], ev.get("encrypted", False)) == (POINTS[point], state, encrypted)
        assert ev["orig_ip"] == "10.9.0.10" and ev["src_endpoint"] == 101
        assert (f"{arrows[point]} {'encrypted  ' if encrypted else ''}flow 0x{ev['hash']:x} , identity 1001->unknown "
                f"state {state} ifindex vpc-a orig-ip 10.9.0.10: {ends(ev)} udp"
                ) in seen.cilium
        way, where = POINTS[point].split("-")
        assert (f"{'->' if way == 'to' else '<-'} {where} vpc-a: {ends(ev)} {udp(ev)}  "
                f"{{endpoint 101 1001->unknown to 77, {state}}}") in seen.ours


def test_traces_of_conversations(seen):
    """What the example's own connection table says: by packet, and behind its translation."""
    def states(point, proto, **end):
        return [ev["state"] for ev in seen.of("trace", point=point) if ev["conn"]["proto"] == proto and
                end.items() <= ev["conn"].items()]
    asked, answered = (states("to-endpoint", "tcp", **{port: 81}) for port in ("dport", "sport"))
    assert asked[0] == "new" and set(asked[1:]) == {"established"} and set(answered) == {"reply"}
    out, back = states("to-network", "tcp", dport=8000), states("to-endpoint", "tcp", sport=8000)
    assert out[0] == "new" and set(out[1:]) == {"established"} and set(back) == {"reply"}
    for src in ("10.9.0.11", "192.0.2.2"):	# refusals: of the other endpoint, and translated back
        related = [ev for ev in seen.of("trace", point="to-endpoint", state="related") if ev["conn"]["src"] == src]
        assert related and {ev["conn"]["dst"] for ev in related} == {"10.9.0.10"}
        assert any(line.startswith("-> endpoint 101 flow 0x0 ") and " state related " in line and
                   f": {src} -> 10.9.0.10 icmp DestinationUnreachable(Port)" in line for line in seen.cilium)


DROPS = {
    "Policy denied": ("to_endpoint", "DROP_POLICY_DENIED"),
    "TTL exceeded": ("vpc_from_endpoint", "DROP_TTL_EXCEEDED"),
    "Invalid source mac": ("vpc_from_endpoint", "dropped(&v, r,"),
    "Invalid source ip": ("vpc_from_endpoint", "dropped(&v, r,"),
    "Invalid packet": ("vpc_from_endpoint", "dropped(&v, r,"),
    "Unknown L4 protocol": ("vpc_from_endpoint", "dropped(&v, r,"),
    "Unsupported L2 protocol": ("vpc_from_endpoint", "return dropped(&v, DROP_UNSUPPORTED_L2"),
    "No mapping for NAT masquerade": ("vpc_from_network", "DROP_NO_NAT_PORT"),
}


@pytest.mark.parametrize("reason", DROPS)
def test_drops_have_reason_and_place(seen, reason):
    (ev,) = seen.of("drop", reason=reason)
    where = place(*DROPS[reason])
    assert f"{ev['file']}:{ev['line']}" == where
    (line,) = [line for line in seen.cilium if line.startswith(f"xx drop ({reason}) ")]
    assert f", ifindex {ev['packet']['ifindex']}, file {where}, , identity " in line
    iface = "vpc-up" if ev.get("src_identity") == 2 else "vpc-a"
    assert ev["iface"] == iface
    assert any(line.startswith(f"xx drop ({reason}) at {where} {iface}: ") for line in seen.ours)
    (row,) = [row for row in seen.counted if row.get("reason") == reason]
    assert (row["kind"], f"{row['file']}:{row['line']}") == ("dropped", where)


def test_verdicts(seen):
    def told(ev):
        return ev["action"], ev["verdict"], ev["match"], ev.get("rule"), ev["dir"], ev["endpoint"], ev["identity"]
    by_port = {ev["conn"]["dport"]: ev for ev in seen.of("policy-verdict")}
    assert {port: told(ev) for port, ev in by_port.items()} == {
        80: ("allow", 0, "L4-Only", 1, "ingress", 101, 1001), 81: ("audit", 0, "L4-Only", 2, "ingress", 101, 1001),
        82: ("deny", -133, "none", None, "ingress", 101, 1001), 90: ("allow", 0, "L4-Only", 4, "ingress", 101, 1001)}
    for ev in by_port.values():
        proto, last = (6, "tcp SYN") if ev["conn"]["proto"] == "tcp" else (17, "udp")
        assert (f"Policy verdict log: flow 0x{ev['hash']:x} local EP ID 101, remote ID 1001, proto {proto}, ingress, "
                f"action {ev['action']}, auth: disabled, match {ev['match']}, {ends(ev)} {last}") in seen.cilium
        why = " (Policy denied)" if ev["action"] == "deny" else ""
        rule = f", rule {ev['rule']}" if "rule" in ev else ""
        assert (f"policy {ev['action']}{why} ingress endpoint 101 identity 1001, match {ev['match']}{rule}: "
                f"{ends(ev)} {last if proto == 6 else udp(ev)}") in seen.ours


def test_messages_captures_and_the_recorder(seen):
    (sent,) = [ev for ev in seen.of("trace", point="from-endpoint") if ev["conn"].get("dport") == 5353]
    sport, mark = sent["conn"]["sport"], f"MARK 0x{sent['hash']:x} FROM 101 DEBUG: "
    lookup = f"CT lookup: sport={sport} dport=5353 nexthdr=17 flags="
    (mapped,) = [ev for ev in seen.of("debug", code=17) if ev["text"].startswith(f"Mapping port from={sport} to=")]
    assert seen.of("debug", code=6, text=lookup, endpoint=101)
    for text in (lookup, mapped["text"]):
        assert any(line.endswith(mark + text) for line in seen.cilium)
        assert f"debug endpoint 101: {text}" in seen.ours

    outside = mapped["text"].rsplit("=", 1)[1]
    for code, text, src in ((10, "Packet going into snat engine", f"10.9.0.10:{sport}"),
                            (11, "Packet coming from snat engine", f"192.0.2.1:{outside}")):
        text += f" on ifindex {seen.a_index}"
        (ev,) = [ev for ev in seen.of("capture", code=code) if ends(ev) == f"{src} -> 192.0.2.2:5353"]
        assert ev["text"] == text and ev["caplen"] == 14 + 20 + 8 + 40
        assert any(line.endswith(f"{mark}82 bytes, {text}") for line in seen.long)
        assert f"capture endpoint 101: {text}: {ends(ev)} {udp(ev)}" in seen.ours

    (ev,) = seen.of("recorder")
    assert (ev["rule"], ev["dir"], ev["len"], ev["caplen"]) == (1, "egress", 82, 82) and ev["conn"]["sport"] == sport
    assert any(re.fullmatch(r"Recorder capture: dir:egress rule:1 ts:\d+ caplen:82 len:82", line)
               for line in seen.cilium)
    assert f"recorder rule 1 egress: {ends(ev)} {udp(ev)}" in seen.ours


def test_sockets(seen):
    told = [(ev["point"], ev["conn"]) for ev in seen.of("trace-sock")]
    assert told == [("pre-xlate-fwd", {"proto": "tcp", "dst": "10.9.9.9", "dport": 80}),
                    ("post-xlate-fwd", {"proto": "tcp", "dst": "10.9.0.11", "dport": 80})]
    for ev in seen.of("trace-sock"):
        line = (f"[{ev['point']}] cgroup_id: {ev['cgroup_id']} sock_cookie: {ev['cookie']}, "
                f"dst [{ev['conn']['dst']}]:80 tcp ")
        assert f"CPU {ev['cpu']:02}: {line}" in seen.cilium and f"CPU {ev['cpu']:02}: {line}" in seen.ours


def test_points_are_counted_where_they_stand(seen):
    """Traces have no line; their counters do. Each has as many packets as there are events."""
    def packets(reason, where, direction=None):
        return sum(row["packets"] for row in seen.counted if row.get("reason") == reason and
                   f"{row['file']}:{row['line']}" == where and direction in (None, row["dir"]))
    traces = collections.Counter(ev["point"] for ev in seen.of("trace") if ev.get("dst_endpoint") != 77)
    for function, constant, point in (("vpc_from_endpoint", "SONDE_FROM_ENDPOINT", "from-endpoint"),
                                      ("to_endpoint", "SONDE_TO_ENDPOINT", "to-endpoint"),
                                      ("to_network", "SONDE_TO_NETWORK", "to-network"),
                                      ("vpc_from_network", "SONDE_FROM_NETWORK", "from-network")):
        assert packets("Success", place(function, "sonde_trace(", constant)) == traces[point] > 0, point
    assert packets("Success", place("toured", "sonde_trace(")) == len(TOUR_STOPS)
    assert packets("l3_fwd", place("to_endpoint", "POINT_L3_FWD")) == traces["to-endpoint"]
    assert packets("snat", place("nat_source", "POINT_SNAT", file="vpc_nat.h")) == traces["to-network"]
    back = [packets("rev_snat", place(name, "POINT_REV_SNAT", file="vpc_nat.h")) for name in
            ("nat_back", "nat_back_about")]
    assert min(back) > 0 and sum(back) == traces["from-network"] - len(seen.of("drop", src_identity=2))
    assert packets("arp_response", place("arp_answer", "POINT_ARP_RESPONSE", file="vpc_arp.h")) >= 2
