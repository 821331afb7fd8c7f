# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients for tests/soak/calls.py, made by hand from the protocols' specifications: each sends requests of many kinds
and knows from the server's answer what a call is to be shown as: (operation, resource, status).

A client has a connection; send() writes one turn of requests, receive() reads their answers and returns those tuples.
"""
import collections
import itertools
import multiprocessing
import random
import socket
import struct

TURN = 16       # requests of a turn of clients that pipeline
PROCESSES = 4   # of the generator


class Stream:
    """A connection over TCP with a buffer."""
    turn = 1    # requests of a turn, at most

    def many(self, _rng):
        return self.turn

    def __init__(self, port, number):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.got, self.number, self.sent, self.asked = b"", number, 0, []

    def more(self):
        part = self.sock.recv(65536)
        if not part:
            raise ConnectionError(f"the server closed the connection behind {self.got[-100:]}")
        self.got += part

    def take(self, n):
        while len(self.got) < n:
            self.more()
        part, self.got = self.got[:n], self.got[n:]
        return part

    def line(self):
        while (end := self.got.find(b"\r\n")) < 0:
            self.more()
        part, self.got = self.got[:end], self.got[end + 2:]
        return part

    def unique(self):
        """A number that no other call has."""
        self.sent += 1
        return self.number << 20 | self.sent

    def close(self):
        self.sock.close()


class Deep:
    """Up to 200 requests at once."""
    turn = 200

    @staticmethod
    def many(rng):
        return rng.choice((1, 2, 16, 30, 64, 65, 100, 200))


# ---- HTTP/1.1 ----

class Http(Stream):
    """The path says what nginx answers (call_servers.py), and is unique."""
    KINDS = [("GET", "ok")] * 6 + [("GET", "gone"), ("GET", "broken"), ("GET", "empty"), ("GET", "large"),
                                   ("GET", "chunked"), ("HEAD", "ok"), ("POST", "ok"), ("GET", "ok?key=secret")]

    def send(self, rng):
        data = b""
        for _ in range(self.many(rng)):
            method, kind = rng.choice(self.KINDS)
            kind, _, query = kind.partition("?")
            path = f"/{kind}/{self.unique()}"
            body = b"x" * rng.choice((1, 5000)) if method == "POST" else b""
            head = f"{method} {path}{'?' * bool(query)}{query} HTTP/1.1\r\nHost: here\r\n"
            if body:
                head += f"Content-Length: {len(body)}\r\n"
            data += head.encode() + b"\r\n" + body
            self.asked.append((method, path))
        self.sock.sendall(data)

    def receive(self):
        return [self.one() for _ in range(len(self.asked))]

    def one(self):
        method, path = self.asked.pop(0)
        status, fields = self.line().split()[1], {}
        while line := self.line():
            name, _, value = line.partition(b":")
            fields[name.lower()] = value.strip()
        if method != "HEAD" and status != b"204":
            if b"chunked" in fields.get(b"transfer-encoding", b""):
                while size := int(self.line(), 16):
                    self.take(size + 2)
                self.line()
            else:
                self.take(int(fields[b"content-length"]))
        return method, path, status.decode()


class HttpPipelined(Http):
    KINDS = [("GET", "ok"), ("GET", "gone"), ("HEAD", "ok"), ("GET", "empty")]
    turn = TURN


class HttpDeep(Deep, HttpPipelined):
    pass


# ---- PostgreSQL ----

def message(kind, *parts):
    body = b"".join(p if isinstance(p, bytes) else p.encode() + b"\0" for p in parts)
    return kind + struct.pack(">I", len(body) + 4) + body


class Postgresql(Stream):
    """Simple queries. Statements with @: a number of its own."""
    KINDS = [
        ("select name from items where id = @ % 500", "SELECT", "items"),
        ("insert into log values (@)", "INSERT", "log"),
        ("update items set name = 'other' where id = @ % 500", "UPDATE", "items"),
        ("delete from log where n = @", "DELETE", "log"),
        ("select 1 / (id - id) from items where id = @ % 500", "SELECT", "items"),
        ("insert into items values (@ % 500, 'twice')", "INSERT", "items"),
        ("select n from absent where n = @", "SELECT", "absent"),
        ("select count(*) from items where id < @ % 500", "SELECT", "items"),
    ]
    LARGE = ("select id, name from items where id <> @", "SELECT", "items")     # 20 KB of rows

    def __init__(self, port, number):
        super().__init__(port, number)
        words = b"user\0postgres\0database\0postgres\0\0"
        self.sock.sendall(struct.pack(">II", 8 + len(words), 196608) + words)
        self.until_ready()
        self.started()

    def started(self):
        pass

    def until_ready(self):
        """The SQLSTATE, or ""."""
        state = ""
        while True:
            kind, size = struct.unpack(">cI", self.take(5))
            body = self.take(size - 4)
            if kind == b"E":
                state = next(f[1:].decode() for f in body.split(b"\0") if f[:1] == b"C")
            elif kind == b"Z":
                return state

    def choose(self, rng):
        self.asked = rng.choice(self.KINDS) if rng.random() > 0.02 else self.LARGE
        return self.asked[0], str(self.unique() & 0x3fffffff)

    def request(self, rng):
        sql, n = self.choose(rng)
        return message(b"Q", sql.replace("@", n))

    def send(self, rng):
        self.sent_kinds, data = [], b""
        for _ in range(self.many(rng)):
            data += self.request(rng)
            self.sent_kinds.append(self.asked)
        self.sock.sendall(data)

    def receive(self):
        return [(verb, table, self.until_ready()) for _, verb, table in self.sent_kinds]

    def close(self):
        self.sock.sendall(message(b"X"))
        super().close()


EXECUTE = message(b"D", b"P\0") + message(b"E", "", b"\0\0\0\0") + message(b"S")


def bind(name, sql, n):
    values = struct.pack(">HI", 1, len(n)) + n.encode() if "@" in sql else b"\0\0"
    return message(b"B", "", name, b"\0\0", values, b"\0\0")


class PostgresqlExtended(Postgresql):
    """Parse, Bind, Describe, Execute, Sync."""

    def request(self, rng):
        sql, n = self.choose(rng)
        return message(b"P", "", sql.replace("@", "$1::int"), b"\0\0") + bind("", sql, n) + EXECUTE


class PostgresqlDeep(Deep, PostgresqlExtended):
    """libpq's pipeline mode with a Sync behind each statement."""


class PostgresqlPrepared(Postgresql):
    """Statements are prepared once."""

    def started(self):
        self.prepared = [k for k in self.KINDS + [self.LARGE] if "absent" not in k[0]]
        self.KINDS = self.prepared[:-1]
        for i, (sql, _, _) in enumerate(self.prepared):
            self.sock.sendall(message(b"P", f"s{i}", sql.replace("@", "$1::int"), b"\0\0") + message(b"S"))
            assert not self.until_ready()

    def request(self, rng):
        sql, n = self.choose(rng)
        return bind(f"s{self.prepared.index(self.asked)}", sql, n) + EXECUTE


# ---- MariaDB ----

PROTOCOL_41, CONNECT_WITH_DB, SECURE, PLUGIN_AUTH, DEPRECATE_EOF = 0x200, 8, 0x8000, 0x80000, 0x1000000


class Mysql(Stream):
    KINDS = [
        ("select name from items where id = @ % 500", "SELECT", "items"),
        ("insert into log values (@)", "INSERT", "log"),
        ("update items set name = 'other' where id = @ % 500", "UPDATE", "items"),
        ("delete from log where n = @", "DELETE", "log"),
        ("insert into items values (@ % 500, 'twice')", "INSERT", "items"),
        ("select n from absent where n = @", "SELECT", "absent"),
        ("select count(*) from items where id < @ % 500", "SELECT", "items"),
    ]
    LARGE = ("select id, name from items where id <> @", "SELECT", "items")

    def __init__(self, port, number, database="test"):
        super().__init__(port, number)
        self.seq, self.statements = 0, {}
        self.no_eof = number % 2 == 1   # as MariaDB's client, the others as old ones
        self.packet()
        caps = PROTOCOL_41 | CONNECT_WITH_DB | SECURE | PLUGIN_AUTH | (DEPRECATE_EOF if self.no_eof else 0)
        self.write(struct.pack("<IIB23x", caps, 1 << 24, 45) + b"root\0\0" + database.encode() +
                   b"\0mysql_native_password\0")
        while (first := self.packet())[0] == 0xfe:
            self.write(b"")
        assert first[0] == 0, first
        self.started()

    def started(self):
        pass

    def packet(self):
        size = self.take(4)
        self.seq = size[3]
        return self.take(int.from_bytes(size[:3], "little"))

    def write(self, body):
        self.seq = (self.seq + 1) & 255
        self.sock.sendall(len(body).to_bytes(3, "little") + bytes([self.seq]) + body)

    def command(self, number, body):
        self.seq = 255
        self.write(bytes([number]) + body)

    @staticmethod
    def state(packet):
        return packet[4:9].decode() if packet[3:4] == b"#" else ""

    def result(self, rows=None):
        """The SQLSTATE, or "". Rows go to the list."""
        first = self.packet()
        if first[0] == 0xff:
            return self.state(first)
        if first[0] == 0:
            return ""
        for _ in range(first[0] + (not self.no_eof)):
            self.packet()
        while True:
            row = self.packet()
            if row[0] == 0xff:
                return self.state(row)
            if row[0] == 0xfe and (self.no_eof or len(row) < 9):
                return ""
            if rows is not None:
                rows.append(row)

    def rows(self):
        """Of short texts."""
        packets, rows = [], []
        state = self.result(packets)
        assert not state, state
        for packet in packets:
            row, at = [], 0
            while at < len(packet):
                size, at = packet[at], at + 1
                if size == 0xfc:
                    size, at = int.from_bytes(packet[at:at + 2], "little"), at + 2
                row.append(packet[at:at + size].decode())
                at += size
            rows.append(row)
        return rows

    def choose(self, rng):
        self.asked = rng.choice(self.KINDS) if rng.random() > 0.02 else self.LARGE
        return self.asked[0], self.unique() & 0x3fffffff

    def send(self, rng):
        sql, n = self.choose(rng)
        self.command(3, sql.replace("@", str(n)).encode())

    def receive(self):
        return [(self.asked[1], self.asked[2], self.result())]

    def close(self):
        self.command(1, b"")
        super().close()


class MysqlDeep(Deep, Mysql):
    """Commands that do not wait for each other, as those of MariaDB's batches."""

    def send(self, rng):
        self.sent_kinds, data = [], b""
        for _ in range(self.many(rng)):
            sql, n = self.choose(rng)
            body = b"\3" + sql.replace("@", str(n)).encode()
            data += len(body).to_bytes(3, "little") + b"\0" + body
            self.sent_kinds.append(self.asked)
        self.sock.sendall(data)

    def receive(self):
        return [(verb, table, self.result()) for _, verb, table in self.sent_kinds]


class MysqlPrepared(Mysql):
    """Prepared once; numbers in binary."""

    def started(self):
        self.KINDS = [k for k in self.KINDS if "absent" not in k[0]]
        for sql, _, _ in self.KINDS + [self.LARGE]:
            self.command(0x16, sql.replace("@", "?").encode())
            first = self.packet()
            assert first[0] == 0, first
            number, columns, parameters = struct.unpack("<IHH", first[1:9])
            for count in (parameters, columns):
                for _ in range(count + (not self.no_eof if count else 0)):
                    self.packet()
            self.statements[sql] = number

    def send(self, rng):
        sql, n = self.choose(rng)
        self.command(0x17, struct.pack("<IBIBBHq", self.statements[sql], 0, 1, 0, 1, 8, n))


# ---- Redis ----

class Redis(Stream):
    """Of the commands without an error the server counts the calls."""
    KINDS = [(b"GET", b"text", "GET"), (b"SET", b"text", b"abc", "SET"), (b"GET", b"none", "GET"),
             (b"INCR", b"number", "INCR"), (b"INCR", b"text", "INCR"), (b"LPUSH", b"text", b"x", "LPUSH"),
             (b"HSET", b"hash", b"field", b"value", "HSET"), (b"HGETALL", b"hash", "HGETALL"),
             (b"MGET", b"text", b"number", b"none", "MGET"), (b"PING", "PING"), (b"GET", b"large", "GET"),
             (b"EVALSHA", b"f" * 40, b"0", "EVALSHA"), (b"SET", b"large", b"x" * 5000, "SET"),
             (b"CLIENT", b"GETNAME", "CLIENT GETNAME"), (b"TTL", b"text", "TTL")]

    def send(self, rng):
        data = b""
        for _ in range(self.many(rng)):
            *words, name = rng.choice(self.KINDS)
            self.asked.append(name)
            data += b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)
        self.sock.sendall(data)

    def value(self):
        """The error's first word, or ""."""
        line = self.line()
        kind, text = line[:1], line[1:]
        if kind == b"-":
            return text.split()[0].decode()
        if kind == b"$" and int(text) >= 0:
            self.take(int(text) + 2)
        if kind == b"*":
            for _ in range(int(text)):
                self.value()
        return ""

    def receive(self):
        return [(self.asked.pop(0), "", self.value()) for _ in range(len(self.asked))]


class RedisPipelined(Redis):
    KINDS = [k for k in Redis.KINDS if b"large" not in k]
    turn = TURN


class RedisDeep(Deep, RedisPipelined):
    pass


# ---- memcached ----

class MemcachedDeep(Deep, Stream):
    """Text commands; noreply ones have no answer. A last one has, so that all of them have been processed."""
    KINDS = [(b"set text 0 0 3\r\nabc", "set"), (b"set text 0 0 3 noreply\r\nabc", "set", ""), (b"get text", "get"),
             (b"get none", "get"), (b"delete none", "delete"), (b"incr none 1", "incr"), (b"incr text 1", "incr"),
             (b"add text 0 0 1\r\nx", "add"), (b"touch text 0 noreply", "touch", ""), (b"gets text none", "gets")]
    REGULAR = (b"STORED", b"END", b"DELETED", b"TOUCHED")

    def send(self, rng):
        self.asked = [rng.choice(self.KINDS) for _ in range(self.many(rng))] + [self.KINDS[0]]
        self.sock.sendall(b"".join(kind[0] + b"\r\n" for kind in self.asked))

    def status(self):
        while (line := self.line()).startswith(b"VALUE "):
            self.take(int(line.split()[3]) + 2)
        return "" if line in self.REGULAR else line.split()[0].decode()

    def receive(self):
        return [(kind[1], "", kind[2] if kind[2:] else self.status()) for kind in self.asked]


# ---- DNS ----

TYPES = {"A": 1, "AAAA": 28, "TXT": 16, "MX": 15}
CODES = {0: "NOERROR", 2: "SERVFAIL", 3: "NXDOMAIN", 5: "REFUSED"}


class Dns:
    """Datagrams of a connected socket."""

    def __init__(self, port, number):
        self.sock = self.open(port)
        self.number, self.sent, self.asked = number, 0, None

    @staticmethod
    def open(port):
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.settimeout(60)
        sock.connect(("127.0.0.1", port))
        return sock

    def query(self, rng):
        self.sent += 1
        name = f"n{self.number}-{self.sent}.{rng.choice(('ok', 'ok', 'ok', 'none', 'refused'))}.calls.test"
        self.asked = rng.choice(list(TYPES)), name
        question = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"
        return struct.pack(">HHHHHH", rng.randrange(1 << 16), 0x100, 1, 0, 0, 0) + question + struct.pack(
            ">HH", TYPES[self.asked[0]], 1)

    def send(self, rng):
        self.sock.send(self.query(rng))

    def answer(self):
        return self.sock.recv(4096)

    def receive(self):
        flags = struct.unpack(">H", self.answer()[2:4])[0]
        return [(*self.asked, CODES[flags & 15])]

    def close(self):
        self.sock.close()


class DnsTcp(Dns):
    @staticmethod
    def open(port):
        return socket.create_connection(("127.0.0.1", port), timeout=60)

    def send(self, rng):
        data = self.query(rng)
        self.sock.sendall(struct.pack(">H", len(data)) + data)

    def answer(self):
        got = b""
        while len(got) < 2 or len(got) < 2 + struct.unpack(">H", got[:2])[0]:
            part = self.sock.recv(4096)
            assert part, "the server closed the connection"
            got += part
        return got[2:]


# ---- the generator ----

def run(client, port, numbers, connections, calls, reopen):
    """@calls over @connections at once by turns; each connects anew behind @reopen turns, with the next of @numbers.
    What was done: (operation, resource, status) -> calls."""
    clients = [client(port, next(numbers)) for _ in range(connections)]
    rng, done, turns = random.Random(clients[0].number), collections.Counter(), 0
    while calls > 0:
        now = clients[:max(1, min(len(clients), calls // getattr(client, "turn", 1)))]
        for one in now:
            one.send(rng)
        for one in now:
            answered = one.receive()
            done.update(answered)
            calls -= len(answered)
        turns += 1
        if turns % reopen == 0:
            for one in clients:
                one.close()
            clients = [client(port, next(numbers)) for _ in range(connections)]
    for one in clients:
        one.close()
    return done


def generate(client, port, connections, calls, reopen):
    """The same by several processes."""
    out, each = multiprocessing.Queue(), connections // PROCESSES
    shares = [calls // PROCESSES + (i < calls % PROCESSES) for i in range(PROCESSES)]

    def work(i):
        try:
            out.put(run(client, port, itertools.count(i + 1, PROCESSES), each, shares[i], reopen))
        except Exception as e:  # the others go on, the parent must not wait for this one
            out.put(repr(e))
            raise
    children = [multiprocessing.Process(target=work, args=(i,)) for i in range(PROCESSES)]
    for child in children:
        child.start()
    done = collections.Counter()
    for _ in children:
        one = out.get(timeout=1200)
        if isinstance(one, str):
            raise SystemExit(f"the generator failed: {one}")
        done.update(one)
    for child in children:
        child.join()
    return done
