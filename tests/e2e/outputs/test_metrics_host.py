# SPDX-License-Identifier: GPL-2.0-or-later
"""Metrics of the host at /metrics: counts against the kernel's, the interfaces, and what programs did."""
import gzip
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

import pytest

import helpers
from test_flows import CONNECTIONS, talk
from test_metrics import OPENMETRICS, free_port
from test_counters import difference, statistics

sys.path.insert(0, os.path.join(helpers.ROOT, "tests", "docs"))
import metric_names  # noqa: E402  the path above is needed first

N = 700
# Datagrams whose checksum is wrong: nothing else on the host sends such.
BAD_CHECKSUMS = """
import socket, struct
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
for i in range({n}):
    raw.sendto(struct.pack("!HHHH", 7000, 7001, 12, 0xbad) + b"xxxx", ("{ip}", 0))
"""
TO_NOBODY = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, 10, 0)      # IP_MTU_DISCOVER: no refusal is told
for i in range({n}):
    s.sendto(b"x", ("{ip}", 7999))
"""
LISTEN = """
import socket, time
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(("{ip}", 7001))
print("up", flush=True)
time.sleep(600)
"""
# Calls that nothing else makes: all of them fail but every fourth.
RARE_CALLS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for i in range({n}):
    libc.syscall(ctypes.c_long(252), ctypes.c_long(1 if i % 4 == 0 else 99), ctypes.c_long(0))
"""
NAMES = 900
# A process by each name that sends a datagram and ends.
MANY_NAMES = """
import os, socket
for i in range({n}):
    if not os.fork():
        with open("/proc/self/comm", "w") as f:
            f.write("sdname%d" % i)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(b"x", ("127.0.%d.%d" % (1 + i // 250, 1 + i % 250), 7002))
        os._exit(0)
    os.wait()
"""
TRACE = "0af7651916cd43dd8448eb211c80319c"


def read(path, accept=""):
    """The agent's answer at a unix socket."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(20)
        s.connect(path)
        s.sendall(f"GET /metrics HTTP/1.0\r\nAccept: {accept}\r\n\r\n".encode())
        head, _, body = b"".join(iter(lambda: s.recv(65536), b"")).partition(b"\r\n\r\n")
    assert head.split()[1] == b"200"
    return body.decode()


def samples(text):
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line[:1] != "#"}


def total(have, name, *parts):
    return sum(v for k, v in have.items() if k.split("{")[0] == name and all(part in k for part in parts))


class Agent:
    def __init__(self, sonde, tmp_path, families, *words, **options):
        self.path = str(tmp_path / "metrics.sock")
        self.agent = sonde("agent", "--socket-dir", str(tmp_path / "run"), "--metrics", self.path,
                           "--metrics-families", families, "--metrics-interval", "100ms", *words, **options)
        for family in families.split(","):
            self.wait(lambda have, f=family: have[f'sonde_metrics_up{{family="{f}"}}'] == 1)

    def have(self):
        return samples(read(self.path))

    def wait(self, condition, timeout=30):
        """Until the samples meet it; then they are returned."""
        end = time.monotonic() + timeout
        while True:
            have = self.have()
            if condition(have):
                return have
            assert time.monotonic() < end, (self.agent.stderr, {k: v for k, v in have.items() if "network" in k or
                                                                "tcp" in k or "syscall" in k or "http" in k})
            time.sleep(0.05)


def csum_errors(ns):
    head, line = [x.split()[1:] for x in ns.run("cat", "/proc/net/snmp").stdout.splitlines() if x.startswith("Udp:")]
    return int(dict(zip(head, line))["InCsumErrors"])


def test_drops_equal_the_kernels_own_count(link, sonde, tmp_path):
    one = Agent(sonde, tmp_path, "drops")
    assert link.b.python_popen(LISTEN.format(ip=link.b_ip)).stdout.readline() == "up\n"
    name, reason = "sonde_network_drops_total", 'reason="UDP_CSUM"'
    before, kernel = total(one.have(), name, reason), csum_errors(link.b)
    link.a.python(BAD_CHECKSUMS.format(ip=link.b_ip, n=N), timeout=60)
    one.wait(lambda have: total(have, name, reason) - before >= N)
    link.a.python(BAD_CHECKSUMS.format(ip=link.b_ip, n=1))      # in a later report: nothing counts twice
    counted = csum_errors(link.b) - kernel
    assert counted == N + 1
    have = one.wait(lambda have: total(have, name, reason) - before >= counted)
    assert total(have, name, reason) - before == counted
    assert total(have, "sonde_network_dropped_bytes_total", reason) >= counted * 46
    for accept in ("", OPENMETRICS):
        text = read(one.path, accept)
        assert ("# EOF" in text) == bool(accept)
        if shutil.which("promtool") and not accept:
            done = helpers.sh("promtool", "check", "metrics", input=text)
            assert not done.stdout + done.stderr
    known = {**metric_names.samples(), **metric_names.own()}
    assert {k.split("{")[0] for k in have} <= set(known)


def test_system_calls_equal_what_a_program_made(sonde, tmp_path):
    one = Agent(sonde, tmp_path, "syscalls")
    call = 'syscall="ioprio_get"'
    names = ("sonde_syscalls_total", "sonde_syscall_errors_total", "sonde_syscall_duration_seconds_count")
    before = {name: total(one.have(), name, call) for name in names}
    helpers.sh(sys.executable, "-c", RARE_CALLS.format(n=N))
    one.wait(lambda have: total(have, names[0], call) - before[names[0]] >= N)
    seen = total(one.have(), names[0])
    have = one.wait(lambda have: total(have, names[0]) > seen)      # a later report: nothing counts twice
    assert [total(have, name, call) - before[name] for name in names] == [N, N - N // 4, N]
    buckets = [v for k, v in have.items() if k.startswith("sonde_syscall_duration_seconds_bucket{") and call in k]
    assert buckets == sorted(buckets) and buckets[-1] == total(have, names[2], call)
    assert total(have, "sonde_syscall_duration_seconds_sum", call) > 0
    # The kernel adds: one record per call number and report, not one per call.
    assert total(have, "sonde_syscalls_total") > total(have, "sonde_reader_records_total")


def test_flows_equal_the_interface(link, sonde, tmp_path):
    for end in (link.a, link.b):    # says this and that of itself for seconds after it came up
        end.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
    one = Agent(sonde, tmp_path, "network,tcp", netns=link.b)
    before = statistics(link.b, link.b_dev)
    talk(link.b, link.a, link.b_ip)
    sent = difference(statistics(link.b, link.b_dev), before)
    at = f'interface="{link.b_dev}"'

    def flows(have):
        return {(way, what): total(have, f"sonde_network_{what}_total", at, f'direction="{way}"')
                for way in ("in", "out") for what in ("packets", "bytes")}

    have = one.wait(lambda have: flows(have) == sent)
    assert sent["in", "packets"] > 2 * CONNECTIONS
    ends = one.wait(lambda have: total(have, "sonde_tcp_connections_total", at) >= CONNECTIONS)
    assert total(ends, "sonde_tcp_connections_total", at) == CONNECTIONS
    assert total(ends, "sonde_tcp_connections_total", at, 'role="server"', 'comm="python3"') == CONNECTIONS
    assert total(ends, "sonde_tcp_connections_total", at, 'state="reset"') == CONNECTIONS // 10
    assert total(ends, "sonde_tcp_rtt_seconds_count", at) == CONNECTIONS
    assert total(have, "sonde_network_packets_total", at, 'transport="udp"') == 10


def test_packets_and_drops_of_flows_are_sums(link, sonde, tmp_path):
    """Neither is an event for the agent; the last ones count although no packet follows."""
    one = Agent(sonde, tmp_path, "network,hubble", netns=link.b)
    link.a.python(TO_NOBODY.format(ip=link.b_ip, n=N), timeout=60)
    name, way = "hubble_flows_processed_total", 'subtype="from-endpoint"'
    have = one.wait(lambda have: total(have, "hubble_drop_total", 'reason="NO_SOCKET"') >= N and
                    total(have, name, 'protocol="UDP"') >= N)
    assert total(have, "hubble_drop_total", 'reason="NO_SOCKET"', 'protocol="UDP"') == N
    assert total(have, name, 'protocol="UDP"', way) == total(have, name, 'protocol="UDP"') == N
    assert total(have, "sonde_events_total", 'probe="net"', 'outcome="delivered"') < N / 2


def test_cpu_time_is_that_of_a_busy_program(sonde, tmp_path):
    one = Agent(sonde, tmp_path, "oncpu,offcpu")
    name = f"busy{os.getpid()}"
    busy = shutil.copy("/bin/dash", tmp_path / name)
    child = subprocess.Popen([busy, "-c", "while :; do :; done"])
    try:
        comm = f'comm="{name}"'
        one.wait(lambda have: total(have, "sonde_oncpu_seconds_total", comm) > 0.5)
        have = one.have()
        with open(f"/proc/{child.pid}/stat", encoding="utf-8") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        assert total(have, "sonde_oncpu_seconds_total", comm) < used * 1.5 + 0.3
        assert total(have, "sonde_oncpu_seconds_total", comm, 'mode="user"') > 0
    finally:
        child.kill()
        child.wait()
    assert total(one.have(), "sonde_offcpu_seconds_total") > 0


class Web(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(500 if self.path == "/bad" else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


CALLS = """
import http.client, sys
c = http.client.HTTPConnection("127.0.0.1", {port})
for i in range({n}):
    c.request("GET", "/bad" if i % 5 == 0 else "/", headers={{"traceparent": "00-{trace}-%016x-01" % (i + 1)}})
    c.getresponse().read()
"""


def test_calls_with_exemplars(sonde, tmp_path):
    """Rate, errors and duration of the calls of one client, and its traces by a query to Prometheus."""
    service = f"client{os.getpid()}"
    client = shutil.copy(os.path.realpath("/usr/bin/python3"), tmp_path / service)
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
    threading.Thread(target=web.serve_forever, args=(0.02,), daemon=True).start()
    one = Agent(sonde, tmp_path, "calls")
    try:
        done = subprocess.run([client, "-c", CALLS.format(port=web.server_port, n=50, trace=TRACE)], check=False,
                              env={**os.environ, "PYTHONHOME": "/usr"}, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        name, mine = "http_client_request_duration_seconds_count", f'service_name="{service}"'
        have = one.wait(lambda have: total(have, name, mine) >= 50)
        assert total(have, name, mine) == 50
        assert total(have, name, mine, 'error_type="500"', 'http_response_status_code="500"') == 10
        assert total(have, name, mine, 'http_request_method="GET"') == 50
        text = read(one.path, OPENMETRICS)
        assert f'# {{trace_id="{TRACE}",span_id="' in text and "trace_id" not in read(one.path)
        if shutil.which("prometheus"):
            assert exemplars(one.path, tmp_path, f"{name[:-6]}_bucket{{{mine}}}") == {TRACE}
    finally:
        web.shutdown()
        web.server_close()


class Forward(http.server.BaseHTTPRequestHandler):
    """For Prometheus, which reads no unix sockets."""

    def do_GET(self):
        body = read(self.server.path, self.headers["Accept"]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def exemplars(path, tmp_path, query):
    """Trace ids that Prometheus has for @query."""
    forward = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Forward)
    forward.path = path
    threading.Thread(target=forward.serve_forever, args=(0.02,), daemon=True).start()
    (tmp_path / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n"
        f'  - {{job_name: sonde, static_configs: [{{targets: ["127.0.0.1:{forward.server_port}"]}}]}}\n')
    web = f"127.0.0.1:{free_port()}"
    child = subprocess.Popen(["prometheus", f"--config.file={tmp_path}/prometheus.yml",
                              f"--storage.tsdb.path={tmp_path}/data", f"--web.listen-address={web}",
                              "--enable-feature=exemplar-storage"], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    try:
        end, found = time.monotonic() + 60, []
        while not found and time.monotonic() < end:
            now = time.time()
            words = urllib.parse.urlencode({"query": query, "start": now - 600, "end": now + 60})
            try:
                with urllib.request.urlopen(f"http://{web}/api/v1/query_exemplars?{words}", timeout=5) as reply:
                    found = json.load(reply)["data"]
            except OSError:
                pass
            if not found:
                time.sleep(0.1)
        return {e["labels"]["trace_id"] for one in found for e in one["exemplars"]}
    finally:
        child.kill()
        child.wait()
        forward.shutdown()
        forward.server_close()


@pytest.fixture
def receiver():
    """Of OTLP/HTTP: its URL; what it got; began and go: between them it has read a part of its first message."""
    class Server(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        url, bodies, began, go = None, [], threading.Event(), threading.Event()

        def do_POST(self):
            body = self.rfile.read(1000)
            self.began.set()
            self.go.wait()
            body += self.rfile.read(int(self.headers["Content-Length"]) - len(body))
            assert self.path == "/v1/metrics"
            self.bodies.append(gzip.decompress(body) if self.headers["Content-Encoding"] else body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    Server.url = f"http://127.0.0.1:{server.server_port}"
    yield Server
    Server.go.set()
    server.shutdown()
    server.server_close()


def points_of(body, name):
    """({attribute: text}, value) of the points of a sum, and the resource."""
    pb = pytest.importorskip("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2")
    message = pb.ExportMetricsServiceRequest()
    message.ParseFromString(body)
    return [({a.key: a.value.string_value for a in p.attributes}, p.as_int)
            for r in message.resource_metrics for s in r.scope_metrics for m in s.metrics if m.name == name
            for p in m.sum.data_points], message.resource_metrics[0].resource


def test_a_server_of_opentelemetry_gets_the_same(link, sonde, tmp_path, receiver):
    receiver.go.set()
    one = Agent(sonde, tmp_path, "drops", "--otlp-metrics", receiver.url)
    assert link.b.python_popen(LISTEN.format(ip=link.b_ip)).stdout.readline() == "up\n"
    link.a.python(BAD_CHECKSUMS.format(ip=link.b_ip, n=N), timeout=60)
    have = one.wait(lambda have: total(have, "sonde_network_drops_total", 'reason="UDP_CSUM"') >= N)
    assert one.agent.stop() == 130
    points, resource = points_of(receiver.bodies[-1], "sonde.network.drops")
    mine = [value for attributes, value in points if attributes.get("sonde.drop.reason") == "UDP_CSUM"]
    assert sum(mine) == total(have, "sonde_network_drops_total", 'reason="UDP_CSUM"')
    assert {(a.key, a.value.string_value) for a in resource.attributes} >= {
        ("os.type", "linux"), ("host.name", os.uname().nodename), ("service.name", "sonde")}


def test_a_slow_server_of_opentelemetry_holds_nothing_up(sonde, tmp_path, receiver):
    """A message of many series is larger than sockets hold: the agent answers meanwhile, and all of it comes."""
    one = Agent(sonde, tmp_path, "network", "--otlp-metrics", receiver.url)
    helpers.sh(sys.executable, "-c", MANY_NAMES.format(n=NAMES), timeout=60)
    name, comm = "sonde_network_packets_total", 'comm="sdname'
    one.wait(lambda have: sum(comm in k for k in have if k.startswith(name)) >= NAMES)
    assert receiver.began.wait(helpers.TIMEOUT_S + 10)      # a message is due every ten seconds
    first = one.wait(lambda have: total(have, name, comm) >= NAMES)
    receiver.go.set()
    assert one.agent.stop() == 130
    points, _ = points_of(receiver.bodies[0], "sonde.network.packets")
    counts = {attributes["sonde.process.comm"]: value for attributes, value in points
              if attributes.get("sonde.process.comm", "").startswith("sdname") and
              attributes["network.transport"] == "udp" and attributes["sonde.network.direction"] == "out"}
    assert len(receiver.bodies[0]) > 1 << 18 and counts == {f"sdname{i}": 1 for i in range(NAMES)}
    assert total(first, name, comm, "udp", 'direction="out"') == NAMES and "lost" not in one.agent.stderr


def test_nothing_runs_without_families_and_wrong_ones_are_refused(sonde, tmp_path):
    path = str(tmp_path / "metrics.sock")
    sonde("agent", "--socket-dir", str(tmp_path / "run"), "--metrics", path)
    have = samples(read(path))
    assert not [k for k in have if k.startswith(("sonde_metrics_", "sonde_network", "sonde_sys", "rpc_", "http_"))]
    assert {k.split("probe=")[1] for k in have if k.startswith("sonde_probe_users")} == {'"proc"}'}
    for words, says in ((("--metrics-families", "drop"), "did you mean drops?"),
                        (("--otlp-metrics", "http://127.0.0.1:1"), "none is named")):
        done = sonde.run("agent", "--socket-dir", str(tmp_path / "other"), *words)
        assert done.returncode and says in done.stderr, done.stderr
    assert "did you mean calls?" in sonde.run("agent", "--check", "--metrics-families", "drops,cals").stderr
