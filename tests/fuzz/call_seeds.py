#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes seeds of the fuzz targets call_*: connections, in the format of call_fuzz.h.

  call_seeds.py [PROTOCOL...]

memcached, fastcgi and nats are recorded between small clients and the servers of Debian; the others are made by
tests/e2e/call_messages.py, whose messages follow the protocols' specifications. walk: those of HTTP in the format of
fuzz_call_walk.c.
"""
import os
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

import call_messages as messages    # noqa: E402  pylint: disable=wrong-import-position

SENT, RECEIVED = 1, 0


class Recording:
    """Chunks of a connection as the client sees it."""

    def __init__(self):
        self.data = b""

    def add(self, direction, chunk):
        while chunk:
            part, chunk = chunk[:65535], chunk[65535:]
            size = len(part)
            if size < 30:
                self.data += bytes([size << 3 | direction]) + part
            elif size < 256:
                self.data += bytes([30 << 3 | direction, size]) + part
            else:
                self.data += bytes([31 << 3 | direction]) + size.to_bytes(2, "little") + part

    def save(self, protocol, name):
        folder = os.path.join(HERE, "corpus", f"call_{protocol}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, name), "wb") as f:
            f.write(self.data)


class Client:
    """A connection that records what goes over it."""

    def __init__(self, address):
        self.recording = Recording()
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        deadline = time.monotonic() + 10
        while True:
            self.socket = socket.socket(family)
            try:
                self.socket.connect(address)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def send(self, data):
        self.socket.sendall(data)
        self.recording.add(SENT, data)

    def receive(self, until):
        got = b""
        while not until(got):
            part = self.socket.recv(65536)
            if not part:
                break
            got += part
        self.recording.add(RECEIVED, got)
        return got

    def ask(self, data, end):
        self.send(data)
        return self.receive(lambda got: got.endswith(end))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def memcached():
    port = free_port()
    server = subprocess.Popen(["memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", str(port)])
    try:
        c = Client(("127.0.0.1", port))
        for data, end in messages.MEMCACHED_TEXT:
            c.ask(data, end)
        c.recording.save("memcached", "text")
        c = Client(("127.0.0.1", port))
        for data, end in messages.MEMCACHED_META:
            c.ask(data, end)
        c.recording.save("memcached", "meta")
        c = Client(("127.0.0.1", port))
        for data, count in messages.memcached_binary():
            c.send(data)
            c.receive(lambda got, n=count: messages.memcached_count(got) >= n)
        c.recording.save("memcached", "binary")
    finally:
        server.terminate()
        server.wait()


def fastcgi():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        address = os.path.join(folder, "socket")
        server = messages.php_fpm(folder, address)
        try:
            for name, requests in messages.fastcgi_requests(folder).items():
                c = Client(address)
                for data in requests:
                    c.send(data)
                    c.receive(messages.fastcgi_ended)
                c.recording.save("fastcgi", name)
        finally:
            server.terminate()
            server.wait()


def nats():
    port = free_port()
    server = subprocess.Popen(["nats-server", "-a", "127.0.0.1", "-p", str(port), "--user", "me", "--pass", "secret"],
                              stderr=subprocess.DEVNULL)
    try:
        address = ("127.0.0.1", port)
        asker, answerer = Client(address), Client(address)
        for c in (asker, answerer):
            c.receive(lambda got: got.endswith(b"\r\n"))
            c.ask(messages.nats_connect() + b"PING\r\n", b"PONG\r\n")
        answerer.ask(b"SUB work.* 1\r\nSUB news 2\r\nPING\r\n", b"PONG\r\n")
        asker.ask(b"SUB _INBOX.a.* 1\r\nPUB news 5\r\nhello\r\nPUB nobody 0\r\n\r\nPING\r\n", b"PONG\r\n")
        answerer.receive(lambda got: got.endswith(b"hello\r\n"))
        asker.send(b"PUB work.x _INBOX.a.1 3\r\none\r\n"
                   b"HPUB work.y _INBOX.a.2 18 21\r\nNATS/1.0\r\nA: b\r\n\r\ntwo\r\n")
        answerer.receive(lambda got: got.endswith(b"two\r\n"))
        answerer.send(b"PUB _INBOX.a.2 2\r\nTW\r\nPUB _INBOX.a.1 2\r\nON\r\nPUB _INBOX.a.1 2\r\non\r\n")
        asker.receive(lambda got: got.endswith(b"on\r\n"))
        asker.ask(b"PUB void _INBOX.a.3 1\r\nx\r\n", b"\r\n\r\n\r\n")
        asker.recording.save("nats", "asker")
        answerer.recording.save("nats", "answerer")
        verbose = Client(address)
        verbose.receive(lambda got: got.endswith(b"\r\n"))
        verbose.ask(messages.nats_connect(verbose=True), b"+OK\r\n")
        verbose.ask(b"PUB news 1\r\nx\r\n", b"+OK\r\n")
        verbose.ask(b"SUB bad..subject 1\r\n", b"\r\n")
        verbose.recording.save("nats", "verbose")
        refused = Client(address)
        refused.receive(lambda got: got.endswith(b"\r\n"))
        refused.ask(messages.nats_connect(password="wrong") + b"PING\r\n", b"\r\n")
        refused.recording.save("nats", "refused")
    finally:
        server.terminate()
        server.wait()


def scripted(protocol, **conversations):
    """Conversations of pairs: what the client sends, what the server answers."""
    for name, pairs in conversations.items():
        recording = Recording()
        for asked, answered in pairs:
            recording.add(SENT, asked)
            recording.add(RECEIVED, answered)
        recording.save(protocol, name)


def chunks(protocol, name):
    """(direction, bytes) of a saved connection."""
    with open(os.path.join(HERE, "corpus", f"call_{protocol}", name), "rb") as f:
        while head := f.read(1):
            size = head[0] >> 3
            if size >= 30:
                size = int.from_bytes(f.read(size - 29), "little")
            yield head[0] & 1, f.read(size)


def walk():
    """Each operation in three buffers."""
    for number, protocol, name in (0, "http1", "pipeline"), (0, "http1", "continue"), (1, "http2", "grpc"):
        recording, last = Recording(), None
        recording.data = bytes([number])
        for direction, data in chunks(protocol, name):
            recording.data += bytes([direction | (direction != last) << 1 | 3 << 2]) + len(data).to_bytes(2, "little")
            recording.data += bytes([20, 100]) + data
            last = direction
        recording.save("walk", name)


ALL = {
    "memcached": memcached,
    "fastcgi": fastcgi,
    "nats": nats,
    "amqp": lambda: scripted("amqp", producer=messages.amqp_producer(), consumer=messages.amqp_consumer()),
    "kafka": lambda: scripted("kafka", client=messages.kafka_conversation()),
    "mongodb": lambda: scripted("mongodb", client=messages.mongodb_conversation()),
    "cql": lambda: scripted("cql", client=messages.cql_conversation(), segments=messages.cql_conversation_5()),
    "walk": walk,
}


def main():
    for name in sys.argv[1:] or ALL:
        ALL[name]()


if __name__ == "__main__":
    main()
