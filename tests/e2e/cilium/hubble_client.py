# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of Hubble's Observer: gRPC's own library, messages by tests/golden/flow_proto.py."""
import os
import sys

import helpers
import pytest

sys.path.insert(0, os.path.join(helpers.ROOT, "tests", "golden"))
grpc = pytest.importorskip("grpc", reason="python3-grpcio is not there")
import flow_proto  # noqa: E402  the path above is needed first

TIMEOUT_S = 60


def message(name, **members):
    return flow_proto.classes()[name](**members)


class Observer:
    """Observer("unix:/path"); get_flows() is a stream, the other calls give one answer. @options: grpc.http2.*"""

    def __init__(self, target, **options):
        self.channel = grpc.insecure_channel(target, [(f"grpc.http2.{k}", v) for k, v in options.items()])

    def unary(self, path, answer, request=None):
        call = self.channel.unary_unary(path, lambda m: m.SerializeToString(),
                                        flow_proto.classes()[answer].FromString)
        return call(request or message("Empty"), timeout=TIMEOUT_S, wait_for_ready=True)

    def stream(self, path, answer, request, timeout=TIMEOUT_S):
        call = self.channel.unary_stream(path, lambda m: m if isinstance(m, bytes) else m.SerializeToString(),
                                         flow_proto.classes()[answer].FromString)
        return call(request, timeout=timeout, wait_for_ready=True)

    def get_flows(self, **members):
        return self.stream("/observer.Observer/GetFlows", "GetFlowsResponse", message("GetFlowsRequest", **members))

    def observe(self, method, answer):
        return self.unary(f"/observer.Observer/{method}", answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()
