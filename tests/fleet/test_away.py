# SPDX-License-Identifier: GPL-2.0-or-later
"""A server of OTLP/HTTP that is away for 30 s beside an agent and a client of the agent: each span, log record and
data point arrives once it is back. Of one that stays away, what is missing is what is said to be lost. collector.py
has the OpenTelemetry Collector in its place (make fleet-newest).
"""
import os
import re
import signal
import sys
import time

import pytest
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
E2E = os.path.join(TESTS, "e2e")
sys.path[:0] = [E2E, *(entry.path for entry in os.scandir(E2E) if entry.is_dir())]
import helpers  # noqa: E402  found by the lines above
from test_metrics_host import read, samples  # noqa: E402
from test_rpc_otlp import Collector  # noqa: E402
from web_calls import AWAY_S, Web  # noqa: E402

MESSAGES = {"/v1/traces": trace_service_pb2.ExportTraceServiceRequest,
            "/v1/logs": logs_service_pb2.ExportLogsServiceRequest,
            "/v1/metrics": metrics_service_pb2.ExportMetricsServiceRequest}


def items(collector, path):
    """Spans, log records or data points."""
    out = []
    for _, to, _, body in list(collector.requests):
        message = MESSAGES[to]()
        message.ParseFromString(body)
        if to != path:
            continue
        if path == "/v1/traces":
            out += [s for r in message.resource_spans for scope in r.scope_spans for s in scope.spans]
        elif path == "/v1/logs":
            out += [one for r in message.resource_logs for scope in r.scope_logs for one in scope.log_records]
        else:
            out += [p for r in message.resource_metrics for scope in r.scope_metrics for m in scope.metrics
                    for p in getattr(m, m.WhichOneof("data")).data_points]
    return out


def losses(text):
    """{noun: (lost, made)}"""
    found = re.findall(r"lost (\d+) of (\d+) ([a-z ]+) \(", text)
    return {noun: (int(lost), int(made)) for lost, made, noun in found}


class Bench:
    """An agent that sends metrics, a client of it that sends all signals, calls that both see."""

    def __init__(self, folder):
        self.ns, self.servers, self.folder = helpers.Netns(), [Collector(), Collector()], folder
        self.metrics, self.agent, self.client = str(folder / "metrics.sock"), None, None
        self.web = Web(self.ns)
        self.agent = helpers.Sonde("agent", "--socket-dir", str(folder / "run"), "--metrics", self.metrics,
                                   "--metrics-families", "calls,network", "--otlp-metrics", self.servers[0].url)
        self.begin()

    def begin(self):
        self.client = helpers.Sonde("rpc", f"--agent={self.folder}/run/read.sock", "--source", "http", "--payload",
                                    "1k", "--netns", self.ns.path, "--json", "-o", f"otlp:{self.servers[1].url}",
                                    "-v")

    def calls(self):
        return [ev for ev in list(self.client.events) if ev["type"] == "rpc.call"]

    def points(self):
        have = samples(read(self.metrics))
        return [have[f'sonde_otlp_points_total{{outcome="{o}"}}'] for o in ("delivered", "lost")]

    def close(self):
        for one in self.client, self.agent:
            if one and one.child.poll() is None:
                one.stop(signal.SIGKILL)
        for one in self.servers:
            if not one.is_away:
                one.close()
        self.ns.close()


@pytest.fixture
def bench(tmp_path):
    one = Bench(tmp_path)
    yield one
    one.close()


def test_nothing_is_lost_that_is_not_said(bench):
    agents, clients = bench.servers
    caller = bench.web.call(AWAY_S + 4)
    helpers.wait_until(lambda: items(clients, "/v1/traces") and items(agents, "/v1/metrics"))
    for one in bench.servers:
        one.away()
    before = len(items(clients, "/v1/traces"))
    time.sleep(AWAY_S)
    for one in bench.servers:
        one.back()
    made = int(caller.communicate(timeout=120)[0])
    helpers.wait_until(lambda: len(bench.calls()) >= 2 * made)
    helpers.wait_until(lambda: len(items(clients, "/v1/traces")) >= 2 * made, 3 * AWAY_S)
    bench.client.stop(signal.SIGTERM, helpers.READY_S)
    calls = bench.calls()
    assert not losses(bench.client.stderr), bench.client.stderr
    spans = [one.span_id for one in items(clients, "/v1/traces")]
    assert len(calls) == len(spans) == len(set(spans)) == 2 * made > 4 * before
    bad = sum(ev.get("status") == "500" or bool(ev.get("error")) for ev in calls)
    logs = [one.body.string_value for one in items(clients, "/v1/logs") if one.event_name == "sonde.rpc.call"]
    assert len(logs) == bad >= made // 5
    last = metrics_service_pb2.ExportMetricsServiceRequest()
    last.ParseFromString([body for _, to, _, body in clients.requests if to == "/v1/metrics"][-1])
    assert sum(p.count for r in last.resource_metrics for scope in r.scope_metrics for m in scope.metrics
               if m.name.startswith("http.") for p in m.histogram.data_points) == len(calls)
    helpers.wait_until(lambda: bench.points() == [len(items(agents, "/v1/metrics")), 0])

    # Away to the end.
    bench.begin()
    had = {path: len(items(clients, path)) for path in MESSAGES}
    for one in bench.servers:
        one.away()
    more = int(bench.web.call(3).communicate(timeout=60)[0])
    helpers.wait_until(lambda: len(bench.calls()) >= 2 * more)
    bench.client.stop(signal.SIGTERM, helpers.READY_S)
    lost = losses(bench.client.stderr)
    assert lost["spans"] == (2 * more, 2 * more) and set(lost) == {"spans", "log records", "data points"}, lost
    assert lost["log records"][0] >= more // 5
    for path, noun in zip(MESSAGES, ("spans", "log records", "data points")):
        assert lost[noun][1] - lost[noun][0] == len(items(clients, path)) - had[path], noun
    bench.agent.stop(signal.SIGTERM, helpers.READY_S)
    gone, points = losses(bench.agent.stderr)["data points"]
    assert gone > 0 and points - gone == len(items(agents, "/v1/metrics")), bench.agent.stderr
