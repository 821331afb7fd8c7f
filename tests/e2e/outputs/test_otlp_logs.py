# SPDX-License-Identifier: GPL-2.0-or-later
"""-o otlp-logs: log records of OpenTelemetry against the same events as JSON and the spans of the same calls.

The judge is the generated reader of the OpenTelemetry project (Debian: python3-opentelemetry-proto).
"""
import collections
import datetime
import json
import os
import signal
import struct
import subprocess
import time

import pytest
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

import helpers
from test_rpc_otlp import calls, collector, flat, plain, recording  # noqa: F401  fixtures

DATA = os.path.join(helpers.ROOT, "tests", "data")
LOOPBACK, ALL = (os.path.join(DATA, "rec", name) for name in ("loopback.rec", "all.rec"))
SEVERITIES = {9: "INFO", 13: "WARN", 17: "ERROR"}


def replay(command, path, *words, status=0):
    done = subprocess.run([helpers.BINARY, command, "-q", "-r", path, *words], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == status, done.stderr
    return done


def wall_ns(text):
    """Of "2026-11-21T13:55:28.387007706Z"."""
    at = datetime.datetime.fromisoformat(text[:19] + "+00:00")
    return int(at.timestamp()) * 10**9 + int(text[20:29])


def events(command, path, *words):
    return [json.loads(line) for line in replay(command, path, "--json", *words).stdout.splitlines()]


def logs(message):
    """(resource, record) of each."""
    out = []
    for r in message.resource_logs:
        assert r.schema_url.startswith("https://opentelemetry.io/schemas/")
        for scope in r.scope_logs:
            assert scope.scope.name == "sonde"
            for one in scope.log_records:
                assert one.severity_text == SEVERITIES[one.severity_number]
                assert one.time_unix_nano == one.observed_time_unix_nano > 0
                out.append((plain(r.resource.attributes), one))
    return out


def file_logs(command, path, out, *words):
    replay(command, path, "-o", str(out), *words)
    message = logs_pb2.LogsData()
    message.ParseFromString(out.read_bytes())
    return logs(message)


@pytest.mark.replay
def test_drops_are_warnings_with_their_addresses(tmp_path):
    got = file_logs("monitor", LOOPBACK, tmp_path / "x.logs.otlp", "--where", "evt.type=net.drop")
    want = [ev for ev in events("monitor", LOOPBACK, "--where", "evt.type=net.drop") if ev["type"] == "net.drop"]
    lines = replay("monitor", LOOPBACK, "--time", "none", "--where", "evt.type=net.drop").stdout.splitlines()
    drops = [(r, one) for r, one in got if one.event_name == "sonde.net.drop"]
    assert len(drops) == len(want) > 0
    assert sorted(one.body.string_value for _, one in drops) == sorted(lines)
    by_time = {one.time_unix_nano: (r, one) for r, one in drops}
    for ev in want:
        r, one = by_time[wall_ns(ev["time"])]
        a = plain(one.attributes)
        assert one.severity_number == 13 and a["sonde.drop.reason"] == ev["reason"]
        assert a.get("code.function.name") == ev.get("func")
        if "conn" in ev:
            assert a["source.address"] == ev["conn"]["src"] and a["destination.address"] == ev["conn"]["dst"]
            assert a["network.transport"] == ev["conn"]["proto"]
        assert r.get("process.pid") == ev.get("proc", {}).get("pid")


@pytest.mark.replay
def test_failed_calls_have_the_ids_of_their_spans(recording, tmp_path):  # noqa: F811
    got = file_logs("rpc", recording, tmp_path / "x.logs.otlp")
    replay("rpc", recording, "-o", str(tmp_path / "x.otlp"))
    message = trace_pb2.TracesData()
    message.ParseFromString((tmp_path / "x.otlp").read_bytes())
    failed = {s.end_time_unix_nano: (r, s) for r, s in flat(message)}
    want = [ev for ev in events("rpc", recording) if ev["type"] == "rpc.call" and ev.get("error")]
    errors = [(r, one) for r, one in got if one.event_name == "sonde.rpc.call"]
    assert len(errors) == len(want) > 0
    for r, one in errors:
        resource, span = failed[one.time_unix_nano]
        assert (one.trace_id, one.span_id) == (span.trace_id, span.span_id)
        assert r == resource and one.severity_number == 17
    assert "hunter2" not in str(got)


@pytest.mark.replay
def test_losses_are_errors_of_the_host(tmp_path):
    got = file_logs("rpc", lossy(tmp_path, 3), tmp_path / "x.logs.otlp")
    losses = [(r, one) for r, one in got if one.event_name == "sonde.lost"]
    assert len(losses) == 3
    for r, one in losses:
        assert one.severity_number == 17 and r["service.name"] == "sonde" and "process.pid" not in r
        assert plain(one.attributes)["sonde.lost.count"] == 7


def lossy(tmp_path, n):
    """A recording of @n losses at one time."""
    bodies = calls.first_records() + [(calls.LOST, struct.pack("<IIQ", 0, 0, 7))] * n
    path = tmp_path / "lossy.rec"
    path.write_bytes(calls.file_header() + b"".join(
        calls.frame(calls.REC.pack(calls.BOOT_NS, calls.REC.size + len(body), kind, 0, 0, 0, 0, 0, calls.GOHTTP2, 0) +
                    body) for kind, body in bodies))
    return str(path)


@pytest.mark.replay
def test_above_the_rate_records_are_left_out_and_counted(tmp_path):
    got = file_logs("rpc", lossy(tmp_path, 1500), tmp_path / "x.logs.otlp")
    names = collections.Counter(one.event_name for _, one in got)
    assert names["sonde.lost"] == 1000
    left_out = [plain(one.attributes) for _, one in got if one.event_name == "sonde.log.left_out"]
    assert sum(a["sonde.log.left_out"] for a in left_out) == 500
    assert {a["sonde.log.type"] for a in left_out} == {"sonde.lost"}


@pytest.mark.replay
def test_one_url_gets_traces_metrics_and_logs_of_the_same_processes(recording, collector):  # noqa: F811
    c = collector()
    replay("rpc", recording, "-o", f"otlp:{c.url}")
    paths = collections.Counter(path for _, path, _, _ in c.requests)
    assert set(paths) == {"/v1/traces", "/v1/metrics", "/v1/logs"}
    by_pid = {r["process.pid"]: r for r, _ in c.spans(path="/v1/traces")}
    n = 0
    for _, path, _, body in c.requests:
        if path != "/v1/logs":
            continue
        message = logs_service_pb2.ExportLogsServiceRequest()
        message.ParseFromString(body)
        for r, one in logs(message):
            n += "process.pid" in r
            assert "process.pid" not in r or r == by_pid[r["process.pid"]]
    assert n


CLOSED_PORT = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(10):
    s.sendto(b"x", ("127.0.0.1", 9))
"""


def test_a_server_that_is_back_when_the_run_ends_gets_what_waits(collector):  # noqa: F811
    """However long it was away: the pauses between tries have grown by then."""
    ns, server = helpers.Netns(), collector()
    one = helpers.Sonde("monitor", "--agent=no", "--netns", ns.path, "--where", "evt.type=drop", "-o",
                        f"otlp-logs:{server.url}")
    server.away()
    ns.python(CLOSED_PORT)
    time.sleep(9.5)
    server.back()
    one.stop(signal.SIGINT, helpers.READY_S)
    ns.close()
    got = [record for _, path, _, body in server.requests for _, record in logs_of(body) if path == "/v1/logs"]
    assert sum(record.event_name == "sonde.net.drop" for record in got) == 10, one.stderr
    assert "10 drops in" in one.stderr and "log records" not in one.stderr, one.stderr


def logs_of(body):
    message = logs_service_pb2.ExportLogsServiceRequest()
    message.ParseFromString(body)
    return logs(message)
