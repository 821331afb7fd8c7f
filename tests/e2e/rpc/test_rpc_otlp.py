# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde rpc -o otlp:http://...: what a server of OTLP/HTTP gets, and what becomes of what it does not take.

The judge is the generated reader of the OpenTelemetry project (Debian: python3-opentelemetry-proto); the calls are
those of tests/data/rpc/states.calls, of which every end and every status is known.
"""
import collections
import contextlib
import gzip
import http.server
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time

import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

import helpers

sys.path.insert(0, os.path.join(helpers.ROOT, "tests", "golden"))
import calls  # noqa: E402  the path above is needed first

STATES = os.path.join(helpers.ROOT, "tests", "data", "rpc", "states.calls")
KINDS = {"client": trace_pb2.Span.SPAN_KIND_CLIENT, "server": trace_pb2.Span.SPAN_KIND_SERVER}


class Collector:
    """Answers as it is told to, in order, then with 200; keeps what came."""

    def __init__(self, *answers):
        self.answers = list(answers)    # (status, headers, body)
        self.requests = []              # (time, path, headers, body)
        self.connections, self.lock, self.is_away = [], threading.Lock(), True
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                collector.connections.append(self.connection)

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers["Content-Encoding"]:
                    body = gzip.decompress(body)
                with collector.lock:
                    status, headers, reply = collector.take(self.path, dict(self.headers), body)
                    if status is None:      # gone without a word
                        self.close_connection = True
                        return
                    self.send_response(status)
                    for name, value in {"Content-Length": str(len(reply)), **headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(reply)

            def log_message(self, *_):
                pass

        self.handler, self.port = Handler, 0
        self.back()
        self.url = f"http://127.0.0.1:{self.port}"

    def take(self, path, headers, body):
        if self.is_away:
            return None, {}, b""
        self.requests.append((time.monotonic(), path, headers, body))
        return self.answers.pop(0) if self.answers else (200, {}, b"")

    def back(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), self.handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        self.is_away = False
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def away(self):
        """What it has taken, it has answered."""
        with self.lock:
            self.is_away = True
            self.close()
            for one in self.connections:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def spans(self, only=None, path=None):
        """(resource attributes, span) of every request, or of those with these numbers or to this path."""
        out = []
        for number, (_, to, headers, body) in enumerate(self.requests):
            if (only is not None and number not in only) or (path and to != path):
                continue
            assert to == "/v1/traces" and headers["Content-Type"] == "application/x-protobuf"
            message = trace_service_pb2.ExportTraceServiceRequest()
            message.ParseFromString(body)
            out += flat(message)
        return out


@pytest.fixture
def collector():
    made = []

    def start(*answers):
        made.append(Collector(*answers))
        return made[-1]
    yield start
    for one in made:
        one.close()


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("rpc") / "states.rec"
    path.write_bytes(calls.to_rec(STATES))
    return str(path)


def plain(attributes):
    """{key: value}; a key comes once."""
    out = {a.key: value_of(a.value) for a in attributes}
    assert len(out) == len(attributes)
    return out


def value_of(value):
    kind = value.WhichOneof("value")
    return tuple(map(value_of, value.array_value.values)) if kind == "array_value" else getattr(value, kind)


def flat(message):
    return [(plain(r.resource.attributes), span) for r in message.resource_spans for s in r.scope_spans
            for span in s.spans]


def replay(recording, *words, env=None):
    return subprocess.run([helpers.BINARY, "rpc", "-r", recording, *words], capture_output=True, text=True,
                          timeout=60, check=False, env=dict(os.environ, **(env or {})))


def events(recording):
    lines = replay(recording, "--json").stdout.split("\n")
    return [ev for ev in (json.loads(line) for line in lines if line) if ev["type"] == "rpc.call"]


def check_span(ev, resource, span):
    """A span against the same call as JSON, word by word."""
    a = plain(span.attributes)
    assert span.kind == KINDS[ev["side"]]
    offset = 1704067200 * 10**9 - 3600 * 10**9
    assert span.end_time_unix_nano == ev["ts_ns"] + offset
    assert span.end_time_unix_nano - span.start_time_unix_nano == ev.get("latency", 0)
    assert a.get("sonde.start_unknown", False) == ("latency" not in ev)
    assert resource["process.pid"] == ev["proc"]["pid"] and resource["host.name"] == "host"
    assert resource["process.executable.path"] == ev["proc"]["exe"]
    assert resource["service.name"] == resource["process.executable.name"] == os.path.basename(ev["proc"]["exe"])
    assert len(span.trace_id) == 16 and len(span.span_id) == 8 and any(span.trace_id) and any(span.span_id)
    if "trace" in ev:
        assert span.trace_id.hex() == ev["trace"] and span.parent_span_id.hex() == ev["span"]
    else:
        assert not span.parent_span_id
    if ev["kind"] == "grpc":
        assert a["rpc.system.name"] == a["rpc.system"] == "grpc"
        assert a.get("rpc.method") == ev.get("method")
        assert span.name == ev.get("method", "grpc")
        assert a.get("rpc.service") == (ev["method"].rpartition("/")[0] if "method" in ev else None)
        assert a.get("rpc.status_code") == (str(ev["status"]) if "status" in ev else None)
        assert a.get("rpc.response.status_code") == a.get("rpc.status_code")  # the name until 1.44
    else:
        assert a["http.request.method"] == ev["method"]
        assert a.get("http.response.status_code") == ev.get("http_status")
        assert a["url.path"] == ev["path"].split("?")[0]
        assert "rpc.system" not in a
    if "conn" in ev:
        peer = "src" if ev["side"] == "server" else "dst"
        port = "sport" if ev["side"] == "server" else "dport"
        assert a["network.peer.address"] == ev["conn"][peer] and a["network.peer.port"] == ev["conn"][port]
        assert a["network.transport"] == "tcp"
        assert a["network.type"] == ("ipv6" if ":" in ev["conn"][peer] else "ipv4")
    assert a["sonde.stream"] == ev["rpc_stream"] and a["sonde.end"] == ev["end"]
    assert a.get("sonde.sent_bytes") == ev.get("sent") and a.get("sonde.received_bytes") == ev.get("received")


def test_every_state_is_a_span(recording, collector):
    """One span for each call, with what JSON says of it; the same in a file, and in every replay."""
    c = collector()
    done = replay(recording, "-o", f"otlp:{c.url}/v1/traces")
    assert done.returncode == 0, done.stderr
    wanted = events(recording)
    got = c.spans()
    assert len(got) == len(wanted) == 24
    by_key = {(r["process.pid"], s.end_time_unix_nano): (r, s) for r, s in got}
    for ev in wanted:
        check_span(ev, *by_key[ev["proc"]["pid"], ev["ts_ns"] + 1704063600 * 10**9])
    assert len({s.span_id for _, s in got}) == len(got)

    path = f"{recording}.otlp"
    assert replay(recording, "-o", path).returncode == 0
    with open(path, "rb") as f:
        message = trace_pb2.TracesData()
        message.ParseFromString(f.read())
    assert sorted(s.SerializeToString() for _, s in flat(message)) == sorted(s.SerializeToString() for _, s in got)


def test_errors_are_those_of_the_conventions(recording, tmp_path):
    """A status that is the server's fault is an error of the server, any but OK one of the client."""
    path = str(tmp_path / "x.otlp")
    assert replay(recording, "-o", f"otlp:{path}").returncode == 0
    message = trace_pb2.TracesData()
    with open(path, "rb") as f:
        message.ParseFromString(f.read())
    seen = collections.Counter()
    for _, span in flat(message):
        a = plain(span.attributes)
        status = a.get("rpc.response.status_code", a.get("http.response.status_code"))
        error = span.status.code == trace_pb2.Status.STATUS_CODE_ERROR
        assert error == ("error.type" in a)
        seen[span.kind == KINDS["server"], status, error, a.get("error.type")] += 1
    assert seen[False, "NOT_FOUND", True, "NOT_FOUND"] == 1 and seen[True, "NOT_FOUND", False, None] == 1
    assert seen[False, "UNAVAILABLE", True, "UNAVAILABLE"] == 1     # refused
    assert seen[True, "UNAVAILABLE", True, "UNAVAILABLE"] == 1
    assert seen[True, "DEADLINE_EXCEEDED", True, "DEADLINE_EXCEEDED"] == 1
    assert seen[True, 404, False, None] == 1 and seen[True, 500, True, "500"] == 1
    assert seen[True, None, True, "reset"] == 1 and seen[False, None, True, "exit"] == 1
    message_of = {plain(s.attributes).get("rpc.response.status_code"): s.status.message for _, s in flat(message)}
    assert message_of["UNIMPLEMENTED"] == "unknown method Missing"
    assert "hunter2" not in str(message)


def test_tried_again(recording, collector):
    """After 503, 429 with Retry-After, and a connection that was lost: once delivered, nothing twice."""
    c = collector((503, {}, b""), (429, {"Retry-After": "1"}, b""), (None, {}, b""))
    done = replay(recording, "-o", f"otlp:{c.url}/v1/traces")
    assert done.returncode == 0, done.stderr
    assert len({body for _, _, _, body in c.requests[:4]}) == 1
    assert c.requests[2][0] - c.requests[1][0] >= 0.9
    assert len(c.spans(range(3, len(c.requests)))) == len(events(recording))


@pytest.mark.parametrize("answer, lost", (((400, {}, b""), "all"), ((200, {}, b"\x0a\x02\x08\x02"), "some")),
                         ids=("refused", "partly"))
def test_refused_is_counted(recording, collector, answer, lost):
    c = collector(answer)
    done = replay(recording, "-o", f"otlp:{c.url}/v1/traces", "rpc.latency<1s")
    n = len([ev for ev in events(recording) if ev.get("latency", 10**9) < 10**9])
    k = 2 if lost == "some" else n
    assert len(c.requests) == 1     # 400 is for good
    assert done.returncode == 1
    assert f"lost {k} of {n} spans ({k} refused, 0 not sent in time, 0 over the queue limit)" in done.stderr


def test_each_signal_says_what_it_lost(recording, collector):
    c = collector(*[(400, {}, b"")] * 8)
    done = replay(recording, "-o", f"otlp:{c.url}", "rpc.latency<1s")
    lost = {noun: (n, made) for n, made, noun in re.findall(r"lost (\d+) of (\d+) ([a-z ]+) \(", done.stderr)}
    assert done.returncode == 1 and set(lost) == {"spans", "data points", "log records"}, done.stderr
    assert all(n == made != "0" for n, made in lost.values()), lost


def test_path_headers_and_rights(recording, collector):
    """A path of one's own; passwords from the environment; the process that sends is nobody."""
    c = collector()
    done = replay(recording, "-o", f"otlp:{c.url}/in/here", env={"OTEL_EXPORTER_OTLP_HEADERS": "x-key=abc, x-b=d e"})
    assert done.returncode == 0, done.stderr
    _, path, headers, _ = c.requests[0]
    assert path == "/in/here" and headers["x-key"] == "abc" and headers["x-b"] == "d e"
    assert headers["User-Agent"].startswith("sonde/")


def test_headers_of_a_signal(recording, collector):
    """They take the place of the common ones, for this signal alone; values are percent-encoded and may be long."""
    c, token = collector(), "t" * 3000
    done = replay(recording, "-o", f"otlp:{c.url}", env={
        "OTEL_EXPORTER_OTLP_HEADERS": "x-key=all%2C%3d100%", "OTEL_EXPORTER_OTLP_LOGS_HEADERS": "",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS": f"authorization=Bearer%20{token}"})
    assert done.returncode == 0, done.stderr
    seen = {path: (headers.get("x-key"), headers.get("authorization")) for _, path, headers, _ in c.requests}
    assert seen.pop("/v1/traces") == (None, f"Bearer {token}")
    assert seen and set(seen.values()) == {("all,=100%", None)}
