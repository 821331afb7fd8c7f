# SPDX-License-Identifier: GPL-2.0-or-later
"""The event library, by the example network that is built with it: real packets, and each kind of event from them.

bpftool reads the pinned maps, and the events are taken apart here by the layout that Cilium's readers know, so
neither side of ours is its own judge.
"""
import collections
import json
import os
import signal
import socket
import struct
import subprocess
import time

import helpers
import pytest

BUILD = os.path.dirname(helpers.BINARY)
ROOT = helpers.ROOT
VPC = os.path.join(BUILD, "examples/vpc/vpc")
TABLE = os.path.join(ROOT, "examples/vpc/vpc.tsv")
DROP, DEBUG, CAPTURE, TRACE, POLICY, RECORDER, SOCK = range(1, 8)
TO_ENDPOINT, FROM_ENDPOINT, FROM_NETWORK, TO_NETWORK = 0, 5, 10, 11
GATEWAY_MAC = "02:00:00:00:00:fe"
Event = collections.namedtuple("Event", "kind sub source raw packet")


def octets(data):
    """bpftool writes bytes as numbers or as "0x12", by command."""
    return bytes(b if isinstance(b, int) else int(b, 16) for b in data)


def decode(raw):
    """Type, subtype and the captured packet, by the fixed sizes of each kind."""
    kind, sub, source = struct.unpack_from("<BBH", raw)
    size = {DROP: 48, CAPTURE: 24, TRACE: 56, POLICY: 40, RECORDER: 24}.get(kind)
    if size is None:
        return Event(kind, sub, source, raw, b"")
    cap = struct.unpack_from("<I", raw, 16)[0] if kind == RECORDER else struct.unpack_from("<H", raw, 12)[0]
    return Event(kind, sub, source, raw, raw[size:size + cap])


def addresses(packet):
    return socket.inet_ntoa(packet[26:30]), socket.inet_ntoa(packet[30:34])


def line_of(event):
    """Source line and file of a drop."""
    line, file = struct.unpack_from("<HB", event.raw, 28)
    return line, file


class Network:
    """Endpoints a and b, and the outside, around a router with the example in it."""

    def __init__(self, netns, folder, more=""):
        """@more: lines for the configuration."""
        self.router, self.a, self.b, self.out = netns(), netns(), netns(), netns()
        self.folder, self.vpc, self.reader = folder, None, None
        macs = {}
        for name, ns, ip in (("a", self.a, "10.9.0.10"), ("b", self.b, "10.9.0.11"), ("up", self.out, "192.0.2.2")):
            helpers.sh("ip", "link", "add", f"vpc-{name}", "netns", self.router.name, "type", "veth", "peer", "eth0",
                       "netns", ns.name)
            self.router.run("ip", "link", "set", f"vpc-{name}", "addrgenmode", "none")
            self.router.run("ip", "link", "set", f"vpc-{name}", "up")
            ns.run("ip", "link", "set", "eth0", "addrgenmode", "none")
            ns.run("ip", "addr", "add", f"{ip}/24", "dev", "eth0")
            ns.run("ip", "link", "set", "eth0", "up")
            macs[name] = ns.mac("eth0")
        for ns in (self.a, self.b):
            ns.run("ip", "route", "add", "default", "via", "10.9.0.1")
            # endpoints reach one another through the gateway alone, as in a cloud
            ns.run("ip", "route", "del", "10.9.0.0/24", "dev", "eth0")
            ns.run("ip", "route", "add", "10.9.0.1", "dev", "eth0")
            ns.run("ip", "route", "replace", "default", "via", "10.9.0.1")
        self.config = os.path.join(folder, "vpc.conf")
        cgroup = f"cgroup {helpers.cgroup_root()}" if helpers.cgroup_root() else ""
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(f"""# two endpoints and a way out
gateway 10.9.0.1 {GATEWAY_MAC}
endpoint vpc-a 10.9.0.10 {macs["a"]} 101 1001
endpoint vpc-b 10.9.0.11 {macs["b"]} 102 1002
allow 10.9.0.11 tcp/80
audit 10.9.0.11 tcp/81
allow 10.9.0.11 icmp
uplink vpc-up 192.0.2.1 {macs["up"]}
service 10.9.9.9 80 10.9.0.11 80
capture 5353
{cgroup}
{more}
""")

    def start(self, reader=True):
        bpffs = os.path.join(self.folder, "bpf")
        os.mkdir(bpffs)
        helpers.sh("mount", "-t", "bpf", "none", bpffs)
        self.pins = os.path.join(bpffs, "vpc")
        self.vpc = self.router.popen(VPC, self.config, self.pins)
        ready = self.vpc.stdout.readline()
        assert ready.startswith("vpc: 2 endpoints, "), ready + self.vpc.stderr.read()
        if reader:
            self.reader = subprocess.Popen(
                ["bpftool", "-j", "map", "event_pipe", "pinned", f"{self.pins}/sonde_events"],
                stdout=subprocess.PIPE, text=True)

    def events(self):
        """Everything since the start, and the end of the reader."""
        time.sleep(0.3)	# bpftool polls every 200 ms
        self.reader.send_signal(signal.SIGINT)
        out = self.reader.communicate(timeout=10)[0]
        return [decode(octets(record["data"])) for record in json.loads(out) if "data" in record]

    def metrics(self):
        dump = json.loads(helpers.sh("bpftool", "-j", "map", "dump", "pinned", f"{self.pins}/sonde_metrics").stdout)
        ret = collections.Counter()
        for row in dump:
            key = octets(row["key"])
            ret[key[0]] += sum(struct.unpack("<QQ", octets(v["value"]))[0] for v in row["values"])
        return ret

    def stop(self):
        if self.reader and self.reader.poll() is None:
            self.reader.kill()
            self.reader.wait()
        if self.vpc:
            helpers.stop_process(self.vpc)
        helpers.sh("umount", os.path.join(self.folder, "bpf"), check=False)


@pytest.fixture
def network(netns, tmp_path):
    one = Network(netns, str(tmp_path))
    yield one
    one.stop()


SERVE = """
import socket
s = socket.create_server(("0.0.0.0", {port}))
print("up", flush=True)
while True:
    c, _ = s.accept()
    c.sendall(b"hello")
    c.close()
"""
ASK = 'import socket; c = socket.create_connection(("{ip}", {port}), timeout={timeout}); print(c.recv(9).decode())'


def serve(ns, port):
    child = ns.python_popen(SERVE.format(port=port))
    assert child.stdout.readline() == "up\n"


def ask(ns, ip, port, timeout=5, check=True):
    return ns.python(ASK.format(ip=ip, port=port, timeout=timeout), check=check)


def drops(events):
    return [(e.sub, e.source) for e in events if e.kind == DROP]


def test_every_kind_comes_from_real_packets(network):
    network.start()
    for port in (80, 81, 82):
        serve(network.b, port)
    serve(network.out, 8000)
    assert ask(network.a, "10.9.0.11", 80).stdout == "hello\n"		# allowed
    assert ask(network.a, "10.9.0.11", 81).stdout == "hello\n"		# audited
    assert ask(network.a, "10.9.0.11", 82, timeout=0.3, check=False).returncode	# denied
    assert ask(network.a, "10.9.9.9", 80).stdout == "hello\n"		# a service that stands for b
    refused = helpers.sh(helpers.BINARY, "monitor", "--event-map", f"{network.pins}/sonde_events", check=False,
                         timeout=helpers.READY_S)
    assert refused.returncode == 1 and f"bpftool (process {network.reader.pid}) reads it" in refused.stderr
    assert ask(network.b, "192.0.2.2", 8000).stdout == "hello\n"	# translated
    network.a.run("ping", "-q", "-c", "1", "-W", "2", "10.9.0.11")
    network.a.run("ping", "-q", "-c", "1", "-W", "2", "192.0.2.2")
    network.a.run("ping", "-q", "-c", "1", "-W", "1", "-t", "1", "10.9.0.11", check=False)	# one hop is too few
    network.a.python('import socket; socket.socket(2, 2).sendto(b"x" * 40, ("192.0.2.2", 5353))')
    events = network.events()

    assert {e.kind for e in events} == {DROP, DEBUG, CAPTURE, TRACE, POLICY, RECORDER, SOCK}
    traces = collections.Counter((e.sub, e.source) for e in events if e.kind == TRACE)
    for seen in ((FROM_ENDPOINT, 101), (TO_ENDPOINT, 101), (TO_ENDPOINT, 102), (TO_NETWORK, 102), (FROM_NETWORK, 0)):
        assert traces[seen], f"no trace {seen} in {traces}"
    assert (133, 101) in drops(events) and (196, 101) in drops(events)
    denied = next(e for e in events if e.kind == DROP and e.sub == 133)
    assert struct.unpack_from("<III", denied.raw, 16) == (1001, 1002, 102)
    assert addresses(denied.packet) == ("10.9.0.10", "10.9.0.11")
    # the line is the one that drops it, in the file of the table
    line, file = line_of(denied)
    with open(os.path.join(ROOT, "examples/vpc/vpc.bpf.c"), encoding="utf-8") as source:
        assert file == 1 and "DROP_POLICY_DENIED" in source.read().splitlines()[line - 1]

    verdicts = {(struct.unpack_from("<H", e.raw, 24)[0], struct.unpack_from("<i", e.raw, 20)[0], e.raw[27] >> 6 & 1)
                for e in events if e.kind == POLICY and e.raw[26] == 6}
    assert verdicts == {(80, 0, 0), (81, 0, 1), (82, -133, 0)}
    out = [e for e in events if e.kind == TRACE and e.sub == TO_NETWORK and e.source == 102]
    assert {addresses(e.packet) for e in out} == {("192.0.2.1", "192.0.2.2")}
    assert {socket.inet_ntoa(e.raw[32:36]) for e in out} == {"10.9.0.11"}	# who it was before
    recorded = next(e for e in events if e.kind == RECORDER)
    assert recorded.source == 1 and len(recorded.packet) == 14 + 20 + 8 + 40
    points = [(e.sub, socket.inet_ntoa(e.raw[24:28]), struct.unpack_from("<H", e.raw, 4)[0])
              for e in events if e.kind == SOCK]
    assert points == [(1, "10.9.9.9", 80), (2, "10.9.0.11", 80)]
    assert {e.sub for e in events if e.kind == CAPTURE} == {10, 11}
    assert {e.sub for e in events if e.kind == DEBUG} == {6, 17}

    counted = network.metrics()
    assert counted[133] == len([e for e in events if e.kind == DROP and e.sub == 133])
    assert counted[0] == sum(traces.values())
    assert counted[64] >= 2, "the gateway answered address questions"
    assert counted[66] and counted[67]
    compare_counters(network, counted)


def compare_counters(network, counted):
    """What `sonde counters --map` says of the pinned map is what bpftool read there, by the names of the table."""
    done = helpers.sh(helpers.BINARY, "counters", "--event-map", f"{network.pins}/sonde_metrics", "--event-names",
                      TABLE,
                      "--json", timeout=helpers.READY_S)
    rows = [ev for ev in map(json.loads, done.stdout.splitlines()) if ev["type"] == "net.count"]
    by_name = collections.Counter()
    for ev in rows:
        by_name[ev["kind"], ev["reason"]] += ev["packets"]
    assert by_name["dropped", "Policy denied"] == counted[133]
    assert by_name["dropped", "TTL exceeded"] == counted[196]
    assert by_name["forward", "arp_response"] == counted[64] and by_name["forward", "l3_fwd"] == counted[65]
    assert by_name["forward", "snat"] == counted[66] and by_name["forward", "rev_snat"] == counted[67]
    assert sum(by_name.values()) == sum(counted.values())
    denied = next(ev for ev in rows if ev["reason"] == "Policy denied")
    assert denied["file"] == "vpc.bpf.c" and denied["dir"] == "out"
    with open(os.path.join(ROOT, "examples/vpc/vpc.bpf.c"), encoding="utf-8") as source:
        assert "DROP_POLICY_DENIED" in source.read().splitlines()[denied["line"] - 1]
    wrong = helpers.sh(helpers.BINARY, "counters", "--event-map", f"{network.pins}/sonde_events", check=False,
                       timeout=helpers.READY_S)
    assert wrong.returncode == 2 and "does not hold counters" in wrong.stderr


def test_sonde_shows_what_is_in_the_map(network, sonde):
    network.start()
    serve(network.b, 80)
    ring = os.path.join(network.folder, "bpf", "ring")
    helpers.sh("bpftool", "map", "create", ring, "type", "ringbuf", "key", "0", "value", "0", "entries", "4096",
               "name", "sd_ring")
    one = sonde("monitor", "--event-map", f"{network.pins}/sonde_events", "--event-names", TABLE, "--steal", "--json")
    assert ask(network.a, "10.9.0.11", 80).stdout == "hello\n"
    assert ask(network.a, "10.9.9.9", 80).stdout == "hello\n"
    assert ask(network.a, "10.9.0.11", 82, timeout=0.3, check=False).returncode
    one.wait_for(lambda ev: ev["type"] == "net.drop" and ev["reason"] == "Policy denied")
    events = one.finish()

    denied = next(ev for ev in events if ev["type"] == "net.drop")
    assert denied["file"] == "vpc.bpf.c" and denied["line"] > 1 and denied["src_endpoint"] == 101
    assert denied["conn"] == {"proto": "tcp", "src": "10.9.0.10", "sport": denied["conn"]["sport"],
                              "dst": "10.9.0.11", "dport": 82}
    way = [ev for ev in events if ev["type"] == "net.trace" and ev["conn"].get("dport") == 80]
    assert {ev["point"] for ev in way} == {"from-endpoint", "to-endpoint"}
    assert [ev["ts_ns"] for ev in way] == sorted(ev["ts_ns"] for ev in way)
    assert {ev["action"] for ev in events if ev["type"] == "net.policy-verdict"} == {"allow", "deny"}
    assert [(ev["point"], ev["conn"]["dst"]) for ev in events if ev["type"] == "net.trace-sock"] == [
        ("pre-xlate-fwd", "10.9.9.9"), ("post-xlate-fwd", "10.9.0.11")]
    assert sonde.run("monitor", "--event-map", ring, "--duration", "10ms", timeout=helpers.READY_S).returncode == 0
    wrong = sonde.run("monitor", "--event-map", f"{network.pins}/sonde_metrics", timeout=helpers.READY_S)
    assert wrong.returncode == 2 and "does not carry events" in wrong.stderr


SOCKETS = """
import socket
c = socket.create_connection(("10.9.9.9", 80), timeout=5)
assert c.getpeername() == ("10.9.0.11", 80), c.getpeername()
for family, ip in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    server, client = socket.socket(family, socket.SOCK_DGRAM), socket.socket(family, socket.SOCK_DGRAM)
    server.bind((ip, 5000))
    client.sendto(b"x", (ip, 5000))
    data, peer = server.recvfrom(9)
    client.connect((ip, 5000))
    client.getpeername()
    client.close()	# one that is forgotten asks once more, for its warning
    server.close()
"""


def test_sockets_are_seen_before_and_behind_translation(network, sonde):
    network.start()
    serve(network.b, 80)
    one = sonde("monitor", "--agent=no", "--where", "evt.type=trace-sock", "--json", "-o",
                f"cilium:{network.folder}/cilium",
                "-v")
    child = network.a.python_popen(SOCKETS)
    assert child.wait(timeout=20) == 0, child.stderr.read()
    one.wait_for(lambda ev: ev.get("hook") == "getpeername" and ev["conn"]["dst"] == "::1")
    mine = [ev for ev in one.finish() if ev["type"] == "net.trace-sock" and ev["proc"]["pid"] == child.pid]

    seen = [(ev["hook"], ev["point"], ev["conn"]["dst"], ev["conn"].get("proto")) for ev in mine]
    assert seen[:3] == [("connect", "pre-xlate-fwd", "10.9.9.9", "tcp"),
                        ("connect", "post-xlate-fwd", "10.9.0.11", "tcp"),
                        ("getpeername", "pre-xlate-rev", "10.9.0.11", "tcp")]
    for ip in ("127.0.0.1", "::1"):	# nobody translates these: one event a call
        ours = [(hook, point, proto) for hook, point, dst, proto in seen if dst == ip]
        assert ours == [("sendmsg", "pre-xlate-fwd", "udp"), ("recvmsg", "pre-xlate-rev", "udp"),
                        ("connect", "pre-xlate-fwd", "udp"), ("getpeername", "pre-xlate-rev", "udp")]
    assert all(ev["cookie"] and ev["cgroup_id"] for ev in mine)
    first = mine[0]
    with open(f"{network.folder}/cilium", encoding="utf-8") as lines:
        assert any(line.rstrip("\n").endswith(f"[pre-xlate-fwd] cgroup_id: {first['cgroup_id']} sock_cookie: "
                                              f"{first['cookie']}, dst [10.9.9.9]:80 tcp ") for line in lines)


def test_it_leaves_nothing(network):
    network.start()
    network.vpc.send_signal(signal.SIGTERM)
    assert network.vpc.wait(timeout=10) == 0
    assert not os.path.exists(network.pins)
    links = json.loads(network.router.run("bpftool", "-j", "net").stdout)[0]
    assert not links["tc"], links


def test_the_object_has_the_numbers_of_the_table(tmp_path):
    tool = os.path.join(ROOT, "tools/gen_datapath.py")
    objects = os.path.join(BUILD, "examples/vpc/vpc.bpf.o")
    assert helpers.sh("/usr/bin/python3", tool, "check", TABLE, objects).returncode == 0
    other = tmp_path / "other.tsv"
    with open(TABLE, encoding="utf-8") as f:
        other.write_text(f.read().replace("drop\t133\tpolicy_denied", "drop\t140\tpolicy_denied"))
    ret = helpers.sh("/usr/bin/python3", tool, "check", str(other), objects, check=False)
    assert ret.returncode == 1 and "DROP_POLICY_DENIED: 140 in the table, 133 in" in ret.stdout


@pytest.mark.parametrize("line, says", [
    ("endpoint lo", ":1: a line of this kind is: endpoint INTERFACE ADDRESS MAC ID IDENTITY"),
    ("endpoint nowhere0 10.0.0.1 02:00:00:00:00:01 1 1", ":1: No such device"),
    ("allow 10.0.0.1 tcp/0", ":1: a line of this kind is: allow ADDRESS tcp/PORT|udp/PORT|icmp"),
    ("permit all", ":1: 'permit' is no kind of line"),
])
def test_a_wrong_line_is_named(tmp_path, line, says):
    path = tmp_path / "vpc.conf"
    path.write_text(line + "\n")
    ret = helpers.sh(VPC, str(path), "/sys/fs/bpf/sonde-never-made", check=False)
    assert ret.returncode == 1 and says in ret.stderr and not ret.stdout


def test_flows_know_what_the_example_redirects(sonde, network, tmp_path):
    """The example hands every packet on by bpf_redirect(): the flow says so, at the interface where it came in."""
    network.start(reader=False)
    serve(network.b, 80)
    out = tmp_path / "flows.json"
    one = sonde("flows", "--json", "-o", "json", "-o", f"hubble:{out}", "--netns", network.router.name, "tcp")
    assert ask(network.a, "10.9.0.11", 80).stdout == "hello\n"
    one.stop()
    last = {(ev["iface"], ev["dir"]): ev for ev in one.events if ev["type"] == "net.flow"}
    assert set(last) == {(i, d) for i in ("vpc-a", "vpc-b") for d in ("in", "out")}
    for (_, way), flow in last.items():
        got = (flow.get("redirected", 0), flow["verdict"], flow["action"])
        assert got == ((flow["packets"], "redirected", "redirect") if way == "in" else (0, "forwarded", "pass"))
    verdicts = {json.loads(line)["flow"]["verdict"] for line in out.read_text().splitlines()}
    assert verdicts == {"FORWARDED", "REDIRECTED"}
