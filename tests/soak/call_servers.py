# SPDX-License-Identifier: GPL-2.0-or-later
"""Real servers for tests/soak/calls.py, out of Debian's packages in a root of their own, and what they count."""
import collections
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), folder) for folder in ("truth", "workloads")]
import server_root  # noqa: E402  the paths above are needed first
import call_clients as clients  # noqa: E402

PACKAGES = ["nginx-light", "nghttp2-client", "postgresql-15", "mariadb-server-core", "mariadb-client-core",
            "redis-server", "unbound", "libc-bin", "dash", "bash", "coreutils", "sed", "grep", "mawk", "hostname"]
START_S = 120
UNKNOWN_TLS = 0.001     # calls whose socket is not proved

NGINX = """daemon off; user root; worker_processes 2; pid /run/nginx.pid; error_log stderr;
events { worker_connections 512; }
http { log_format one "$request_method $request_uri $status"; access_log /truth/log one; keepalive_requests 1000000;
client_body_temp_path /tmp; proxy_temp_path /tmp; fastcgi_temp_path /tmp; uwsgi_temp_path /tmp; scgi_temp_path /tmp;
client_body_buffer_size 16k; default_type text/html; sendfile on; root /truth;
server { listen 127.0.0.1:PORT HOW;
location /ok/ { return 200 "fine"; }
location /gone/ { return 410; }
location /broken/ { return 503; }
location /empty/ { return 204; }
location /large/ { rewrite ^ /large.html break; }
location /chunked/ { ssi on; rewrite ^ /page.html break; } } }
"""
POSTGRES = """p=/usr/lib/postgresql/15/bin
mkdir -p /run/postgresql /tmp/db
chown postgres:postgres /run/postgresql /tmp/db
run() { chroot --userspec=postgres:postgres / "$@"; }
run $p/initdb --locale=C -A trust -D /tmp/db >/dev/null
exec chroot --userspec=postgres:postgres / $p/postgres -D /tmp/db -k /tmp -h 127.0.0.1 -p PORT -N 300 -F \
-c synchronous_commit=off -c log_min_messages=panic -c shared_preload_libraries=pg_stat_statements \
-c pg_stat_statements.max=10000
"""
MARIADB = """mkdir -p /tmp/db /run/mysqld
/usr/bin/mariadb-install-db --no-defaults --user=root --datadir=/tmp/db --force --skip-test-db >/truth/install 2>&1
exec /usr/sbin/mariadbd --no-defaults --user=root --datadir=/tmp/db --socket=/tmp/db.sock --pid-file=/tmp/db.pid \
--bind-address=127.0.0.1 --port=PORT --performance-schema=ON --skip-grant-tables --skip-name-resolve \
--max-connections=300 --innodb-flush-log-at-trx-commit=0
"""
REDIS = 'exec /usr/bin/redis-server --port PORT --bind 127.0.0.1 --save "" --appendonly no --dir /tmp'
UNBOUND = """server:
  interface: 127.0.0.1@PORT
  num-threads: 2
  so-reuseport: yes
  username: ""
  chroot: ""
  do-daemonize: no
  use-syslog: no
  pidfile: ""
  incoming-num-tcp: 200
  extended-statistics: yes
  module-config: "iterator"
  local-zone: "ok.calls.test." redirect
  local-data: "ok.calls.test. A 192.0.2.1"
  local-zone: "none.calls.test." static
  local-zone: "refused.calls.test." always_refuse
remote-control:
  control-enable: yes
  control-interface: 127.0.0.1
  control-port: CONTROL
  control-use-cert: no
"""


class Server:
    """Runs until close(). counts(): what the server counted, by the server's terms."""
    script, files = "", {}

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="sd-calls-")
        self.port = self.free_port()
        self.values = {"PORT": str(self.port), "CONTROL": str(self.free_port())}
        os.makedirs(os.path.join(self.folder, "files"))
        self.log = os.path.join(self.folder, "log")
        with open(self.log, "wb") as log:
            self.child = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            self.wait()
            self.prepare()
        except BaseException:
            self.close()
            raise

    @staticmethod
    def root():
        return server_root.path("servers-calls", tuple(PACKAGES))

    def command(self):
        return server_root.command(self.folder, self.fill(self.script),
                                   {name: self.fill(text) for name, text in self.files.items()}, root=self.root())

    def fill(self, text):
        for name, value in self.values.items():
            text = text.replace(name, value)
        return text

    @staticmethod
    def free_port():
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            return s.getsockname()[1]

    def wait(self):
        deadline = time.monotonic() + START_S
        while True:
            try:
                return self.knock()
            except OSError:
                pass
            if self.child.poll() is not None or time.monotonic() > deadline:
                with open(self.log, encoding="utf-8", errors="replace") as f:
                    raise SystemExit(f"{type(self).__name__} does not start: {f.read()[-2000:]}")
            time.sleep(0.05)

    def knock(self):
        """An OSError until it serves."""
        socket.create_connection(("127.0.0.1", self.port)).close()

    def prepare(self):
        pass

    def run(self, command, files=None):
        """A program of the servers' packages; its output."""
        folder = tempfile.mkdtemp(prefix="client-", dir=self.folder)
        words = server_root.command(folder, "exec " + command, files or {}, root=Server.root())
        done = subprocess.run(words, capture_output=True, text=True, timeout=1200, check=False)
        if done.returncode:
            raise SystemExit(f"{command}: {done.stderr[-1000:]}")
        return done.stdout

    def close(self):
        self.child.send_signal(signal.SIGINT if isinstance(self, Postgres) else signal.SIGTERM)
        try:
            self.child.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Nginx(Server):
    """Counts by method, path and status: its access log."""
    script, how = "exec /usr/sbin/nginx -c /truth/conf", ""
    files = {"conf": NGINX, "large.html": "x" * 100000, "page.html": '<!--# echo var="request_uri" -->' + "y" * 3000}

    def counts(self):
        with open(os.path.join(self.folder, "files", "log"), encoding="utf-8") as f:
            lines = [line.split() for line in f]
        return collections.Counter((method, uri.partition("?")[0], status) for method, uri, status in lines)

    def fill(self, text):
        return super().fill(text).replace("HOW", self.how)

    def compared(self, done):
        return done


class NginxH2(Nginx):
    """HTTP/2 in plain text, asked by h2load, whose own count is the number of calls."""
    how = "http2"
    streams, scheme = 4, "http"     # streams: at once on a connection

    def generate(self, connections, calls):
        uris = "".join(f"{self.scheme}://127.0.0.1:{self.port}/{kind}/{i}\n" for i in range(20)
                       for kind in ("ok", "gone", "broken", "empty", "ok", "large", "ok", "chunked"))
        text = self.run(f"/usr/bin/h2load -n {calls} -c {connections} -m {self.streams} -t 2 -i /truth/uris",
                        {"uris": uris})
        if f"{calls} total, {calls} started, {calls} done" not in text:
            raise SystemExit(f"h2load: {text}")
        deadline = time.monotonic() + 10        # nginx logs behind the answer
        while sum((counts := self.counts()).values()) < calls and time.monotonic() < deadline:
            time.sleep(0.1)
        return counts


class NginxH2Alone(NginxH2):
    streams = 1


def certificate():
    """The files of a server with TLS."""
    files = {}
    for name in ("cert.pem", "key.pem"):
        with open(os.path.join(os.path.dirname(HERE), "data", "tls", name), encoding="ascii") as f:
            files[name] = f.read()
    return files


class NginxH2Tls(NginxH2):
    """HTTP/2 over OpenSSL, by nghttp2's client."""
    how = "ssl http2; ssl_certificate /truth/cert.pem; ssl_certificate_key /truth/key.pem"
    scheme, files, unknown_share = "https", {**Nginx.files, **certificate()}, UNKNOWN_TLS


class Postgres(Server):
    """Counts calls that succeeded by verb and table (pg_stat_statements), and transactions that failed."""
    script = POSTGRES

    def knock(self):
        clients.Postgresql(self.port, 0).close()

    def prepare(self):
        self.query("create extension pg_stat_statements")
        self.query("create table items (id int primary key, name text)")
        self.query("create table log (n int)")
        self.query("create index on log (n)")
        self.query("insert into items select i, 'name ' || i from generate_series(0, 499) i")
        self.query("select pg_stat_statements_reset()")
        self.failed = int(self.query("select xact_rollback from pg_stat_database where datname = 'postgres'")[0][0])

    def query(self, sql):
        one = clients.Postgresql(self.port, 0)
        one.sock.sendall(clients.message(b"Q", sql))
        rows = []
        while True:
            kind, size = struct.unpack(">cI", one.take(5))
            body = one.take(size - 4)
            assert kind != b"E", body
            if kind == b"D":
                rows.append(self.row(body))
            if kind == b"Z":
                one.close()
                return rows

    @staticmethod
    def row(body):
        values, at = [], 2
        for _ in range(int.from_bytes(body[:2], "big")):
            size = int.from_bytes(body[at:at + 4], "big")
            values.append(body[at + 4:at + 4 + size].decode())
            at += 4 + size
        return values

    def counts(self):
        counts = collections.Counter()
        for sql, calls in self.query("select query, calls from pg_stat_statements where query ~ '(items|log)'"):
            table = re.search(r"\b(items|log)\b", sql).group(1)
            if not re.search("generate_series|pg_stat", sql):
                counts[sql.split()[0].upper(), table, ""] += int(calls)
        return counts

    def compared(self, done):
        return collections.Counter({key: n for key, n in done.items() if not key[2]})


class Pgbench(Postgres):
    """pgbench's three modes, by libpq: transactions of five statements."""
    statements = [("BEGIN", "", ""), ("UPDATE", "pgbench_accounts", ""), ("SELECT", "pgbench_accounts", ""),
                  ("INSERT", "pgbench_history", ""), ("END", "", "")]
    own = [("SELECT", "pgbench_branches", ""), ("SELECT", "pg_catalog.pg_class", "")]    # once, before it begins
    program = "/usr/lib/postgresql/15/bin/pgbench -h 127.0.0.1 -U postgres -n -p "

    def prepare(self):
        super().prepare()
        self.run(f"{self.program} {self.port} -i -s 5 -q postgres")
        self.query("select pg_stat_statements_reset()")

    def generate(self, connections, calls):
        each, done = max(1, calls // 3 // len(self.statements) // connections), 0
        for mode in ("simple", "extended", "prepared"):
            text = self.run(f"{self.program} {self.port} -b simple-update -M {mode} -c {connections} -j 2 -t {each} "
                            "postgres")
            last = int(re.search(r"transactions actually processed: (\d+)", text)[1])
            done += last
        self.uncounted = last - connections
        return collections.Counter({**{key: done for key in self.statements}, **{key: 3 for key in self.own}})

    def compared(self, done):
        """Of BEGIN and END that are prepared the server counts the first of each connection."""
        counts = +collections.Counter({key: n for key, n in done.items() if key not in self.own})
        counts.subtract({key: self.uncounted for key in (self.statements[0], self.statements[-1])})
        return counts

    def counts(self):
        counts = collections.Counter()
        for sql, calls in self.query("select query, calls from pg_stat_statements where query ~* "
                                     "'^(begin|end|.* pgbench_(accounts|history).*_?aid)'"):
            found = re.search(r"pgbench_\w+", sql)
            counts[sql.split()[0].upper().rstrip(";"), found[0] if found else "", ""] += int(calls)
        return counts


class PgbenchPipeline(Pgbench):
    """libpq's pipeline mode: 60 statements, then a Sync."""
    streams = 60
    LINES = ["select aid from pgbench_accounts where aid = :a;",
             "update pgbench_tellers set tbalance = :a where tid = 1;",
             "insert into pgbench_history (tid) values (:a);"]

    def generate(self, connections, calls):
        turns = max(1, calls // self.streams // connections)
        script = "\\set a random(1, 1000)\n\\startpipeline\n" + "\n".join(self.LINES * 20) + "\n\\endpipeline\n"
        text = self.run(f"{self.program} {self.port} -f /truth/script -M extended -c {connections} -j 2 -t {turns} "
                        "postgres", {"script": script})
        done = 20 * int(re.search(r"transactions actually processed: (\d+)", text)[1])
        return collections.Counter({("SELECT", "pgbench_accounts", ""): done, ("UPDATE", "pgbench_tellers", ""): done,
                                    ("INSERT", "pgbench_history", ""): done})

    def compared(self, done):
        return done

    def counts(self):
        counts = collections.Counter()
        for sql, calls in self.query("select query, calls from pg_stat_statements where query ~* "
                                     "'^(select aid|update pgbench_tellers|insert into pgbench_history)'"):
            counts[sql.split()[0].upper(), re.search(r"pgbench_\w+", sql)[0], ""] += int(calls)
        return counts


class PgbenchTls(Pgbench):
    """The same over OpenSSL at both ends (sslmode=require)."""
    script = POSTGRES.replace("exec ", """cp /truth/cert.pem /truth/key.pem /tmp
chown postgres:postgres /tmp/key.pem
chmod 600 /tmp/key.pem
exec """).rstrip("\n") + " -c ssl=on -c ssl_cert_file=/tmp/cert.pem -c ssl_key_file=/tmp/key.pem\n"
    files, unknown_share = certificate(), UNKNOWN_TLS
    program = "/usr/bin/env PGSSLMODE=require " + Pgbench.program


class Mariadb(Server):
    """Counts statements and their errors by digest. Its threads add to a counter without a lock: some are missing."""
    script, uncounted_share = MARIADB, 1e-4

    def prepare(self):
        self.query("create database if not exists test", "create table test.items (id int primary key, name text)",
                   "create table test.log (n int, key (n))",
                   "insert into test.items values " + ",".join(f"({i}, 'name {i}')" for i in range(500)),
                   "truncate performance_schema.events_statements_summary_by_digest")

    def query(self, *statements):
        """On one connection: a statement is counted behind its answer, but before the next one."""
        one = clients.Mysql(self.port, 0, "mysql")
        for sql in statements:
            one.command(3, sql.encode())
            rows = one.rows()
        one.close()
        return rows

    def counts(self):
        counts = collections.Counter()
        for sql, calls, errors in self.query(
                "select digest_text, count_star, sum_errors from performance_schema."
                "events_statements_summary_by_digest where digest_text is not null"):
            found = re.search(r"\b(items|log|absent)\b", sql)
            if found and not sql.startswith("SELECT `digest"):
                counts[sql.split()[0], found.group(1), "failed"] += int(errors)
                counts[sql.split()[0], found.group(1), ""] += int(calls) - int(errors)
        return +counts

    def compared(self, done):
        counts = collections.Counter()
        for (verb, table, state), n in done.items():
            counts[verb, table, "failed" if state else ""] += n
        return counts


class MariadbPrepared(Mariadb):
    """Counts executions and their errors; they have no digest."""

    def counts(self):
        counts = collections.Counter()
        for calls, errors in self.query(
                "select count_star, sum_errors from performance_schema."
                "events_statements_summary_global_by_event_name where event_name = 'statement/com/Execute'"):
            counts["failed"], counts[""] = int(errors), int(calls) - int(errors)
        return +counts

    def compared(self, done):
        counts = collections.Counter()
        for (_, _, state), n in done.items():
            counts["failed" if state else ""] += n
        return counts


class RedisServer(Server):
    """Counts by command, failed ones apart."""
    script = REDIS

    def prepare(self):
        one = clients.Redis(self.port, 0)
        one.sock.sendall(b"SET text abc\r\nSET large " + b"y" * 10000 + b"\r\nCONFIG RESETSTAT\r\n")
        assert [one.value() for _ in range(3)] == ["", "", ""]
        one.close()

    def counts(self):
        one, counts = clients.Redis(self.port, 0), collections.Counter()
        one.sock.sendall(b"INFO commandstats\r\n")
        for line in one.take(int(one.line()[1:])).decode().splitlines():
            found = re.match(r"cmdstat_(\S+):calls=(\d+).*rejected_calls=(\d+),failed_calls=(\d+)", line)
            if found and found[1] not in ("info", "config|resetstat"):
                name, failed = found[1].upper().replace("|", " "), int(found[3]) + int(found[4])
                counts[name, "", "failed"] += failed
                counts[name, "", ""] += int(found[2]) - int(found[4])
        one.close()
        return +counts

    compared = Mariadb.compared


class RedisBenchmark(RedisServer):
    """redis-benchmark with 16 commands at once, by the server's count."""
    streams = 16

    def generate(self, connections, calls):
        tests = "get,set,incr,lpush,rpop,sadd,hset,mset,lrange_100"
        self.run(f"/usr/bin/redis-benchmark -p {self.port} -c {connections} -n {calls // 10} -P {self.streams} "
                 f"-t {tests} --csv")
        return collections.Counter({(*key[:2], ""): n for key, n in self.counts().items()})


class Unbound(Server):
    """Counts by type, and by rcode."""
    script = "exec /usr/sbin/unbound -d -c /truth/conf"
    files = {"conf": UNBOUND}

    def counts(self):
        with socket.create_connection(("127.0.0.1", int(self.values["CONTROL"]))) as s:
            s.sendall(b"UBCT1 stats_noreset\n")
            text = b""
            while part := s.recv(65536):
                text += part
        counts = collections.Counter()
        for line in text.decode().splitlines():
            found = re.match(r"num\.(query\.type|answer\.rcode)\.(\w+)=(\d+)", line)
            if found and found[2] != "nodata":    # a part of NOERROR
                counts[found[1], found[2]] += int(found[3])
        return +counts

    def compared(self, done):
        counts = collections.Counter()
        for (kind, _, code), n in done.items():
            counts["query.type", kind] += n
            counts["answer.rcode", code] += n
        return counts
