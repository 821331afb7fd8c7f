# SPDX-License-Identifier: GPL-2.0-or-later
"""A running sonde ui, and its clients: doc/api.md alone, with Python's own HTTP and bare sockets."""
import http.client
import json
import re
import signal
import socket
import struct
import subprocess
import time
import urllib.parse

from helpers import BINARY, READY_S

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/#t=([A-Za-z0-9_-]{43})$")
KINDS = {0: ("I", 4), 1: ("Q", 8), 2: ("I", 4)}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def members(pairs):
    """An object of JSON, no member twice."""
    assert len({name for name, _ in pairs}) == len(pairs), [name for name, _ in pairs]
    return dict(pairs)


class Ui:
    """sonde ui ...; `with` ends it by SIGINT."""

    @staticmethod
    def command(*words):
        return [BINARY, "ui", *words]

    def __init__(self, *words, listen=None, prefix=()):
        self.port = free_port()
        words = (*words, "--listen", listen or f"127.0.0.1:{self.port}")
        self.child = subprocess.Popen([*prefix, *self.command(*words)],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.line = self.child.stdout.readline().strip()
        found = re.search(r"#t=([A-Za-z0-9_-]{43})", self.line)
        assert found, self.child.stderr.read()
        self.token = found.group(1)

    @classmethod
    def at(cls, address):
        """A page that something else serves."""
        page = cls.__new__(cls)
        page.port, page.token = int(ADDRESS.search(address)[1]), ADDRESS.search(address)[2]
        return page

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Its exit status and what it said."""
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGINT)
        _, err = self.child.communicate(timeout=READY_S)
        return self.child.returncode, err

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port), timeout=READY_S)
        return s

    def ask(self, path, headers=None, method="GET", token=True):
        """status, headers, body"""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=READY_S)
        try:
            c.putrequest(method, path, skip_host="Host" in (headers or {}), skip_accept_encoding=True)
            if token:
                c.putheader("Authorization", f"Bearer {self.token}")
            for name, value in (headers or {}).items():
                if value is not None:
                    c.putheader(name, value)
            c.endheaders()
            r = c.getresponse()
            return r.status, dict(r.getheaders()), r.read()
        finally:
            c.close()

    def get(self, path, status=200, **parameters):
        query = urllib.parse.urlencode({k.rstrip("_"): v for k, v in parameters.items()})
        got, _, body = self.ask(f"/api/v1/{path}" + (f"?{query}" if query else ""))
        assert got == status, (path, parameters, got, body[:300])
        return json.loads(body, object_pairs_hook=members)

    def read_whole(self):
        """Waits until the recording was read."""
        deadline = time.monotonic() + READY_S
        while self.get("meta")["reading"]:
            assert time.monotonic() < deadline
        return self

    def stream(self, *subs):
        """Lines of /live, as they come."""
        query = urllib.parse.urlencode([("sub", s) for s in subs])
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=READY_S)
        c.request("GET", f"/api/v1/live?{query}", headers={"Authorization": f"Bearer {self.token}"})
        r = c.getresponse()
        assert r.status == 200, r.read()
        try:
            while True:
                yield json.loads(r.readline())
        finally:
            c.close()


def parents(ui, **parameters):
    """Process ids of the processes view, and the parent's of each; None where no event says it."""
    view = next(v for v in ui.get("views")["views"] if v["name"] == "processes")
    pid = [k["field"] for k in view["keys"]].index("proc.pid")
    ppid = [n["field"] for n in view["notes"]].index("proc.ppid")
    rows = ui.get("view/processes", top=1000, **parameters)["rows"]
    return {row["keys"][pid]: row["notes"][ppid] for row in rows if not row["other"]}


def raw(port, data):
    """Bytes to the server and all that it answers."""
    with socket.create_connection(("127.0.0.1", port), timeout=READY_S) as s:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        out = b""
        while True:
            try:
                got = s.recv(65536)
            except ConnectionResetError:
                return out
            if not got:
                return out
            out += got


def align(n):
    return (n + 7) & ~7


def texts(data, at, rows):
    """A column of texts at an offset: the texts, and the offset behind it."""
    ends = struct.unpack_from(f"<{rows + 1}I", data, at)
    at += 4 * (rows + 1)
    return [data[at + a:at + b].decode() for a, b in zip(ends, ends[1:])], at + ends[-1]


def frames(data):
    """The frames of application/vnd.sonde.columns: (head, columns by name)."""
    words, at = [], 0
    while at < len(data):
        length, rows, base, lost, n, columns, new = struct.unpack_from("<IIQQQII", data, at)
        assert length % 8 == 0 and rows <= 4096
        more, p = texts(data, at + 40, new)
        words += more
        p = at + align(p - at)
        table = {}
        for _ in range(columns):
            name, kind, size = struct.unpack_from("<IIQ", data, p)
            p += 16
            if kind == 3:
                table[words[name]], end = texts(data, p, rows)
                assert end == p + size
            else:
                letter, width = KINDS[kind]
                assert size == width * rows
                values = list(struct.unpack_from(f"<{rows}{letter}", data, p))
                table[words[name]] = [words[v] for v in values] if kind == 2 else values
            p += align(size)
        assert p == at + length
        yield {"rows": rows, "base": base, "lost": lost, "n": n}, table
        at += length
