# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages of protocols whose calls `sonde rpc` shows at sockets, made by hand: for clients of real servers, and for
servers of our own where Debian has none."""
import json
import os
import shutil
import struct
import subprocess
import zlib

# ---- memcached ----

# What is sent, and how its answer ends.
MEMCACHED_TEXT = [
    (b"set fruit 0 0 5\r\napple\r\n", b"STORED\r\n"),
    (b"get fruit\r\n", b"END\r\n"),
    (b"get none\r\n", b"END\r\n"),
    (b"gets fruit none\r\n", b"END\r\n"),
    (b"add fruit 0 0 1\r\nx\r\n", b"NOT_STORED\r\n"),
    (b"append fruit 0 0 1\r\ns\r\n", b"STORED\r\n"),
    (b"cas fruit 0 0 1 999999\r\ny\r\n", b"EXISTS\r\n"),
    (b"set n 0 0 1\r\n7\r\n", b"STORED\r\n"),
    (b"incr n 5\r\n", b"12\r\n"),
    (b"incr none 5\r\n", b"NOT_FOUND\r\n"),
    (b"incr fruit 5\r\n", b"value\r\n"),
    (b"touch n 100\r\n", b"TOUCHED\r\n"),
    (b"gat 100 n\r\n", b"END\r\n"),
    (b"set quiet 0 0 3 noreply\r\nabc\r\ndelete quiet noreply\r\nget quiet\r\n", b"END\r\n"),
    (b"version\r\nget n\r\nget fruit\r\n", b"apples\r\nEND\r\n"),
    (b"delete n\r\n", b"DELETED\r\n"),
    (b"stats settings\r\n", b"END\r\n"),
    (b"nonsense\r\n", b"ERROR\r\n"),
    (b"flush_all\r\n", b"OK\r\n"),
]
MEMCACHED_META = [
    (b"ms fruit 5 T0\r\napple\r\n", b"HD\r\n"),
    (b"mg fruit v t\r\n", b"apple\r\n"),
    (b"mg none v\r\n", b"EN\r\n"),
    (b"md none\r\n", b"NF\r\n"),
    (b"ms n 1\r\n1\r\nma n D4 v\r\n", b"5\r\n"),
    # quiet: a miss is silent; opaque or key say whose answer comes
    (b"mg none v q k\r\nmg fruit v q k\r\nmg other v q k\r\nmn\r\n", b"MN\r\n"),
    (b"mg none v q O1\r\nmg n v q O2\r\nmg fruit v q O3\r\nmn\r\n", b"MN\r\n"),
    (b"ms a 1 q\r\nx\r\nmd a q\r\nmn\r\n", b"MN\r\n"),
    (b"me fruit\r\n", b"\r\n"),
]


def memcached_message(opcode, key=b"", value=b"", extras=b"", opaque=0):
    return struct.pack(">BBHBBHIIQ", 0x80, opcode, len(key), len(extras), 0, 0, len(extras) + len(key) + len(value),
                       opaque, 0) + extras + key + value


def memcached_binary():
    """What is sent, and how many answers it has."""
    m = memcached_message
    flags = bytes(8)
    return [
        (m(0x01, b"fruit", b"apple", flags), 1),
        (m(0x00, b"fruit"), 1),
        (m(0x00, b"none"), 1),
        (m(0x0d, b"none", opaque=1) + m(0x0d, b"fruit", opaque=2) + m(0x0d, b"other", opaque=3) + m(0x0a), 2),
        (m(0x11, b"a", b"x", flags, opaque=4) + m(0x14, b"a", opaque=5) + m(0x14, b"a", opaque=6) + m(0x0a), 2),
        (m(0x05, b"n", extras=struct.pack(">QQI", 1, 7, 0)), 1),
        (m(0x05, b"fruit", extras=struct.pack(">QQI", 1, 7, 0)), 1),
        (m(0x0b), 1),
        (m(0x21, b"PLAIN", b"\0user\0secret"), 1),
    ]


def memcached_count(got):
    n = 0
    while len(got) >= 24:
        size = 24 + int.from_bytes(got[8:12], "big")
        n += len(got) >= size
        got = got[size:]
    return n


# ---- FastCGI ----

PHP = """<?php
if (($_GET['how'] ?? '') === 'missing') { http_response_code(404); echo 'none'; exit; }
if (($_GET['how'] ?? '') === 'move') { header('Location: http://other/'); exit; }
if (($_GET['how'] ?? '') === 'fail') { http_response_code(503); error_log('on purpose'); exit; }
echo str_repeat('x', (int)($_GET['size'] ?? 2)), file_get_contents('php://input');
"""


def php_fpm_binary():
    for name in ("php-fpm", "php-fpm8.4", "php-fpm8.2"):
        path = shutil.which(name) or shutil.which(f"/usr/sbin/{name}")
        if path:
            return path
    return None


def php_fpm(folder, address):
    """A running php-fpm on a local socket; pages are in @folder."""
    with open(os.path.join(folder, "page.php"), "w", encoding="utf-8") as f:
        f.write(PHP)
    conf = os.path.join(folder, "conf")
    with open(conf, "w", encoding="utf-8") as f:
        f.write(f"[global]\nerror_log = {folder}/log\ndaemonize = no\n[www]\nuser = nobody\ngroup = nogroup\n"
                f"listen = {address}\nlisten.mode = 0666\npm = static\npm.max_children = 1\n")
    return subprocess.Popen([php_fpm_binary(), "-y", conf, "-c", "/dev/null"], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)


def fastcgi_record(kind, number, content):
    padding = -len(content) % 8
    return struct.pack(">BBHHBB", 1, kind, number, len(content), padding, 0) + content + bytes(padding)


def fastcgi_pairs(pairs):
    out = b""
    for name, value in pairs:
        for size in (len(name), len(value)):
            out += bytes([size]) if size < 128 else struct.pack(">I", size | 1 << 31)
        out += name.encode() + value.encode()
    return out


def fastcgi_request(folder, query="", body=b"", number=1, keep=False, script="/page.php"):
    pairs = [("QUERY_STRING", query), ("REQUEST_METHOD", "POST" if body else "GET"), ("CONTENT_TYPE", "text/plain"),
             ("CONTENT_LENGTH", str(len(body) or "")), ("SCRIPT_NAME", script), ("REQUEST_URI", script + "?" + query),
             ("SCRIPT_FILENAME", folder + script), ("SERVER_PROTOCOL", "HTTP/1.1"), ("HTTP_HOST", "here"),
             ("HTTP_AUTHORIZATION", "Basic c2VjcmV0"), ("HTTP_X_REQUEST_ID", "r7")]
    records = fastcgi_record(1, number, struct.pack(">HB5x", 1, keep))
    records += fastcgi_record(4, number, fastcgi_pairs(pairs)) + fastcgi_record(4, number, b"")
    if body:
        records += fastcgi_record(5, number, body)
    return records + fastcgi_record(5, number, b"")


def fastcgi_ended(got):
    while len(got) >= 8:
        _, kind, _, size, padding, _ = struct.unpack(">BBHHBB", got[:8])
        if kind == 3:
            return True
        got = got[8 + size + padding:]
    return False


def fastcgi_requests(folder):
    """Connections, each with its requests."""
    return {
        "get": [fastcgi_request(folder, "size=10&token=secret")],
        "kept": [fastcgi_request(folder, "how=missing", keep=True), fastcgi_request(folder, "how=move", keep=True),
                 fastcgi_request(folder, "how=fail", keep=True), fastcgi_request(folder, body=b"hello", keep=True),
                 fastcgi_request(folder, script="/absent.php")],
        "large": [fastcgi_request(folder, "size=5000", body=b"y" * 3000)],
    }


# ---- NATS ----

def nats_connect(verbose=False, password="secret"):
    options = {"verbose": verbose, "pedantic": False, "headers": True, "no_responders": True, "user": "me",
               "pass": password}
    return b"CONNECT " + json.dumps(options, separators=(",", ":")).encode() + b"\r\n"


# ---- AMQP 0-9-1: https://www.rabbitmq.com/resources/specs/amqp0-9-1.pdf ----

AMQP_GREETING = b"AMQP\0\0\x09\x01"


def amqp_frame(kind, channel, payload):
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + b"\xce"


def amqp_short(text):
    return bytes([len(text)]) + text.encode()


def amqp_method(channel, group, number, *args):
    """Arguments: bytes as they are, text as short strings."""
    packed = b"".join(a if isinstance(a, bytes) else amqp_short(a) for a in args)
    return amqp_frame(1, channel, struct.pack(">HH", group, number) + packed)


def amqp_content(channel, body, size=None):
    size = len(body) if size is None else size
    frames = amqp_frame(2, channel, struct.pack(">HHQH", 60, 0, size, 0))
    while body:
        frames += amqp_frame(3, channel, body[:4000])
        body = body[4000:]
    return frames


def amqp_publish(channel, exchange, key, body):
    return amqp_method(channel, 60, 40, b"\0\0", exchange, key, b"\0") + amqp_content(channel, body)


def amqp_deliver(channel, tag, exchange, key, body):
    return amqp_method(channel, 60, 60, "consumer", struct.pack(">QB", tag, 0), exchange, key) + amqp_content(
        channel, body)


def amqp_ack(channel, tag, number=80, bits=0):
    return amqp_method(channel, 60, number, struct.pack(">QB", tag, bits))


def amqp_login():
    """Pairs of what the client sends and the server answers."""
    table = b"\0\0\0\0"
    return [
        (AMQP_GREETING, amqp_method(0, 10, 10, b"\0\x09", table, b"\0\0\0\5PLAIN\0\0\0\5en_US")),
        (amqp_method(0, 10, 11, table, "PLAIN", b"\0\0\0\x0d\0guest\0secret!", "en_US"),
         amqp_method(0, 10, 30, struct.pack(">HIH", 2047, 131072, 60))),
        (amqp_method(0, 10, 31, struct.pack(">HIH", 2047, 131072, 60)) + amqp_method(0, 10, 40, "/shop", "", b"\0"),
         amqp_method(0, 10, 41, "")),
        (amqp_method(1, 20, 10, ""), amqp_method(1, 20, 11, b"\0\0\0\0")),
    ]


def amqp_producer():
    table = b"\0\0\0\0"
    m = amqp_method
    return amqp_login() + [
        (m(1, 40, 10, b"\0\0", "orders", "topic", b"\x02", table), m(1, 40, 11)),
        (m(1, 50, 10, b"\0\0", "new", b"\x02", table), m(1, 50, 11, "new", struct.pack(">II", 0, 0))),
        (m(1, 50, 20, b"\0\0", "new", "orders", "a.*", b"\0", table), m(1, 50, 21)),
        (amqp_publish(1, "orders", "a.b", b"x" * 10) + m(1, 85, 10, b"\0"), m(1, 85, 11)),
        (amqp_publish(1, "orders", "a.b", b"y" * 9000), amqp_ack(1, 1)),
        (amqp_publish(1, "", "new", b"1") + amqp_publish(1, "", "new", b"2") + amqp_publish(1, "orders", "c", b""),
         amqp_ack(1, 4, bits=1)),
        (amqp_publish(1, "orders", "none", b"3"),
         m(1, 60, 50, b"\1\x38", "NO_ROUTE", "orders", "none") + amqp_content(1, b"3") + amqp_ack(1, 5)),
        (amqp_publish(1, "orders", "full", b"4"), amqp_ack(1, 6, number=120)),
        (m(1, 60, 70, b"\0\0", "new", b"\1"),
         m(1, 60, 71, struct.pack(">QB", 1, 0), "", "new", b"\0\0\0\1") + amqp_content(1, b"1")),
        (m(1, 60, 70, b"\0\0", "empty", b"\1"), m(1, 60, 72, "")),
        (m(1, 50, 10, b"\0\0", "absent", b"\1", table),
         m(1, 20, 40, struct.pack(">H", 404), "NOT_FOUND - no queue 'absent' in vhost '/shop'", b"\0\x32\0\x0a")),
        (m(1, 20, 41) + m(0, 10, 50, b"\0\xc8", "bye", b"\0\0\0\0"), m(0, 10, 51)),
    ]


def amqp_consumer():
    """The first message of an exchange may be the server's: then what the client sends is empty."""
    m = amqp_method
    return amqp_login() + [
        (m(1, 60, 10, struct.pack(">IHB", 0, 10, 0)), m(1, 60, 11)),
        (m(1, 60, 20, b"\0\0", "new", "", b"\0", b"\0\0\0\0"), m(1, 60, 21, "consumer")),
        (b"", amqp_deliver(1, 1, "orders", "a.b", b"x" * 100)),
        (amqp_ack(1, 1), amqp_deliver(1, 2, "", "new", b"2") + amqp_deliver(1, 3, "", "new", b"3")),
        (amqp_ack(1, 3, bits=1), amqp_deliver(1, 4, "", "new", b"bad")),
        (amqp_ack(1, 4, number=90), b""),
        (m(2, 20, 10, ""), m(2, 20, 11, b"\0\0\0\0")),
        (m(2, 60, 20, b"\0\0", "logs", "c2", b"\x02", b"\0\0\0\0"), m(2, 60, 21, "c2")),
        (b"", amqp_deliver(2, 1, "", "logs", b"line")),
        (m(1, 60, 30, "consumer", b"\0"), m(1, 60, 31, "consumer")),
    ]


# ---- Kafka: https://kafka.apache.org/protocol ----

def kafka_text(text, flexible=False):
    if flexible:
        return bytes([0 if text is None else len(text) + 1]) + (text or "").encode()
    return struct.pack(">h", -1 if text is None else len(text)) + (text or "").encode()


def kafka_frame(content):
    return struct.pack(">I", len(content)) + content


def kafka_request(api, version, number, body, flexible=False):
    return kafka_frame(struct.pack(">HHI", api, version, number) + kafka_text("app") + (b"\0" if flexible else b"") +
                       body)


def kafka_response(number, body, flexible=False):
    return kafka_frame(struct.pack(">I", number) + (b"\0" if flexible else b"") + body)


def kafka_produce(number, topic, acks=1, records=b"r" * 50):
    """Version 7."""
    return kafka_request(0, 7, number, kafka_text(None) + struct.pack(">hII", acks, 1000, 1) + kafka_text(topic) +
                         struct.pack(">III", 1, 0, len(records)) + records)


def kafka_produced(number, topic, error=0):
    return kafka_response(number, struct.pack(">I", 1) + kafka_text(topic) +
                          struct.pack(">IIhqqqI", 1, 0, error, 7, -1, 0, 0))


def kafka_fetch(number, topic):
    """Version 11."""
    return kafka_request(1, 11, number, struct.pack(">iIIIBIiI", -1, 500, 1, 1 << 20, 0, 0, -1, 1) +
                         kafka_text(topic) + struct.pack(">IIiqqI", 1, 0, -1, 0, -1, 1 << 20) + bytes(4) +
                         kafka_text(""))


def kafka_fetched(number, topic, error=0, top=0, records=b""):
    body = struct.pack(">IhI", 0, top, 7)
    if not topic:
        return kafka_response(number, body + bytes(4))
    return kafka_response(number, body + struct.pack(">I", 1) + kafka_text(topic) +
                          struct.pack(">IIhqqqIi", 1, 0, error, 9, 9, 0, 0, -1) + struct.pack(">I", len(records)) +
                          records)


def kafka_conversation():
    f = True
    identity = bytes(range(16))
    return [
        (kafka_request(18, 3, 1, kafka_text("librdkafka", f) + kafka_text("2.0", f) + b"\0", f),
         kafka_response(1, struct.pack(">h", 0) + b"\x01" + bytes(5))),
        (kafka_request(17, 1, 2, kafka_text("PLAIN")),
         kafka_response(2, struct.pack(">hI", 0, 1) + kafka_text("PLAIN"))),
        (kafka_request(36, 1, 3, struct.pack(">I", 12) + b"\0me\0secret!!"),
         kafka_response(3, struct.pack(">h", 58) + kafka_text("wrong") + bytes(12))),
        (kafka_request(3, 9, 4, b"\x02" + kafka_text("orders", f) + b"\0\1\0\0\0", f),
         kafka_response(4, bytes(40), f)),
        (kafka_produce(5, "orders"), kafka_produced(5, "orders")),
        (kafka_produce(6, "orders", records=b"R" * 5000), kafka_produced(6, "orders", error=6)),
        (kafka_produce(7, "metrics", acks=0) + kafka_fetch(8, "orders"),
         kafka_fetched(8, "orders", records=b"x" * 6000)),
        (kafka_fetch(9, "orders") + kafka_fetch(10, "gone") + kafka_fetch(11, "orders"),
         kafka_fetched(9, "orders") + kafka_fetched(10, "gone", error=3) + kafka_fetched(11, None, top=70)),
        (kafka_request(1, 13, 12, struct.pack(">iIIIBIi", -1, 500, 1, 1 << 20, 0, 0, -1) + b"\x02" + identity +
                       b"\x01\0\x01\x01\0", f), kafka_response(12, struct.pack(">IhI", 0, 0, 7) + b"\x01\0", f)),
        (kafka_request(10, 2, 13, kafka_text("shop") + b"\0"),
         kafka_response(13, struct.pack(">Ih", 0, 0) + kafka_text(None) + bytes(4) + kafka_text("h") + bytes(4))),
        (kafka_request(11, 5, 14, kafka_text("shop") + struct.pack(">II", 10000, 10000) + kafka_text("") +
                       kafka_text(None) + kafka_text("consumer") + bytes(4)),
         kafka_response(14, struct.pack(">Ihi", 0, 79, -1) + kafka_text("") + kafka_text("") + kafka_text("m1") +
                        bytes(4))),
        (kafka_request(12, 4, 15, kafka_text("shop", f) + bytes(4) + kafka_text("m1", f) + b"\0\0", f),
         kafka_response(15, struct.pack(">Ih", 0, 27) + b"\0", f)),
        (kafka_request(8, 7, 16, kafka_text("shop") + struct.pack(">I", 1) + kafka_text("m1") + kafka_text(None) +
                       struct.pack(">I", 1) + kafka_text("orders") + struct.pack(">IIqi", 1, 0, 5, -1) +
                       kafka_text(None)),
         kafka_response(16, struct.pack(">II", 0, 1) + kafka_text("orders") + struct.pack(">IIh", 1, 0, 22))),
        (kafka_request(19, 2, 17, struct.pack(">I", 1) + kafka_text("orders") + struct.pack(">IHII", 1, 1, 0, 0) +
                       struct.pack(">IB", 1000, 0)),
         kafka_response(17, struct.pack(">II", 0, 1) + kafka_text("orders") + struct.pack(">h", 36) +
                        kafka_text("Topic 'orders' already exists."))),
    ]


# ---- MongoDB: OP_MSG of its manual, https://bsonspec.org ----

class Int64(int):
    pass


def bson(document):
    body = b""
    for name, v in document.items():
        key = name.encode() + b"\0"
        if isinstance(v, bool):
            body += b"\x08" + key + bytes([v])
        elif isinstance(v, Int64):
            body += b"\x12" + key + struct.pack("<q", v)
        elif isinstance(v, int):
            body += b"\x10" + key + struct.pack("<i", v)
        elif isinstance(v, float):
            body += b"\x01" + key + struct.pack("<d", v)
        elif isinstance(v, str):
            body += b"\x02" + key + struct.pack("<i", len(v) + 1) + v.encode() + b"\0"
        elif isinstance(v, bytes):
            body += b"\x05" + key + struct.pack("<iB", len(v), 0) + v
        elif isinstance(v, dict):
            body += b"\x03" + key + bson(v)
        else:
            body += b"\x04" + key + bson({str(i): one for i, one in enumerate(v)})
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def mongodb_message(number, document, answers=0, flags=0, beside=None):
    """@beside: name of a list and its documents, as a section of its own."""
    body = struct.pack("<I", flags) + b"\0" + bson(document)
    if beside:
        content = beside[0].encode() + b"\0" + b"".join(bson(d) for d in beside[1])
        body += b"\x01" + struct.pack("<i", len(content) + 4) + content
    return struct.pack("<iiii", len(body) + 16, number, answers, 2013) + body


def mongodb_query(number, name, document):
    body = struct.pack("<I", 0) + name.encode() + b"\0" + struct.pack("<ii", 0, -1) + bson(document)
    return struct.pack("<iiii", len(body) + 16, number, 0, 2004) + body


def mongodb_reply(number, answers, document):
    body = struct.pack("<Iqii", 8, 0, 0, 1) + bson(document)
    return struct.pack("<iiii", len(body) + 16, number, answers, 1) + body


def mongodb_find(number, status="open"):
    return mongodb_message(number, {"find": "orders", "filter": {"status": status, "n": {"$gt": 5, "$in": [1, 2, 3]}},
                                    "limit": 10, "lsid": {"id": b"0123456789abcdef"}, "$db": "shop"})


def mongodb_found(number, answers, count=2, text="x"):
    batch = [{"_id": i, "text": text} for i in range(count)]
    return mongodb_message(number, {"cursor": {"firstBatch": batch, "id": Int64(0), "ns": "shop.orders"}, "ok": 1.0},
                           answers)


def mongodb_conversation():
    m = mongodb_message
    return [
        (mongodb_query(1, "admin.$cmd", {"isMaster": 1, "speculativeAuthenticate": {"payload": b"n,,n=me"}}),
         mongodb_reply(100, 1, {"ismaster": True, "maxWireVersion": 17, "ok": 1.0})),
        (m(2, {"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": b"n,,n=me,r=secret", "$db": "admin"}),
         m(101, {"ok": 0.0, "errmsg": "Authentication failed.", "code": 18, "codeName": "AuthenticationFailed"}, 2)),
        (mongodb_find(3), mongodb_found(102, 3)),
        (mongodb_find(4, "closed") + mongodb_find(5),
         mongodb_found(104, 5, 0) + mongodb_found(103, 4, 3, "y" * 3000)),
        (m(6, {"insert": "orders", "ordered": True, "$db": "shop"}, beside=("documents", [{"_id": 1}, {"_id": 2}])),
         m(105, {"n": 1, "writeErrors": [{"index": 1, "code": 11000, "errmsg": "E11000"}], "ok": 1.0}, 6)),
        (m(7, {"insert": "log", "documents": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}, {"c": 3}],
               "writeConcern": {"w": 0}, "$db": "shop"}, flags=2), b""),
        (m(8, {"aggregate": "orders", "pipeline": [{"$match": {"who": "me"}}, {"$group": {"_id": "$who"}}],
               "cursor": {}, "$db": "shop"}),
         m(106, {"ok": 0.0, "errmsg": "no", "code": 13, "codeName": "Unauthorized"}, 8)),
        (m(9, {"getMore": Int64(77), "collection": "orders", "$db": "shop"}),
         m(107, {"cursor": {"nextBatch": [{"_id": 9}], "id": Int64(0), "ns": "shop.orders"}, "ok": 1.0}, 9)),
        (m(10, {"hello": 1, "maxAwaitTimeMS": 10, "$db": "admin"}, flags=0x10000),
         m(108, {"isWritablePrimary": True, "ok": 1.0}, 10, flags=2) +
         m(109, {"isWritablePrimary": True, "ok": 1.0}, 108)),
        (m(11, {"createUser": "me", "pwd": "secret", "roles": [], "$db": "shop"}), m(110, {"ok": 1.0}, 11)),
        (m(12, {"update": "orders", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 1}}}], "$db": "shop"}),
         m(111, {"n": 1, "nModified": 1, "ok": 1.0}, 12)),
    ]


# ---- Cassandra: doc/native_protocol_v4.spec and v5.spec of its source ----

def cql_frame(op, body=b"", stream=1, version=4, flags=0, response=False):
    return struct.pack(">BBHBI", version | response << 7, flags, stream, op, len(body)) + body


def cql_answer(op, body=b"", **how):
    return cql_frame(op, body, response=True, **how)


def cql_short(text):
    return struct.pack(">H", len(text)) + text.encode()


def cql_long(text):
    return struct.pack(">I", len(text)) + text.encode()


def cql_startup(**how):
    return cql_frame(1, b"\0\x01" + cql_short("CQL_VERSION") + cql_short("3.0.0"), **how)


def cql_query(text, **how):
    return cql_frame(7, cql_long(text) + struct.pack(">HB" if how.get("version") != 5 else ">HI", 1, 0), **how)


def cql_rows(values, **how):
    """Rows of one column: a list of texts."""
    body = struct.pack(">III", 2, 1, 1) + cql_short("shop") + cql_short("orders") + cql_short("notes")
    body += struct.pack(">HHI", 0x20, 0x0d, len(values)) + b"".join(cql_long(v) for v in values)
    return cql_answer(8, body, **how)


def cql_error(code, text, **how):
    return cql_answer(0, struct.pack(">I", code) + cql_short(text), **how)


def cql_segment(content, whole=True):
    head = len(content) | whole << 17
    crc = 0x875060
    for byte in head.to_bytes(3, "little"):
        crc ^= byte << 16
        for _ in range(8):
            crc <<= 1
            if crc & 0x1000000:
                crc ^= 0x1974F0B
    checksum = zlib.crc32(content, zlib.crc32(b"\xfa\x2d\x55\xca"))
    return head.to_bytes(3, "little") + crc.to_bytes(3, "little") + content + checksum.to_bytes(4, "little")


def cql_conversation():
    prepared = cql_short("id-7") + bytes(16)
    return [
        (cql_frame(5), cql_answer(6, b"\0\0")),
        (cql_startup(), cql_answer(3, cql_short("PasswordAuthenticator"))),
        (cql_frame(15, cql_long("\0me\0secret")), cql_answer(16, b"\xff\xff\xff\xff")),
        (cql_query("USE shop"), cql_answer(8, struct.pack(">I", 3) + cql_short("shop"))),
        (cql_query("SELECT notes FROM orders WHERE id = f47ac10b-58cc-4372-a567-0e02b2c3d479 AND name = 'me'"),
         cql_rows(["a", "b"])),
        (cql_query("SELECT 1", stream=2) + cql_query("INSERT INTO orders (id, t) VALUES (1, 'secret') // late",
                                                     stream=3),
         cql_answer(8, struct.pack(">I", 1), stream=3) + cql_error(0x2000, "line 1:7", stream=2)),
        (cql_frame(9, cql_long("UPDATE orders SET t = ? WHERE id = ?")),
         cql_answer(8, struct.pack(">I", 4) + prepared)),
        (cql_frame(10, cql_short("id-7") + struct.pack(">HBH", 1, 1, 0)), cql_answer(8, struct.pack(">I", 1))),
        (cql_frame(10, cql_short("id-8") + struct.pack(">HBH", 1, 1, 0)),
         cql_error(0x2500, "unprepared")),
        (cql_frame(13, struct.pack(">BHB", 0, 2, 0) + cql_long("DELETE FROM orders WHERE id = 5") + b"\0\0\x01" +
                   cql_short("id-7") + b"\0\0" + struct.pack(">HB", 1, 0)), cql_error(0x1100, "timeout")),
        (cql_frame(11, b"\0\x01" + cql_short("TOPOLOGY_CHANGE")), cql_answer(2)),
        (b"", cql_answer(12, cql_short("TOPOLOGY_CHANGE"), stream=0xffff)),
        (cql_query("SELECT notes FROM orders", flags=2),
         cql_rows(["x" * 5000])),
    ]


def cql_conversation_5():
    long = "SELECT notes FROM orders WHERE name = '" + "y" * 6000 + "'"
    frame = cql_query(long, version=5, stream=4)
    return [
        (cql_startup(version=5), cql_answer(2, version=5)),
        (cql_segment(cql_query("SELECT notes FROM orders", version=5) +
                     cql_query("SELECT a FROM b", version=5, stream=2)),
         cql_segment(cql_error(0x2200, "no b", version=5, stream=2)) + cql_segment(cql_rows(["a"], version=5))),
        (cql_segment(frame[:2000], False) + cql_segment(frame[2000:6000], False) +
         cql_segment(frame[6000:], False),
         cql_segment(cql_answer(8, struct.pack(">I", 1), version=5, stream=4))),
        (cql_segment(cql_query("TRUNCATE orders", version=5)),
         cql_segment(cql_answer(8, struct.pack(">I", 1), version=5))),
    ]
