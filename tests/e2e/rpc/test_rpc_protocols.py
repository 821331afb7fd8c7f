# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde rpc: calls of further protocols at sockets. memcached, nats-server and php-fpm are Debian's; servers of AMQP,
Kafka, MongoDB and Cassandra are a thread that answers as tests/e2e/call_messages.py says."""
import collections
import contextlib
import os
import random
import shutil
import socket
import struct
import subprocess
import threading
import time

import pytest
from opentelemetry.proto.trace.v1 import trace_pb2

import call_messages as messages
import helpers

ROUNDS = 20     # of each exchange


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def connect(address):
    """A connection as soon as the server listens."""
    deadline = time.monotonic() + helpers.READY_S
    while True:
        s = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        try:
            s.connect(address)
            return s
        except OSError:
            s.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def receive(s, is_end):
    got = b""
    while not is_end(got):
        part = s.recv(65536)
        assert part, f"the server closed the connection behind {got[-100:]}"
        got += part
    return got


def ask(s, data, end):
    s.sendall(data)
    return receive(s, lambda got: got.endswith(end))


def calls_of(child, pids, side):
    return [ev for ev in child.events
            if ev["type"] == "rpc.call" and ev["proc"]["pid"] in pids and ev["side"] == side]


def text_of(ev):
    """Operation, resource and status, without the hash of a key."""
    resource = ev.get("resource", "") if ev["kind"] != "memcached" else ""
    words = [ev.get("operation", ""), resource, ev.get("status", str(ev.get("http_status", "")))]
    return " ".join(w for w in words if w)


def check(child, pids, side, wanted, rounds=ROUNDS):
    """Each call once, and nothing else."""
    wanted = collections.Counter(wanted * rounds)
    with contextlib.suppress(AssertionError):   # the counts say more than a time-out
        helpers.wait_until(lambda: len(calls_of(child, pids, side)) >= sum(wanted.values()), helpers.TIMEOUT_S)
    assert collections.Counter(text_of(ev) for ev in calls_of(child, pids, side)) == wanted


def finish(child, kind):
    child.finish()
    calls = [ev for ev in child.events if ev["type"] == "rpc.call"]
    assert {ev["kind"] for ev in calls} == {kind}
    assert "secret" not in "\n".join(child.lines)
    return calls


@pytest.fixture
def server():
    """Starts servers, and ends them."""
    started = []

    def start(*words):
        started.append(subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return started[-1]
    yield start
    for child in started:
        helpers.stop_process(child)


# ---- memcached ----

TEXT = ["set", "get", "get", "gets", "add NOT_STORED", "append", "cas EXISTS", "set", "incr", "incr NOT_FOUND",
        "incr CLIENT_ERROR", "touch", "gat", "set", "delete", "get", "version", "get", "get", "delete", "stats",
        "ERROR", "flush_all"]
META = ["ms", "mg", "mg EN", "md NF", "ms", "ma", "mg", "mg", "mg", "mn", "mg", "mg", "mg", "mn", "ms", "md", "mn",
        "me"]
BINARY = ["set", "get", "get KEY_NOT_FOUND", "get", "get", "get", "noop", "set", "delete", "delete KEY_NOT_FOUND",
          "noop", "incr", "incr NON_NUMERIC_VALUE", "version", "sasl auth UNKNOWN_COMMAND"]


@pytest.mark.skipif(not shutil.which("memcached"), reason="memcached is not installed")
@pytest.mark.parametrize("how", ["text", "meta", "binary"])
def test_memcached(sonde, server, how):
    port = free_port()
    pid = server("memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", str(port)).pid
    child = sonde("rpc", "--json", "--source", "memcached", "--port", str(port))
    for _ in range(ROUNDS):
        with connect(("127.0.0.1", port)) as s:
            if how == "binary":
                for data, count in messages.memcached_binary():
                    s.sendall(data)
                    receive(s, lambda got, n=count: messages.memcached_count(got) >= n)
            else:
                for data, end in messages.MEMCACHED_TEXT if how == "text" else messages.MEMCACHED_META:
                    ask(s, data, end)
            ask(s, b"\x80\x0a" + bytes(22) if how == "binary" else b"flush_all\r\n",
                bytes(8) if how == "binary" else b"OK\r\n")
    wanted = {"text": TEXT + ["flush_all"], "meta": META + ["flush_all"], "binary": BINARY + ["noop"]}[how]
    if how == "binary":     # the number is there from the second round on, and is one step larger each time
        wanted = [w for w in wanted if w != "incr"] + ["incr"]
    check(child, {os.getpid()}, "client", wanted)
    check(child, {pid}, "server", wanted)
    calls = finish(child, "memcached")
    assert {ev["end"] for ev in calls} == ({"done", "oneway"})
    assert all(ev.get("rows") == 1 for ev in calls if text_of(ev) == "gat")


@pytest.mark.skipif(not shutil.which("memcached"), reason="memcached is not installed")
def test_memcached_commands_at_once(sonde, server):
    """Up to 200 of them before the first answer; noreply ones have none: each is a call with its own status."""
    port, rng, wanted = free_port(), random.Random(4), []
    pid = server("memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", str(port)).pid
    child = sonde("rpc", "--json", "--source", "memcached", "--port", str(port))
    kinds = [(b"set h%d 0 0 3\r\nabc\r\n", "set", b"STORED\r\n"),
             (b"set q%d 0 0 3 noreply\r\nabc\r\n", "set", b""),
             (b"delete none%d\r\n", "delete NOT_FOUND", b"NOT_FOUND\r\n"),
             (b"incr nope%d 1\r\n", "incr NOT_FOUND", b"NOT_FOUND\r\n")]
    for n in [1, 30, 64, 65, 100, 200] * 3:
        with connect(("127.0.0.1", port)) as s:
            asked = [*rng.choices(kinds, k=n), kinds[0]]
            wanted += asked
            answers = b"".join(answer for _, _, answer in asked)
            s.sendall(b"".join(data % i for i, (data, _, _) in enumerate(asked)))
            assert receive(s, lambda got, size=len(answers): len(got) >= size) == answers
    texts, told = [text for _, text, _ in wanted], sum(not answer for _, _, answer in wanted)
    check(child, {os.getpid()}, "client", texts, 1)
    check(child, {pid}, "server", texts, 1)
    calls = finish(child, "memcached")
    assert collections.Counter((ev["side"], ev["end"], ev.get("incomplete")) for ev in calls) == {
        (side, end, None): n for side in ("client", "server")
        for end, n in (("oneway", told), ("done", len(wanted) - told))}


# ---- FastCGI ----

@pytest.mark.skipif(not messages.php_fpm_binary(), reason="php-fpm is not installed")
def test_fastcgi(sonde, tmp_path):
    tmp_path.chmod(0o755)
    for folder in tmp_path.parents[:2]:     # php's worker has another user
        folder.chmod(0o755)
    folder, address = str(tmp_path), str(tmp_path / "socket")
    php = messages.php_fpm(folder, address)
    try:
        connect(address).close()
        child = sonde("rpc", "--json", "--source", "fastcgi")
        for _ in range(ROUNDS):
            for requests in messages.fastcgi_requests(folder).values():
                with connect(address) as s:
                    for data in requests:
                        s.sendall(data)
                        receive(s, messages.fastcgi_ended)
        wanted = ["GET /page.php 200", "GET /page.php 404", "GET /page.php 302", "GET /page.php 503",
                  "POST /page.php 200", "GET /absent.php 404", "POST /page.php 200"]
        check(child, {os.getpid()}, "client", wanted)
        helpers.wait_until(lambda: len([ev for ev in child.events if ev.get("side") == "server"]) >=
                           ROUNDS * len(wanted))
    finally:
        helpers.stop_process(php)
    calls = finish(child, "fastcgi")
    servers = [text_of(ev) for ev in calls if ev["side"] == "server"]
    assert collections.Counter(servers) == collections.Counter(wanted * ROUNDS)
    assert {ev["query"] for ev in calls if ev.get("query")} == {"size=&token=", "how=", "size="}
    assert {ev["error"] for ev in calls if ev["http_status"] == 503} == {True}


# ---- NATS ----

@pytest.mark.skipif(not shutil.which("nats-server"), reason="nats-server is not installed")
def test_nats(sonde, server, tmp_path):
    port = free_port()
    conf = tmp_path / "conf"    # a password among its arguments would be in its events
    conf.write_text('authorization { user: me, password: "secret" }\n')
    pid = server("nats-server", "-a", "127.0.0.1", "-p", str(port), "-c", str(conf)).pid
    connect(("127.0.0.1", port)).close()
    child = sonde("rpc", "--json", "--source", "nats", "--port", str(port))
    with connect(("127.0.0.1", port)) as asker, connect(("127.0.0.1", port)) as answerer:
        for s in (asker, answerer):
            receive(s, lambda got: got.endswith(b"\r\n"))
            ask(s, messages.nats_connect() + b"PING\r\n", b"PONG\r\n")
        ask(answerer, b"SUB work 1\r\nPING\r\n", b"PONG\r\n")
        ask(asker, b"SUB _INBOX.* 1\r\nPING\r\n", b"PONG\r\n")
        for i in range(ROUNDS):
            asker.sendall(b"PUB news 5\r\nhello\r\nPUB work _INBOX.%d 3\r\none\r\n" % i)
            receive(answerer, lambda got: got.endswith(b"one\r\n"))
            answerer.sendall(b"PUB _INBOX.%d 4\r\ndone\r\n" % i)
            receive(asker, lambda got: got.endswith(b"done\r\n"))
            ask(asker, b"PUB void _INBOX.n%d 1\r\nx\r\n" % i, b"503\r\n\r\n\r\n")
        # what is published goes one way for thousands of messages, also as the first ones of a connection
        burst = b"".join(b"PUB burst 2\r\n%02d\r\n" % (i % 100) for i in range(2000)) + b"PING\r\n"
        ask(asker, burst, b"PONG\r\n")
        with connect(("127.0.0.1", port)) as s:
            receive(s, lambda got: got.endswith(b"\r\n"))
            ask(s, messages.nats_connect() + burst, b"PONG\r\n")
        each = ["publish news", "request work", "request void 503"]
        once = ["connect"] * 3 + ["subscribe work", "subscribe _INBOX.*"]
        helpers.wait_until(lambda: len([ev for ev in calls_of(child, {os.getpid()}, "client")
                                        if ev.get("resource") == "void"]) >= ROUNDS)
    calls = finish(child, "nats")
    assert collections.Counter(ev["proc"]["pid"] for ev in calls if ev.get("resource") == "burst") == {
        os.getpid(): 4000, pid: 4000}
    mine = [ev for ev in calls if ev["proc"]["pid"] == os.getpid() and ev.get("resource") != "burst"]
    assert collections.Counter(text_of(ev) for ev in mine if ev["side"] == "client") == collections.Counter(
        each * ROUNDS + once)
    # the server asks the one that answers
    assert collections.Counter(text_of(ev) for ev in mine if ev["side"] == "server") == {"request work": ROUNDS}
    assert [ev for ev in calls if ev["proc"]["pid"] == pid and ev["side"] == "client" and ev["end"] == "done"]
    assert {ev["end"] for ev in mine if ev["operation"] == "publish"} == {"oneway"}


# ---- scripted ----

class Scripted:
    """Answers as it is told to: for each exchange, so many bytes are read, then these are sent."""

    def __init__(self, exchanges):
        self.exchanges = exchanges
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            with conn:
                for asked, answered in self.exchanges:
                    receive(conn, lambda got, n=len(asked): len(got) >= n)
                    conn.sendall(answered)
                conn.recv(1)

    def talk(self):
        with connect(self.address) as s:
            for asked, answered in self.exchanges:
                s.sendall(asked)
                receive(s, lambda got, n=len(answered): len(got) >= n)


AMQP = ["connection.open /shop", "channel.open"]
PRODUCER = AMQP + [
    "exchange.declare orders", "queue.declare new", "queue.bind new", "basic.publish orders:a.b", "confirm.select",
    "basic.publish orders:a.b", "basic.publish new", "basic.publish new", "basic.publish orders:c",
    "basic.publish orders:none NO_ROUTE", "basic.publish orders:full nack", "basic.get new", "basic.get empty",
    "queue.declare absent NOT_FOUND", "connection.close"]
CONSUMER = AMQP + ["basic.qos", "basic.consume new", "channel.open", "basic.consume logs", "basic.cancel"]
DELIVERED = ["basic.deliver orders:a.b", "basic.deliver new", "basic.deliver new", "basic.deliver new reject",
             "basic.deliver logs"]
KAFKA = [
    "ApiVersions", "SaslHandshake PLAIN", "SaslAuthenticate SASL_AUTHENTICATION_FAILED", "Metadata orders",
    "Produce orders", "Produce orders NOT_LEADER_OR_FOLLOWER", "Produce metrics", "Fetch orders", "Fetch orders",
    "Fetch gone UNKNOWN_TOPIC_OR_PARTITION", "Fetch orders FETCH_SESSION_ID_NOT_FOUND",
    "Fetch AAECAwQFBgcICQoLDA0ODw", "FindCoordinator shop", "JoinGroup shop MEMBER_ID_REQUIRED",
    "Heartbeat shop REBALANCE_IN_PROGRESS", "OffsetCommit shop ILLEGAL_GENERATION",
    "CreateTopics orders TOPIC_ALREADY_EXISTS"]
MONGODB = [
    "isMaster", "saslStart AuthenticationFailed", "find orders", "find orders", "find orders", "insert orders 11000",
    "insert log", "aggregate orders Unauthorized", "getMore orders", "hello", "createUser", "update orders"]
CQL = [
    "OPTIONS", "STARTUP", "AUTH_RESPONSE", "USE", "SELECT orders", "INSERT orders", "SELECT SYNTAX_ERROR",
    "UPDATE orders", "EXECUTE UNPREPARED", "BATCH orders WRITE_TIMEOUT", "REGISTER", "SELECT orders"]
CQL_5 = ["STARTUP", "SELECT b INVALID", "SELECT orders", "SELECT orders", "TRUNCATE orders"]


def test_commands_of_redis_that_follow_each_other(sonde):
    """Each is shown once at both ends, also of a connection's first turn; one whose bytes were not kept says so."""
    turns = [(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n%s\r\n" % (size, b"x" * size)) * 16 for size in (100, 3000)]
    server = Scripted([(turn, b"+OK\r\n" * 16) for turn in turns])
    child = sonde("rpc", "--json", "--source", "redis", "--port", str(server.address[1]))
    server.talk()
    for side in ("client", "server"):
        helpers.wait_until(lambda side=side: len(calls_of(child, {os.getpid()}, side)) >= 32, helpers.TIMEOUT_S)
    finish(child, "redis")
    for side in ("client", "server"):
        seen = calls_of(child, {os.getpid()}, side)
        assert [(ev.get("operation"), "incomplete" in ev) for ev in seen[:16]] == [("SET", False)] * 16
        assert len(seen) == 32
        assert all(ev.get("operation") == "SET" or ev["incomplete"] == ["cut"] for ev in seen[16:])


@pytest.mark.parametrize("kind, begin, answer", [
    ("postgresql", lambda size: b"Q" + struct.pack(">I", size + 5), b"C\0\0\0\x0fINSERT 0 1\0Z\0\0\0\x05I"),
    ("mysql", lambda size: struct.pack("<I", size + 2) + b"\3", b"\7\0\0\1\0\1\0\2\0\0\0"),
], ids=["postgresql", "mysql"])
def test_statements_beyond_the_head(sonde, kind, begin, answer):
    """Those of up to 8 KiB are read to the end; of longer ones the end is not known."""
    statements = [b"INSERT INTO t VALUES ('%s') RETURNING id" % (b"x" * size) for size in (10, 1100, 8100, 9000, 10)]
    server = Scripted([(begin(len(one)) + one + b"\0", answer) for one in statements])
    child = sonde("rpc", "--json", "--source", kind, "--port", str(server.address[1]))
    server.talk()
    for side in ("client", "server"):
        check(child, {os.getpid()}, side, ["INSERT t"] * len(statements), 1)
    calls = finish(child, kind)
    assert len({ev["statement_id"] for ev in calls if "incomplete" not in ev}) == 1
    for side in ("client", "server"):
        assert [ev.get("incomplete") for ev in calls if ev["side"] == side] == [None, None, None, ["cut"], None]


def test_publishes_of_amqp_at_once(sonde):
    """200 in one operation, with content and without: each is seen at both ends."""
    burst = b"".join(messages.amqp_publish(1, "", "burst", b"x" * (i % 3 * 50)) for i in range(200))
    server = Scripted(messages.amqp_login() + [
        (burst + messages.amqp_method(1, 20, 40, struct.pack(">H", 200), "bye", bytes(4)),
         messages.amqp_method(1, 20, 41))])
    child = sonde("rpc", "--json", "--source", "amqp", "--port", str(server.address[1]))
    server.talk()
    for side in ("client", "server"):
        check(child, {os.getpid()}, side, AMQP + ["basic.publish burst"] * 200 + ["channel.close"], 1)
    finish(child, "amqp")


# Spans that there are, by OpenTelemetry's conventions: name, kind, attributes.
SPANS = {
    "amqp": [("basic.qos", 3, {}), ("basic.publish orders:a.b", 4, {
        "messaging.system": "rabbitmq", "messaging.operation.name": "basic.publish",
        "messaging.operation.type": "send", "messaging.destination.name": "orders:a.b"}),
        ("basic.deliver new", 5, {"messaging.operation.type": "process", "error.type": "reject"})],
    "kafka": [
        ("Produce orders", 4, {"messaging.system": "kafka", "messaging.operation.name": "Produce",
                               "messaging.destination.name": "orders", "error.type": "NOT_LEADER_OR_FOLLOWER"}),
        ("Fetch orders", 3, {"messaging.operation.type": "receive"}),
        ("JoinGroup shop", 2, {"messaging.consumer.group.name": "shop"})],
    "mongodb": [
        ("find orders", 3, {"db.system.name": "mongodb", "db.namespace": "shop", "db.operation.name": "find",
                            "db.collection.name": "orders", "db.query.summary": "find orders",
                            "db.response.returned_rows": 2}),
        ("aggregate orders", 2, {"db.response.status_code": "Unauthorized", "error.type": "Unauthorized"})],
    "cql": [("SELECT orders", 3, {"db.system.name": "cassandra", "db.operation.name": "SELECT",
                                  "db.collection.name": "orders"})],
}


def check_spans(path, count, wanted):
    """Each call is a span; of the listed ones there is at least one, but for those of another exchange."""
    message = trace_pb2.TracesData()
    with open(path, "rb") as f:
        message.ParseFromString(f.read())
    seen = [(s.name, s.kind, {a.key: a.value.string_value or a.value.int_value for a in s.attributes})
            for resource in message.resource_spans for scope in resource.scope_spans for s in scope.spans]
    assert len(seen) == count
    found = [one for one in wanted if any(s[:2] == one[:2] and one[2].items() <= s[2].items() for s in seen)]
    names = {s[0] for s in seen}
    assert found == [one for one in wanted if one[0] in names and (one[0], one[1]) in {s[:2] for s in seen}]
    assert found


@pytest.mark.parametrize("kind, exchanges, wanted, pushed", [
    ("amqp", messages.amqp_producer(), PRODUCER, []),
    ("amqp", messages.amqp_consumer(), CONSUMER, DELIVERED),
    ("kafka", messages.kafka_conversation(), KAFKA, []),
    ("mongodb", messages.mongodb_conversation(), MONGODB, []),
    ("cql", messages.cql_conversation(), CQL, []),
    ("cql", messages.cql_conversation_5(), CQL_5, []),
], ids=["amqp-producer", "amqp-consumer", "kafka", "mongodb", "cql-4", "cql-5"])
def test_scripted(sonde, tmp_path, kind, exchanges, wanted, pushed):
    """Both ends are this process: each call is seen as the client's and as the server's."""
    one = Scripted(exchanges)
    spans = str(tmp_path / "spans.otlp")
    child = sonde("rpc", "--json", "--source", kind, "--port", str(one.address[1]), "--head", "16384",
                  "--show", "both-sides", "-o", spans)
    for _ in range(ROUNDS):
        one.talk()
    for side in ("client", "server"):
        check(child, {os.getpid()}, side, wanted + pushed)
    one.listener.close()
    calls = finish(child, kind)
    assert {ev["end"] for ev in calls} <= {"done", "oneway"}
    check_spans(spans, len(calls), SPANS[kind])
