# SPDX-License-Identifier: GPL-2.0-or-later
"""Hubble's Observer of the agent: gRPC's own client gets what `-o hubble` writes, selected by Hubble's rules."""
import os
import re
import signal
import socket
import stat
import subprocess
import time

import helpers
import pytest

hubble_client = pytest.importorskip("hubble_client")
from google.protobuf import json_format  # noqa: E402  with the client's library
from hubble_client import Observer, grpc, message  # noqa: E402

REC = f"{helpers.ROOT}/tests/data/rec"
REPLAY = os.path.join(os.environ.get("SONDE_BUILD", f"{helpers.ROOT}/build"), "tests/unit/hubble-replay")
TIMES = 400     # so often each event of a recording
DROPPED, EGRESS = 2, 2
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\4" + bytes(5)


class Replay:
    """The Observer over a recording, at a unix socket."""

    def __init__(self, recording, folder, *times):
        self.recording, self.target = recording, f"unix:{folder}/hubble.sock"
        self.child = subprocess.Popen([REPLAY, recording, f"{folder}/hubble.sock", *map(str, times)],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.expect("listening" if times else "ready")

    def expect(self, word):
        assert self.child.stdout.readline().startswith(word)

    def written(self):
        """The same flows by -o hubble."""
        done = helpers.sh(helpers.BINARY, "compat", "hubble", "observe", "--agent=no", "-r", self.recording, "--all",
                          "-o", "jsonpb", timeout=60)
        return [json_format.Parse(line, message("GetFlowsResponse")) for line in done.stdout.splitlines()]

    def close(self):
        self.child.stdin.close()
        assert self.child.wait(60) == 0


TRAFFIC = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(100):
    s.sendto(b"x", ("127.0.0.1", 9000 + i))
six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
six.sendto(b"x", ("::1", 9))
listener = socket.create_server(("127.0.0.1", 7000))
for _ in range(10):
    with socket.create_connection(("127.0.0.1", 7000)) as c:
        peer, _ = listener.accept()
        c.sendall(b"x")
        peer.recv(1)
        peer.close()
"""


def record(path):
    """Flows and drops of TRAFFIC in a namespace."""
    ns = helpers.Netns()
    try:
        one = helpers.Sonde("flows", "--agent=no", "-w", str(path), "net 127.0.0.0/8 or host ::1", netns=ns)
        ns.python(TRAFFIC)
        ns.run("ping", "-q", "-c", "1", "127.0.0.77")
        one.finish()
    finally:
        ns.close()
    return str(path)


@pytest.fixture(scope="module", params=["kept", "live"])
def flows(request, tmp_path_factory):
    """A recording with names and translated addresses, and a larger one with drops."""
    folder = tmp_path_factory.mktemp("hubble")
    one = Replay(record(folder / "rec") if request.param == "live" else f"{REC}/flows.rec", folder)
    with Observer(one.target) as observer:
        one.observer, one.all = observer, one.written()
        one.least = 12
        assert len(one.all) > (200 if request.param == "live" else 30)
        yield one
    one.close()


@pytest.mark.replay
@pytest.mark.parametrize("name", ["flows", "loopback", "refused"])
def test_bytes_have_what_the_lines_have(name, tmp_path):
    one = Replay(f"{REC}/{name}.rec", tmp_path)
    with Observer(one.target) as observer:
        assert list(observer.get_flows()) == one.written()
    one.close()


# ---- selection ----

def port(f, end):
    l4 = next((getattr(f.l4, kind) for kind in ("TCP", "UDP", "SCTP") if f.l4.HasField(kind)), None)
    return l4 and getattr(l4, f"{end}_port")


def reply(f):
    return f.is_reply.value if f.HasField("is_reply") else False if f.verdict == DROPPED else None


# a FlowFilter, and Hubble's rule for it
FILTERS = [
    ({"verdict": [DROPPED]}, lambda f: f.verdict == DROPPED),
    ({"verdict": [1, 5]}, lambda f: f.verdict in (1, 5)),
    ({"event_type": [{"type": 4}]}, lambda f: f.event_type.type == 4),
    ({"event_type": [{"type": 4, "match_sub_type": True, "sub_type": 3}]},
     lambda f: (f.event_type.type, f.event_type.sub_type) == (4, 3)),
    ({"event_type": [{"type": 4, "match_sub_type": True, "sub_type": 0}]},
     lambda f: (f.event_type.type, f.event_type.sub_type) == (4, 0)),
    ({"event_type": [{"type": 1}]}, lambda f: f.event_type.type == 1),
    ({"protocol": ["tcp"]}, lambda f: f.l4.HasField("TCP")),
    ({"protocol": ["udp", "icmp"]}, lambda f: any(map(f.l4.HasField, ("UDP", "ICMPv4", "ICMPv6")))),
    ({"ip_version": [1]}, lambda f: f.IP.ipVersion == 1),
    ({"ip_version": [2]}, lambda f: f.IP.ipVersion == 2),
    ({"source_ip": ["10.77.0.0/16"]}, lambda f: f.IP.source.startswith("10.77.")),
    ({"destination_ip": ["10.77.1.1", "10.77.0.1"]}, lambda f: f.IP.destination in ("10.77.1.1", "10.77.0.1")),
    ({"source_ip_xlated": ["10.0.0.0/8"]}, lambda f: f.IP.source_xlated.startswith("10.")),
    ({"source_port": ["7000"]}, lambda f: port(f, "source") == 7000),
    ({"destination_port": ["7000", "53"]}, lambda f: port(f, "destination") in (7000, 53)),
    ({"tcp_flags": [{"SYN": True, "ACK": True}, {"RST": True}]},
     lambda f: (f.l4.TCP.flags.SYN and f.l4.TCP.flags.ACK) or f.l4.TCP.flags.RST),
    ({"traffic_direction": [EGRESS]}, lambda f: f.traffic_direction == EGRESS),
    ({"traffic_direction": [1]}, lambda f: f.traffic_direction == 1),
    ({"traffic_direction": [0]}, lambda f: f.traffic_direction == 0),
    ({"reply": [True]}, lambda f: reply(f) is True),
    ({"reply": [False]}, lambda f: reply(f) is False),
    ({"destination_fqdn": ["*.example.org"]}, lambda f: any(n.endswith(".example.org") for n in f.destination_names)),
    ({"source_fqdn": ["www.example.org"]}, lambda f: "www.example.org" in f.source_names),
    ({"interface": [{"name": "r0"}]}, lambda f: f.interface.name == "r0"),
    ({"interface": [{"index": 1}]}, lambda f: f.interface.index == 1),
    ({"drop_reason_desc": [178]}, lambda f: f.verdict == DROPPED and f.drop_reason_desc == 178),
    ({"drop_reason_desc": [196]}, lambda f: f.verdict == DROPPED and f.drop_reason_desc == 196),
    ({"drop_reason_desc": [255]}, lambda f: f.verdict == DROPPED and f.drop_reason_desc == 255),
    ({"source_workload": [{"name": "nc"}]}, lambda f: any(w.name == "nc" for w in f.source.workloads)),
    ({"destination_workload": [{"kind": "Process"}]}, lambda f: bool(f.destination.workloads)),
    ({"source_pod": ["web/"]}, lambda f: f.source.namespace == "web"),
    ({"protocol": ["tcp"], "source_port": ["7000"]}, lambda f: f.l4.HasField("TCP") and port(f, "source") == 7000),
    ({}, lambda f: True),
]


def test_filters_select_by_the_rules_of_hubble(flows):
    matched = 0
    for fields, rule in FILTERS:
        one = message("FlowFilter", **fields)
        wanted = [r for r in flows.all if rule(r.flow)]
        assert list(flows.observer.get_flows(whitelist=[one])) == wanted, fields
        assert list(flows.observer.get_flows(blacklist=[one])) == [r for r in flows.all if not rule(r.flow)], fields
        matched += 0 < len(wanted) < len(flows.all)
    assert matched >= flows.least
    (a, by_a), (b, by_b), (c, by_c) = FILTERS[6], FILTERS[0], FILTERS[19]
    assert list(flows.observer.get_flows(whitelist=[message("FlowFilter", **a), message("FlowFilter", **b)],
                                         blacklist=[message("FlowFilter", **c)])) == \
        [r for r in flows.all if (by_a(r.flow) or by_b(r.flow)) and not by_c(r.flow)]


def test_last_first_and_times(flows):
    get, everything = flows.observer.get_flows, flows.all
    tcp = {"whitelist": [message("FlowFilter", protocol=["tcp"])]}
    only = [r for r in everything if r.flow.l4.HasField("TCP")]
    assert list(get(number=5)) == everything[-5:] and list(get(number=5, first=True)) == everything[:5]
    assert list(get(number=5, **tcp)) == only[-5:] and list(get(number=5, first=True, **tcp)) == only[:5]
    assert list(get(number=2**64 - 1)) == everything
    when = sorted(r.time.ToNanoseconds() for r in everything)
    since, until = message("GetFlowsResponse"), message("GetFlowsResponse")
    since.time.FromNanoseconds(when[len(when) // 3])
    until.time.FromNanoseconds(when[2 * len(when) // 3])
    part = list(get(since=since.time, until=until.time))
    assert 0 < len(part) < len(everything)
    assert all(since.time.ToNanoseconds() <= r.time.ToNanoseconds() <= until.time.ToNanoseconds() for r in part)
    assert list(get(since=since.time, number=3)) == everything[-3:]


def test_what_cannot_be_asked_is_named(flows):
    def error(**fields):
        with pytest.raises(grpc.RpcError) as found:
            list(flows.observer.get_flows(**fields))
        return found.value.code(), found.value.details()
    for name in ("source_label", "destination_service", "uuid", "http_path", "node_name", "dns_query"):
        code, text = error(whitelist=[message("FlowFilter", **{name: ["x"]})])
        assert code == grpc.StatusCode.INVALID_ARGUMENT and name in text
        assert error(blacklist=[message("FlowFilter", **{name: ["x"]})])[0] == code
    assert error(whitelist=[message("FlowFilter", unknown=["x"])])[0] == grpc.StatusCode.INVALID_ARGUMENT
    assert error(whitelist=[message("FlowFilter")] * 65)[0] == grpc.StatusCode.INVALID_ARGUMENT
    assert error(whitelist=[message("FlowFilter", source_ip=["::1"] * 14000)])[0] == \
        grpc.StatusCode.RESOURCE_EXHAUSTED
    with pytest.raises(grpc.RpcError) as found:
        flows.observer.observe("GetSecrets", "Empty")
    assert found.value.code() == grpc.StatusCode.UNIMPLEMENTED and "GetSecrets" in found.value.details()


def test_frames_that_are_not_grpc(flows):
    """Each costs its own connection at most."""
    path = flows.target.removeprefix("unix:")
    for sent in b"GET / HTTP/1.1\r\n\r\n", b"\0" * 4096, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 64:
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
            s.sendall(sent)
            s.settimeout(helpers.READY_S)
            while s.recv(4096):
                pass
    idle = [socket.socket(socket.AF_UNIX) for _ in range(80)]   # more than there are places
    for s in idle:
        s.connect(path)
    assert flows.observer.observe("ServerStatus", "ServerStatusResponse").num_flows == len(flows.all)
    for s in idle:
        s.close()


# ---- the agent ----

def server_of(agent):
    """Process of the Observer."""
    for line in helpers.sh("ps", "-eo", "pid=,ppid=,comm=").stdout.splitlines():
        pid, parent, comm = line.split(None, 2)
        if comm == "sonde-hubble" and parent_of(int(parent)) == agent.pid:
            return int(pid)
    return None


def parent_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return int(f.read().rsplit(")", 1)[1].split()[1])


def test_the_agent_serves_what_flows_writes(netns, sonde, tmp_path):
    ns, run = netns(), tmp_path / "run"
    (tmp_path / "conf").write_text("hubble-listen = 127.0.0.1:4245\n")
    agent = sonde("agent", "--hubble", "--socket-dir", str(run), "--config", str(tmp_path / "conf"), netns=ns)
    path = run / "hubble.sock"
    assert stat.S_IMODE(path.stat().st_mode) in (0o600, 0o660)
    with Observer(f"unix:{path}") as observer:
        assert observer.unary("/grpc.health.v1.Health/Check", "Health").status == 1
        lines = tmp_path / "flows.json"
        writer = sonde("flows", f"--agent={run}/read.sock", "-o", f"hubble:{lines}", netns=ns)
        # others' drops come too, and may fill the ring: a follower gets them all
        follower = observer.get_flows(follow=True, whitelist=[message("FlowFilter", source_ip=["127.0.0.0/8"])])
        follower.initial_metadata()
        begin, drops, tcp, served = time.time_ns(), 0, 0, []
        ns.python(TRAFFIC)
        while drops < 100 or tcp < 20:
            served.append(next(follower))
            drops += served[-1].flow.verdict == DROPPED
            tcp += served[-1].flow.l4.HasField("TCP")
        follower.cancel()
        writer.finish()
        written = [json_format.Parse(line, message("GetFlowsResponse")) for line in lines.read_text().splitlines()]
        last = max(r.time.ToNanoseconds() for r in served)
        both = [[r for r in rows if begin <= r.time.ToNanoseconds() <= last and r.flow.IP.source.startswith("127.")]
                for rows in (written, served)]
        assert both[0] == both[1] and len(both[0]) > 200
        assert list(observer.get_flows(number=1, whitelist=[message("FlowFilter", source_ip=["127.0.0.0/8"])]))
        ns.python(f"import socket; s = socket.create_connection(('127.0.0.1', 4245)); s.sendall({PREFACE}); "
                  "assert s.recv(9)[3] == 4")    # frame SETTINGS
        status = observer.observe("ServerStatus", "ServerStatusResponse")
        assert (status.max_flows, status.num_connected_nodes.value) == (4095, 1)
        assert status.version.startswith("sonde ")
        assert status.num_flows == min(status.seen_flows, 4095) and status.seen_flows >= len(served)
        node, = observer.observe("GetNodes", "GetNodesResponse").nodes
        assert (node.name, node.state, node.address) == (socket.gethostname(), 1, f"unix://{path}")
        assert not observer.observe("GetNamespaces", "GetNamespacesResponse").namespaces
        peers = observer.stream("/peer.Peer/Notify", "ChangeNotification", message("Empty"))
        assert next(peers).name == socket.gethostname()
        peers.cancel()
        for kind in "Agent", "Debug":
            assert not list(observer.stream(f"/observer.Observer/Get{kind}Events", "Empty",
                                            message("GetEventsRequest", number=3)))
        server = server_of(agent)
        with open(f"/proc/{server}/status", encoding="utf-8") as f:
            has = dict(re.findall(r"^(\w+):\s+(.*)$", f.read(), re.M))
        assert (has["Uid"].split(), int(has["CapPrm"], 16), has["Seccomp"]) == (["65534"] * 4, 0, "2")
        os.kill(server, signal.SIGKILL)
    with Observer(f"unix:{path}") as observer:      # which waits in the socket until another server is started
        assert observer.observe("ServerStatus", "ServerStatusResponse").uptime_ns < status.uptime_ns
    agent.finish(signal.SIGTERM, status=0)
    assert not path.exists()


def test_loopback_only(sonde, tmp_path):
    conf = tmp_path / "agent.conf"
    for rows, said in (("hubble = yes\nhubble-listen = 0.0.0.0:4245", "other addresses are refused"),
                       ("hubble-listen = 127.0.0.1:4245", "add hubble = yes"),
                       ("hubble = yes\nhubble-listen = /run/x.sock", "expected 127.0.0.1:PORT"),
                       ("hubble = yes\nhubble-listen = [::1]:4245", None)):
        conf.write_text(rows + "\n")
        done = sonde.run("agent", "--check", "--config", str(conf))
        assert done.returncode == (2 if said else 0) and (said or "") in done.stderr, done.stderr


@pytest.mark.replay
def test_a_client_that_does_not_read_is_told_of_its_loss(tmp_path):
    """While far more flows come than the ring has: what it gets later is in order, and the rest is counted."""
    one = Replay(f"{REC}/flows.rec", tmp_path, TIMES)
    total = len(one.written()) * TIMES
    with Observer(one.target, bdp_probe=0, lookahead_bytes=65536) as observer:   # whose window does not grow
        stopped = observer.get_flows(follow=True)
        stopped.initial_metadata()      # its call has begun
        one.child.stdin.write("go\n")
        one.child.stdin.flush()
        one.expect("ready")
        assert observer.observe("ServerStatus", "ServerStatusResponse").seen_flows == total
        got, lost, last = 0, 0, 0
        while got + lost < total:
            r = next(stopped)
            if r.HasField("lost_events"):
                assert r.lost_events.source == 3 and r.lost_events.num_events_lost
                lost += r.lost_events.num_events_lost
            else:
                assert r.time.ToNanoseconds() >= last
                got, last = got + 1, r.time.ToNanoseconds()
        assert got + lost == total and lost
        stopped.cancel()
    one.close()
