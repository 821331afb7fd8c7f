# SPDX-License-Identifier: GPL-2.0-or-later
"""The OpenTelemetry Collector prints what sonde sent: all four signals, also when it was away (make fleet-newest).

$SONDE_COLLECTOR is the program (tests/workloads/go/gotree.py collector). Its exporter prints before the request is
answered, so what it accepted is printed, whenever it is killed.
"""
import collections
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

import pytest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "e2e"), *(os.path.join(TESTS, "e2e", room) for room in ("outputs", "rpc"))]
import clickhouse_server  # noqa: E402  found by the lines above
import helpers  # noqa: E402
import test_otlp_logs  # noqa: E402
import test_otlp_profiles  # noqa: E402
from opentelemetry.proto.metrics.v1 import metrics_pb2  # noqa: E402
from opentelemetry.proto.trace.v1 import trace_pb2  # noqa: E402
from test_rpc_otlp import flat, recording  # noqa: E402,F401  a fixture
from web_calls import AWAY_S, Web  # noqa: E402

CONFIG = """
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{port}"}}}}}}}}
exporters: {{debug: {{verbosity: detailed, use_internal_logger: false}}}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    traces: {{receivers: [otlp], exporters: [debug]}}
    metrics: {{receivers: [otlp], exporters: [debug]}}
    logs: {{receivers: [otlp], exporters: [debug]}}
    profiles: {{receivers: [otlp], exporters: [debug]}}
"""
READY_S = 60


class Collector:
    def __init__(self, folder):
        self.folder, self.port = folder, clickhouse_server.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        (folder / "config.yaml").write_text(CONFIG.format(port=self.port))
        self.start()

    def start(self):
        with open(self.folder / "printed", "ab") as out, open(self.folder / "log", "ab") as log:
            self.child = subprocess.Popen([os.environ["SONDE_COLLECTOR"], "--config", self.folder / "config.yaml",
                                           "--feature-gates=+service.profilesSupport"], stdout=out, stderr=log)
        helpers.wait_until(self.answers, READY_S)

    def answers(self):
        assert self.child.poll() is None, (self.folder / "log").read_text()
        try:
            urllib.request.urlopen(self.url, timeout=5)
        except urllib.error.HTTPError:
            return True     # it knows paths of signals only
        except OSError:
            return False
        return True

    def kill(self):
        self.child.kill()
        self.child.wait()

    def printed(self):
        return (self.folder / "printed").read_text(errors="replace")

    def count(self, what):
        """Items of this title, such as "Span"."""
        return len(re.findall(rf"^\s*{what} #\d+$", self.printed(), re.M))

    def span_ids(self):
        return re.findall(r"^    ID             : ([0-9a-f]{16})$", self.printed(), re.M)


@pytest.fixture
def collector(tmp_path):
    one = Collector(tmp_path)
    yield one
    one.kill()


def replay(command, path, *words):
    return subprocess.run([helpers.BINARY, command, "-r", path, *words], capture_output=True, text=True, timeout=120,
                          check=True)


def test_all_signals_are_printed_whole(collector, recording, tmp_path):  # noqa: F811
    """Items of a file of each signal, against those printed of the same recording; none is refused."""
    replay("rpc", recording, "-o", str(tmp_path / "x.otlp"))
    replay("rpc", recording, "-o", str(tmp_path / "x.metrics.otlp"))
    replay("profile", test_otlp_profiles.CPU, "-o", str(tmp_path / "x.profiles.otlp"))
    spans, metrics = trace_pb2.TracesData(), metrics_pb2.MetricsData()
    spans.ParseFromString((tmp_path / "x.otlp").read_bytes())
    metrics.ParseFromString((tmp_path / "x.metrics.otlp").read_bytes())
    logs = test_otlp_logs.file_logs("rpc", recording, tmp_path / "x.logs.otlp")
    points = collections.Counter()
    for r in metrics.resource_metrics:
        for m in (m for scope in r.scope_metrics for m in scope.metrics):
            kind = m.WhichOneof("data")
            points[kind] += len(getattr(m, kind).data_points)
    done = replay("rpc", recording, "-o", f"otlp:{collector.url}")
    assert not re.search(r"lost \d+ of \d+ (spans|data points|log|profile|sample)", done.stderr), done.stderr
    assert collections.Counter(collector.span_ids()) == collections.Counter(
        span.span_id.hex() for _, span in flat(spans)) and collector.count("Span") > 20
    assert {kind: collector.count(title) for kind, title in (
        ("sum", "NumberDataPoints"), ("histogram", "HistogramDataPoints"),
        ("exponential_histogram", "ExponentialHistogramDataPoints")) if points[kind]} == points
    bodies = collections.Counter(re.findall(r"^Body: Str\((.*)\)$", collector.printed(), re.M))
    assert bodies == collections.Counter(one.body.string_value for _, one in logs) and logs
    assert {one.event_name for _, one in logs} == set(re.findall(r"^EventName: (\S+)$", collector.printed(), re.M))
    done = replay("profile", test_otlp_profiles.CPU, "-o", f"otlp-profiles:{collector.url}")
    assert not re.search(r"lost \d+ of \d+ (spans|data points|log|profile|sample)", done.stderr), done.stderr
    message = test_otlp_profiles.otlp_profiles_pb.read((tmp_path / "x.profiles.otlp").read_bytes())
    want = [len(p.samples) for _, _, p in test_otlp_profiles.profiles(message)]
    assert collector.count("Profile") == len(want)
    assert collector.count("Sample") == sum(want) > 0


@pytest.mark.limit(300)
def test_nothing_is_lost_while_it_is_away(collector, tmp_path):
    """Spans of live calls, each once; what cannot be sent at the end is counted."""
    ns = helpers.Netns()
    try:
        sonde = helpers.Sonde("rpc", "--agent=no", "--source", "http", "--payload", "1k", "--netns", ns.path,
                              "--json", "-o", f"otlp:{collector.url}", "-v")
        web = Web(ns)

        def spans():
            return sum(ev["type"] == "rpc.call" for ev in list(sonde.events))

        caller = web.call(AWAY_S + 4)
        sonde.wait_for(lambda ev: ev["type"] == "rpc.call", 20, helpers.READY_S)
        helpers.wait_until(collector.span_ids)
        collector.kill()
        before, begin = len(set(collector.span_ids())), time.monotonic()
        while time.monotonic() - begin < AWAY_S:
            time.sleep(0.5)
        collector.start()
        made = int(caller.communicate(timeout=120)[0])
        helpers.wait_until(lambda: spans() >= 2 * made)
        helpers.wait_until(lambda: len(set(collector.span_ids())) == spans(), 2 * AWAY_S + READY_S)
        assert spans() == 2 * made and spans() - before > 1000
        # Away to the end: what is missing is what is counted.
        collector.kill()
        more = int(web.call(3).communicate(timeout=60)[0])
        helpers.wait_until(lambda: spans() >= 2 * (made + more))
        sonde.stop(signal.SIGTERM, helpers.READY_S)
        lost = re.search(r"lost (\d+) of (\d+) spans", sonde.stderr)
        assert lost, sonde.stderr
        assert int(lost[2]) == spans() and int(lost[1]) == spans() - len(set(collector.span_ids())) > 0, sonde.stderr
    finally:
        ns.close()
