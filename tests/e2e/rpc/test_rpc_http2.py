# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde rpc: HTTP/2 of any program at its sockets, with answers that are larger than what is kept of a turn."""
import collections
import os
import socket
import ssl
import struct
import subprocess
import sys
import threading

import pytest

import helpers

CERTS = os.path.join(helpers.ROOT, "tests", "data", "tls")
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS = 0, 1, 4
END_STREAM, END_HEADERS = 1, 4
SIZES = (0, 100, 20000, 100000)
ROUNDS = 20     # of the sizes, on each connection


def header(size, kind, flags, stream):
    return struct.pack(">IBI", size << 8 | kind, flags, stream)


def frame(kind, flags, stream, body=b""):
    return header(len(body), kind, flags, stream) + body


def literal(name, value):
    """RFC 7541, section 6.2.2: nothing is added to the table."""
    return b"".join((b"\0", *(bytes([len(text)]) + text for text in (name, value))))


def receive(s, n, part):
    got = b""
    while len(got) < n:
        more = s.recv(min(part, n - len(got)))
        if not more:
            return b""
        got += more
    return got


class Server:
    """/NUMBER/... answers with that many bytes, in frames that the writes of @how cut anywhere: of many buffers, of
    equal parts, or over TLS."""

    def __init__(self, how):
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(os.path.join(CERTS, "cert.pem"), os.path.join(CERTS, "key.pem"))
        self.how, self.listener = how, socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(conn,), daemon=True).start()

    def write(self, conn, frames):
        if self.how == "buffers":
            while frames:
                sent = conn.sendmsg(frames[:64])
                while frames and sent >= len(frames[0]):
                    sent -= len(frames.pop(0))
                if sent:
                    frames[0] = frames[0][sent:]
            return
        data = b"".join(frames)
        for at in range(0, len(data), 10007):
            conn.sendall(data[at:at + 10007])

    def serve(self, conn):
        with self.tls.wrap_socket(conn, server_side=True) if self.how == "tls" else conn as conn:
            if receive(conn, len(PREFACE), len(PREFACE)) != PREFACE:
                return
            conn.sendall(frame(SETTINGS, 0, 0))
            while head := receive(conn, 9, 9):
                size, flags, stream = struct.unpack(">IBI", head)
                body = receive(conn, size >> 8, 1 << 20)
                if size & 255 != HEADERS or not flags & END_STREAM:
                    continue
                left = int(body[body.index(b"/") + 1:].split(b"/")[0])
                answer = [frame(HEADERS, END_HEADERS | (0 if left else END_STREAM), stream,
                                literal(b":status", b"200"))]
                while left:
                    n = min(left, 16384)
                    left -= n
                    answer += [header(n, DATA, 0 if left else END_STREAM, stream), b"x" * n]
                self.write(conn, answer)

    def close(self):
        self.listener.close()


CLIENT = """
import os, socket, struct, sys
sys.path[:] = {path!r}
from test_rpc_http2 import ask_all
ask_all(*eval(sys.stdin.read()))
"""


def connect(port, how):
    s = socket.create_connection(("127.0.0.1", port))
    if how != "tls":
        return s
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(s)


def ask_all(port, how, depth):
    """@depth calls at once; reads of 5000 bytes, so that frames begin anywhere."""
    paths = [f"/{size}/{n}" for n in range(ROUNDS) for size in SIZES]
    with connect(port, how) as s:
        s.sendall(PREFACE + frame(SETTINGS, 0, 0))
        got, stream = b"", 1
        for first in range(0, len(paths), depth):
            batch = paths[first:first + depth]
            for path in batch:
                block = b"\x82" + literal(b":path", path.encode())     # GET
                s.sendall(frame(HEADERS, END_STREAM | END_HEADERS, stream, block))
                stream += 2
            ended = 0
            while ended < len(batch):
                more = s.recv(5000)
                assert more
                got += more
                while len(got) >= 9:
                    size, flags, of = struct.unpack(">IBI", got[:9])
                    if len(got) < 9 + (size >> 8):
                        break
                    got = got[9 + (size >> 8):]
                    ended += bool(of) and flags & END_STREAM


@pytest.fixture
def server():
    made = []

    def make(how):
        made.append(Server(how))
        return made[-1]
    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("how, depth", [("buffers", 1), ("buffers", 8), ("parts", 1), ("parts", 8), ("tls", 8)])
def test_large_answers_are_whole(sonde, server, how, depth):
    """Each call is shown once at either end, with its size; none is cut."""
    one = server(how)
    child = sonde("rpc", "--json", "--source", "http2", "--port", str(one.port))
    client = subprocess.Popen([sys.executable, "-c", CLIENT.format(path=sys.path)],
                              stdin=subprocess.PIPE, text=True)
    client.communicate(repr((one.port, how, depth)), timeout=60)
    assert client.returncode == 0
    n = 2 * ROUNDS * len(SIZES)

    def calls():
        return [ev for ev in child.events if ev["type"] == "rpc.call"]
    helpers.wait_until(lambda: len(calls()) >= n)
    child.finish()
    assert collections.Counter((ev["side"], ev["path"], ev.get("http_status"), ev["end"], str(ev.get("incomplete")))
                               for ev in calls()) == {
        (side, f"/{size}/{i}", 200, "done", "None"): 1 for side in ("client", "server") for i in range(ROUNDS)
        for size in SIZES}
    for ev in calls():
        size = int(ev["path"].split("/")[1])
        assert size <= ev["received" if ev["side"] == "client" else "sent"] <= size + 200
