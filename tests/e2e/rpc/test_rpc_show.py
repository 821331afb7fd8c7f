# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde rpc --show and explain PID: what is left out by default, how calls are counted, what did not become calls.

Replays are of records made here: probes/call/call_wire.h, written down a second time.
"""
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading

import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

import helpers

sys.path.insert(0, os.path.join(helpers.ROOT, "tests", "golden"))
import calls  # noqa: E402  the path above is needed first

CONN, DATA = 6 << 8 | 1, 6 << 8 | 2
RX, TX = 0, 1
SOCKET, OPENSSL = 0, 1
HTTP, POSTGRESQL, REDIS = 1, 3, 5
MIDSTREAM, NO_REGS = 1, 4


def header_flag():
    with open(os.path.join(helpers.ROOT, "include", "sonde", "wire.h"), encoding="utf-8") as f:
        line = next(line for line in f if "#define SONDE_RF_IDENT" in line)
    return int(line.split()[2].rstrip("u"), 0)


class Recording:
    """Records of connections, in order."""

    def __init__(self):
        self.out = [calls.REC.pack(calls.BOOT_NS, calls.REC.size + len(b), t, 0, 0, 0, 0, 0, 0, 0) + b
                    for t, b in calls.first_records()]
        self.ts, self.offsets = calls.BOOT_NS, {}

    def add(self, kind, pid, body, flags=0):
        self.ts += 1000
        head = calls.REC.pack(self.ts, calls.REC.size + len(body), kind, 0, pid, pid, pid, 0, 1, flags)
        self.out.append(head + body)

    def conn(self, pid, cookie, ports, guess=0, source=SOCKET, flags=0):
        ident = struct.pack("<6QIIIBBBB", pid, 0, 0, 0, 0, cookie, 1, 0, 0, 0, 0, 0, 0)
        rest = struct.pack("<QQQQBBBBB3xHHI", cookie, 0, 0, 0, 4, 6, guess, source, flags, *ports, 0)
        self.add(CONN, pid, ident + rest + bytes([127, 0, 0, 1]).ljust(16, b"\0") * 2, header_flag())

    def data(self, pid, cookie, way, content, guess, size=None, source=SOCKET, flags=0):
        size = len(content) if size is None else size
        at = self.offsets.get((cookie, source, way), 0)
        self.offsets[cookie, source, way] = at + size
        head = struct.pack("<QQIIHBBBBBx", cookie, at, size, 7, len(content), way, flags, guess, source, 0)
        self.add(DATA, pid, head + content)

    def call(self, pid, cookie, ask, answer, guess, server=False):
        self.data(pid, cookie, RX if server else TX, ask, guess)
        self.data(pid, cookie, TX if server else RX, answer, guess)

    def write(self, path):
        path.write_bytes(calls.file_header() + b"".join(calls.frame(r) for r in self.out))
        return str(path)


def get(path):
    return f"GET {path} HTTP/1.1\r\nHost: shop\r\n\r\n".encode()


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CLIENT, SERVER, DATABASE = 100, 200, 300
PATHS = ["/v2/users/17?token=hunter2&x", "/v2/users/18?token=hunter3", "/v2/users/me",
         "/v2/users/f47ac10b-58cc-4372-a567-0e02b2c3d479"]
SQL = b"SELECT name FROM users WHERE mail = 'a@b'"
ROWS = b"C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I"


def query(sql):
    return b"Q" + struct.pack(">I", len(sql) + 5) + sql + b"\0"


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Calls of HTTP at a client, one of PostgreSQL at both ends; and connections with and without a reason."""
    r = Recording()
    r.conn(CLIENT, 1, (4000, 80), HTTP)
    for path in PATHS:
        r.call(CLIENT, 1, get(path), OK, HTTP)
    r.conn(CLIENT, 2, (4001, 5432), POSTGRESQL)
    r.conn(DATABASE, 3, (5432, 4001), POSTGRESQL)
    r.data(CLIENT, 2, TX, query(SQL), POSTGRESQL)
    r.call(DATABASE, 3, query(SQL), ROWS, POSTGRESQL, server=True)
    r.data(CLIENT, 2, RX, ROWS, POSTGRESQL)
    r.conn(CLIENT, 4, (4002, 443), source=OPENSSL)              # cipher bytes only
    r.conn(CLIENT, 5, (4003, 80), HTTP, flags=MIDSTREAM)        # the answer to an earlier request
    r.data(CLIENT, 5, RX, OK, HTTP)
    r.call(CLIENT, 5, get("/a"), OK, HTTP)
    r.conn(CLIENT, 6, (4004, 80), HTTP)
    r.data(CLIENT, 6, TX, b"", HTTP, size=5000, flags=NO_REGS)
    r.conn(CLIENT, 7, (4005, 80), HTTP)
    r.data(CLIENT, 7, TX, get("/unanswered"), HTTP)
    return r.write(tmp_path_factory.mktemp("show") / "calls.rec")


def run(*words):
    return subprocess.run([helpers.BINARY, "rpc", *words], capture_output=True, text=True, timeout=60, check=False,
                          stdin=subprocess.DEVNULL)


def objects(*words):
    done = run(*words, "--json")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def counted(rows):
    return {row["name"]: row["calls"] for row in rows if row["name"].startswith("GET /v2")}


@pytest.mark.replay
def test_calls_are_counted_without_ids(recording):
    assert counted(objects("-r", recording, "-c")) == {"GET /v2/users/_": 3, "GET /v2/users/me": 1}
    raw = {f"GET {path.split('?')[0]}": 1 for path in PATHS}
    assert counted(objects("-r", recording, "-c", "--show", "raw-path")) == raw
    rows = [row for row in objects("-r", recording, "--top", "--show=raw-path") if row["final"]]
    assert {row["key"]["rpc.raw_name"] for row in rows} > set(raw)
    rows = [row for row in objects("-r", recording, "--top") if row["final"]]
    assert {row["key"]["rpc.name"] for row in rows} == {"GET /v2/users/_", "GET /v2/users/me", "GET /a",
                                                       "postgresql SELECT users"}


@pytest.mark.replay
def test_parents_are_inferred_on_request(tmp_path):
    """A thread with two incoming calls at once is an event loop; one of them contains the outgoing call."""
    r = Recording()
    for cookie, ports in ((1, (80, 4000)), (2, (80, 4001))):
        r.conn(SERVER, cookie, ports, HTTP)
        r.data(SERVER, cookie, RX, get(f"/{cookie}"), HTTP)
    r.data(SERVER, 2, TX, OK, HTTP)
    r.conn(SERVER, 3, (4002, 5432), POSTGRESQL)
    r.call(SERVER, 3, query(SQL), ROWS, POSTGRESQL)
    r.data(SERVER, 1, TX, OK, HTTP)
    path = r.write(tmp_path / "calls.rec")
    for show, link in ([], None), (["--show", "inferred"], "inferred"):
        seen = [ev for ev in objects("-r", path, *show) if ev["type"] == "rpc.call"]
        events = {ev["kind"] + ev.get("path", ""): ev for ev in seen}
        assert len(events) == 3 and events["postgresql"].get("link") == link
        assert events["postgresql"].get("parent") == (events["http/1"]["call_id"] if link else None)


@pytest.mark.replay
@pytest.mark.parametrize("show, queries, statement", [
    ([], {"token=&x", "token="}, "SELECT name FROM users WHERE mail = ?"),
    (["--show", "query"], {"token=hunter2&x", "token=hunter3"}, "SELECT name FROM users WHERE mail = ?"),
    (["--show", "literals"], {"token=&x", "token="}, SQL.decode()),
    (["--show", "query,literals"], {"token=hunter2&x", "token=hunter3"}, SQL.decode()),
])
def test_secrets_on_demand(recording, show, queries, statement):
    seen = [ev for ev in objects("-r", recording, *show) if ev["type"] == "rpc.call"]
    assert {ev["query"] for ev in seen if "query" in ev} == queries
    assert {ev["statement"] for ev in seen if "statement" in ev} == {statement}
    assert {ev["statement_id"] for ev in seen if "statement" in ev} == {
        ev["statement_id"] for ev in objects("-r", recording) if "statement" in ev}
    shown = run("-r", recording, *show).stdout
    assert ("hunter2" in shown) == ("query" in " ".join(show))


def spans(path):
    message = trace_service_pb2.ExportTraceServiceRequest()
    message.ParseFromString(path.read_bytes())
    return [{a.key: a.value.string_value for a in span.attributes} | {"kind": span.kind}
            for r in message.resource_spans for s in r.scope_spans for span in s.spans]


@pytest.mark.replay
def test_spans_of_databases(recording, tmp_path):
    """From the client's side, unless both are asked for; the query as far as it is shown."""
    out = tmp_path / "calls.otlp"
    assert run("-r", recording, "-o", f"otlp:{out}").returncode == 0
    one = [s for s in spans(out) if "db.system.name" in s]
    assert [s["kind"] for s in one] == [3] and one[0]["db.query.text"].endswith("mail = ?")
    assert {s["url.query"] for s in spans(out) if "url.query" in s} == {"token=&x", "token="}
    assert run("-r", recording, "-o", f"otlp:{out}", "--show", "both-sides,query").returncode == 0
    assert sorted(s["kind"] for s in spans(out) if "db.system.name" in s) == [2, 3]
    assert {s["url.query"] for s in spans(out) if "url.query" in s} == {"token=hunter2&x", "token=hunter3"}


@pytest.mark.replay
@pytest.mark.parametrize("word, near", [("querry", "query"), ("literal", "literals"), ("rawpath", "raw-path"),
                                        ("query,both-side", "both-sides"), ("infered", "inferred"),
                                        ("queu", "queue")])
def test_unknown_word(recording, word, near):
    done = run("-r", recording, "--show", word)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert f"did you mean {near}?" in done.stderr


# ---- explain ----

def classes(rows):
    return {(r["protocol"], r["source"], r["why"]): (r["connections"], r["calls"], r["seen"], r["not_seen"])
            for r in rows if r["type"] == "connections"}


@pytest.mark.replay
def test_classes_of_a_recording(recording):
    http = sum(len(get(path)) + len(OK) for path in PATHS)
    assert classes(objects("explain", "-r", recording, str(CLIENT))) == {
        ("http", "socket", ""): (1, 4, http, 0),
        ("postgresql", "socket", ""): (1, 1, len(query(SQL)) + len(ROWS), 0),
        ("http", "socket", "opened before the start"): (1, 1, len(get("/a")) + len(OK), len(OK)),
        ("http", "socket", "sendfile, splice, recvmmsg or a 32-bit program"): (1, 0, 0, 5000),
        ("http", "socket", "not part of a whole call"): (1, 0, 0, len(get("/unanswered"))),
        ("tls", "-", "unknown TLS library"): (1, 0, 0, 0),
    }
    assert set(classes(objects("explain", "-r", recording, str(DATABASE)))) == {("postgresql", "socket", "")}
    table = run("explain", "-r", recording, str(CLIENT)).stdout.splitlines()
    assert table[0].split()[:4] == ["PROTOCOL", "SOURCE", "CONNS", "CALLS"] and len(table) == 7
    assert run("explain", "-r", recording, "99").stdout == "no connections\n"


PROGRAM = """
import socket, sys
port = int(sys.stdin.readline())
socks = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
http, tls, other = socks
print("connected", flush=True)
sys.stdin.readline()
for _ in range(5):
    http.sendall(b"GET /5 HTTP/1.1\\r\\nHost: here\\r\\n\\r\\n")
    assert http.recv(100).endswith(b"ok")
for _ in range(3):
    tls.sendall(b"\\x17\\x03\\x03\\x00\\x64" + bytes(100))
    assert tls.recv(100) == b"\\x17\\x03\\x03\\x00\\x01\\x00"
    other.sendall(b"@@@@" + bytes(996))
    assert other.recv(100) == b"@@"
print("done", flush=True)
sys.stdin.readline()
"""


def serve(listener):
    def answer(conn):
        with conn:
            while got := conn.recv(4096):
                conn.sendall(OK if got[:3] == b"GET" else b"\x17\x03\x03\x00\x01\x00" if got[0] == 0x17 else b"@@")
    while True:
        try:
            conn, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=answer, args=(conn,), daemon=True).start()


@pytest.mark.parametrize("kernel, hidden", [
    ("this", "stripped static OpenSSL: --tls-at names its functions"),
    ("5.10", "no TLS library is watched on this kernel (since Linux 5.15)")], indirect=["kernel"])
def test_classes_of_a_process(sonde, tmp_path, kernel, hidden):
    """A program that has the words of a stripped OpenSSL inside, with connections from before the start."""
    program = tmp_path / "program"
    shutil.copy(os.path.realpath(sys.executable), program)
    with open(program, "ab") as f:
        f.write(b"\0ssl/ssl_lib.c\0")
    with socket.create_server(("127.0.0.1", 0)) as listener, subprocess.Popen(
            [program, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=dict(os.environ, PYTHONHOME=sys.base_prefix)) as child:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        print(listener.getsockname()[1], file=child.stdin, flush=True)
        assert child.stdout.readline() == "connected\n"
        one = sonde("rpc", "explain", "--source", "socket", "--json", "--duration", "1m", str(child.pid),
                    before=kernel)
        print(file=child.stdin, flush=True)
        assert child.stdout.readline() == "done\n"
        one.stop()
        child.stdin.close()
        found = classes(one.events)
    assert found["http", "socket", ""] == (1, 5, 5 * (len(get("/5")) + len(OK)), 0), found
    assert found["tls", "-", hidden] == (1, 0, 0, 3 * (105 + 6)), found
    assert found["?", "-", "unclassified"] == (1, 0, 0, 3 * (1000 + 2)), found
    assert len(found) == 3
