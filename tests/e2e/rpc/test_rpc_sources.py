# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde rpc with both sources: each call once at each end, of the source that speaks for its process."""
import collections
import json
import socket
import subprocess
import sys

import pytest

import gocalls
from test_rpc import calls  # noqa: F401  a fixture

N = 40

# gRPC by hand: frames of RFC 9113, headers as literals without an index of RFC 7541.
CLIENT = """
import socket, sys
host, port, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

def frame(kind, flags, stream, body=b""):
    return len(body).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + body

def literal(name, value):
    return bytes((0, len(name))) + name + bytes((len(value),)) + value

def headers(method):
    return b"".join(literal(*h) for h in (
        (b":method", b"POST"), (b":scheme", b"http"), (b":path", b"/sonde.test.Echo/" + method),
        (b":authority", b"here"), (b"content-type", b"application/grpc"), (b"te", b"trailers")))

s = socket.create_connection((host, port))
answers = s.makefile("rb")
s.sendall(b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + frame(4, 0, 0))
for i in range(n):
    stream = 2 * i + 1
    message = b"\\0\\0\\0\\0\\0" if i % 4 else b"\\0\\0\\0\\0\\3\\x0a\\1x"
    s.sendall(frame(1, 4, stream, headers(b"Fail" if i % 4 == 3 else b"Unary")) + frame(0, 1, stream, message))
    while True:
        head = answers.read(9)
        body = answers.read(int.from_bytes(head[:3], "big"))
        if head[3] in (4, 6) and not head[4] & 1:
            s.sendall(frame(head[3], 1, 0, body if head[3] == 6 else b""))
        if int.from_bytes(head[5:], "big") == stream and head[3] in (0, 1) and head[4] & 1:
            break
"""


def python_calls(address, n):
    host, port = address.rsplit(":", 1)
    child = subprocess.Popen([sys.executable, "-c", CLIENT, host, port, str(n)])
    assert child.wait(30) == 0
    return child.pid


def kinds(events, pid):
    """How many calls of each source, side and status the process has."""
    return collections.Counter((ev["source"], ev["side"], ev["status"]) for ev in events
                               if ev["type"] == "rpc.call" and ev["proc"]["pid"] == pid)


@pytest.mark.parametrize("late", (False, True))
def test_each_call_once_at_each_end(sonde, calls, late):  # noqa: F811
    """A gRPC server in Go and a client in Python, in cleartext; also of a program that starts after sonde."""
    words = ("rpc", "--json", "--source", "go,http2", "--where",
             "evt.type in (rpc.call, rpc.program)")
    server = None if late else calls(gocalls.program("trixie"), "-mode", "server")
    child = sonde(*words)
    server = server or calls(gocalls.program("trixie"), "-mode", "server")
    if late:    # its file is inspected when it runs
        child.wait_for(lambda ev: ev["type"] == "rpc.program" and ev["proc"]["pid"] == server.pid, 1)
    client = python_calls(server.addr, N)
    child.wait_for(lambda ev: ev["type"] == "rpc.call" and ev["proc"]["pid"] == client, N)
    child.wait_for(lambda ev: ev["type"] == "rpc.call" and ev["proc"]["pid"] == server.pid, N)
    server.quit()
    child.finish()
    assert kinds(child.events, client) == {("socket", "client", "OK"): N - N // 4,
                                           ("socket", "client", "NOT_FOUND"): N // 4}
    assert kinds(child.events, server.pid) == {("go", "server", "OK"): N - N // 4,
                                               ("go", "server", "NOT_FOUND"): N // 4}


def test_http1_of_a_go_program_is_of_its_sockets(sonde, calls):  # noqa: F811
    """A process is left to the Go probe in HTTP/2 only."""
    server = calls(gocalls.program("trixie"), "-mode", "server", "-kind", "h2c")
    child = sonde("rpc", "--json", "--source", "go,socket", "--pid", str(server.pid))
    host, port = server.addr.rsplit(":", 1)
    for _ in range(3):
        with socket.create_connection((host, int(port))) as s, s.makefile("rb") as answers:
            s.sendall(b"GET /get HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
            assert answers.readline().startswith(b"HTTP/1.1 ")
            answers.read()
    child.wait_for(lambda ev: ev["type"] == "rpc.call", 3)
    server.quit()
    child.finish()
    seen = [ev for ev in child.events if ev["type"] == "rpc.call"]
    assert [ev["source"] for ev in seen] == ["socket"] * 3, json.dumps(seen)
