# SPDX-License-Identifier: GPL-2.0-or-later
"""What `-o hubble` writes is read by protobuf's own JSON reader, with the names and types of Hubble's API."""
import os
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "golden"))
json_format = pytest.importorskip("google.protobuf.json_format", reason="python3-protobuf is not there")
import flow_proto  # noqa: E402  the path above is needed first


def read(sonde, *words):
    response = flow_proto.response_class()
    ran = sonde(*words, "-o", "hubble")
    assert ran.returncode == 0, ran.stderr
    return [json_format.Parse(line, response()) for line in ran.stdout.splitlines()]


def test_recording_is_read_by_protobuf(sonde):
    flows = [response.flow for response in read(sonde, "monitor", "-r", "tests/data/rec/loopback.rec")]
    assert len(flows) > 30
    dropped = [flow for flow in flows if flow.verdict == 2]
    assert {flow.drop_reason_desc for flow in dropped} >= {178}
    udp = [flow for flow in dropped if flow.l4.UDP.destination_port == 9]
    assert {(flow.IP.source, flow.IP.ipVersion) for flow in udp} == {("127.0.0.1", 1), ("::1", 2)}
    syn = next(flow for flow in flows if flow.l4.TCP.flags.SYN)
    assert (syn.IP.destination, syn.l4.TCP.destination_port, syn.Type) == ("127.0.0.1", 81, 1)
    assert (syn.source.workloads[0].name, syn.time.seconds) == ("nc", 1795269328)
    assert syn.interface.name == "lo" and syn.traffic_direction == 2 and syn.socket_cookie


def test_conversations_are_read_by_protobuf(sonde):
    flows = [response.flow for response in read(sonde, "flows", "-r", "tests/data/rec/flows.rec")]
    tcp = [flow for flow in flows if flow.l4.HasField("TCP")]
    asked = [flow for flow in tcp if not flow.is_reply.value]
    assert asked and all(flow.HasField("is_reply") for flow in tcp)
    assert {tuple(flow.destination_names) for flow in asked} == {("www.example.org",)}
    assert {flow.trace_reason for flow in tcp} >= {1, 2, 3}
    translated = {(flow.IP.source, flow.IP.source_xlated) for flow in asked}
    assert translated >= {("10.77.0.2", "10.77.1.1"), ("10.77.1.1", "10.77.0.2")}
    # what one direction of a connection says of it, the other one says too
    assert {flow.traffic_direction for flow in tcp if flow.interface.name == "r0"} == {1}
