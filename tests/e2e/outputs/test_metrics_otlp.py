# SPDX-License-Identifier: GPL-2.0-or-later
"""-o otlp-metrics:http://...: what a server of OTLP/HTTP gets, against the same calls as JSON.

The judge is the generated reader of the OpenTelemetry project (Debian: python3-opentelemetry-proto).
"""
import collections
import json
import os
import subprocess

import pytest
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.metrics.v1 import metrics_pb2

import helpers
from test_rpc_otlp import collector, plain, recording  # noqa: F401  fixtures

FLOWS = os.path.join(helpers.ROOT, "tests", "data", "rec", "flows.rec")
NAMES = {("grpc", "server"): "rpc.server.call.duration", ("grpc", "client"): "rpc.client.call.duration",
         ("http", "server"): "http.server.request.duration", ("http2", "server"): "http.server.request.duration"}


def replay(command, path, *words):
    return subprocess.run([helpers.BINARY, command, "-r", path, *words], capture_output=True, text=True, timeout=60,
                          check=False)


def points(message):
    """{(metric, resource, attributes): data point}; a series comes once in a message."""
    out = {}
    for r in message.resource_metrics:
        for scope in r.scope_metrics:
            assert scope.scope.name == "sonde"
            for m in scope.metrics:
                kind = m.WhichOneof("data")
                data = getattr(m, kind)
                assert data.aggregation_temporality == metrics_pb2.AGGREGATION_TEMPORALITY_CUMULATIVE
                assert kind != "sum" or data.is_monotonic
                for p in data.data_points:
                    key = (m.name, frozenset(plain(r.resource.attributes).items()),
                           frozenset(plain(p.attributes).items()))
                    assert key not in out, key
                    out[key] = (m, p)
    return out


def sent(c):
    out = []
    for _, path, headers, body in c.requests:
        assert path == "/v1/metrics" and headers["Content-Type"] == "application/x-protobuf"
        message = metrics_service_pb2.ExportMetricsServiceRequest()
        message.ParseFromString(body)
        out.append(message)
    return out


def test_calls_are_histograms_of_the_conventions(recording, collector):  # noqa: F811
    c = collector()
    done = replay("rpc", recording, "-o", f"otlp-metrics:{c.url}")
    assert done.returncode == 0, done.stderr
    calls = [ev for ev in map(json.loads, filter(None, replay("rpc", recording, "--json").stdout.split("\n")))
             if ev["type"] == "rpc.call" and "latency" in ev]
    expected, sums = collections.Counter(), collections.Counter()
    for ev in calls:
        key = NAMES[ev["kind"], ev["side"]], os.path.basename(ev["proc"]["exe"]), ev.get("method")
        expected[key] += 1
        sums[key] += ev["latency"]
    got, got_sums, errors, traces = collections.Counter(), collections.Counter(), set(), set()
    for (name, resource, attributes), (m, p) in points(sent(c)[-1]).items():
        assert m.unit == "s" and list(p.explicit_bounds)[0] == 0.005 and list(p.explicit_bounds)[-1] == 10
        assert len(p.bucket_counts) == 15 and sum(p.bucket_counts) == p.count
        assert p.time_unix_nano >= p.start_time_unix_nano > 1704067200 * 10**9 - 10**9
        r, a = dict(resource), dict(attributes)
        assert r["host.name"] == "host" and r["os.type"] == "linux"
        key = name, r["service.name"], a.get("rpc.method", a.get("http.request.method"))
        got[key] += p.count
        got_sums[key] += round(p.sum * 1e9)
        errors.add((name, a.get("rpc.status_code", a.get("http.response.status_code")), a.get("error.type")))
        traces |= {e.trace_id.hex() for e in p.exemplars}
    assert got == expected and got_sums == sums
    assert ("rpc.server.call.duration", "NOT_FOUND", None) in errors
    assert ("rpc.client.call.duration", "NOT_FOUND", "NOT_FOUND") in errors
    assert ("http.server.request.duration", 404, None) in errors
    assert ("http.server.request.duration", 500, "500") in errors
    assert traces and traces <= {ev["trace"] for ev in calls if "trace" in ev}


def test_counters_of_the_host_and_the_same_in_a_file(collector, tmp_path):  # noqa: F811
    c = collector()
    assert replay("flows", FLOWS, "-o", f"otlp-metrics:{c.url}").returncode == 0
    path = tmp_path / "x.metrics.otlp"
    assert replay("flows", FLOWS, "-o", str(path)).returncode == 0
    message = metrics_pb2.MetricsData()
    message.ParseFromString(path.read_bytes())
    assert message.SerializeToString() == b"".join(m.SerializeToString() for m in sent(c))
    text = replay("flows", FLOWS, "-o", "prometheus").stdout
    totals = collections.Counter()
    for (name, resource, _), (m, p) in points(sent(c)[-1]).items():
        assert dict(resource)["service.name"] == "sonde" and "service.version" in dict(resource)
        totals[name] += p.as_int if m.WhichOneof("data") == "sum" else p.count
    for name, sample in (("sonde.network.packets", "sonde_network_packets_total{"),
                         ("sonde.network.bytes", "sonde_network_bytes_total{"),
                         ("sonde.tcp.connections", "sonde_tcp_connections_total{"),
                         ("sonde.tcp.rtt", "sonde_tcp_rtt_seconds_count{")):
        wanted = sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(sample))
        assert totals[name] == wanted > 0, name


@pytest.mark.parametrize("answer, lost", (((400, {}, b""), "all"), ((200, {}, b"\x0a\x02\x08\x02"), "some")),
                         ids=("refused", "partly"))
def test_refused_points_are_counted(collector, answer, lost):  # noqa: F811
    c = collector(answer)
    done = replay("flows", FLOWS, "-o", f"otlp-metrics:{c.url}")
    n = len(points(sent(c)[0]))
    assert len(c.requests) == 1 and done.returncode == 1
    assert f"lost {2 if lost == 'some' else n} of {n} data points" in done.stderr
