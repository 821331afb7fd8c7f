# SPDX-License-Identifier: GPL-2.0-or-later
"""A ClickHouse server of its own on the loopback, in a folder of the test (Debian: clickhouse-server), and a proxy
that breaks connections in front of it."""
import http.client
import http.server
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

READY_S = 30
NEWEST = os.environ.get("SONDE_CHDB")   # folder of npm's chdb, in place of Debian's server (make fleet-newest)
SHIM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fleet", "chdb.js")

CONFIG = """<yandex>
 <logger><level>warning</level><log>{folder}/server.log</log><errorlog>{folder}/errors.log</errorlog></logger>
 <http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><listen_host>{address}</listen_host>
 <path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path><users_config>{folder}/users.xml</users_config>
 <default_profile>default</default_profile><default_database>default</default_database>
 <mark_cache_size>67108864</mark_cache_size><keep_alive_timeout>3</keep_alive_timeout>{more}
</yandex>"""
USERS = """<yandex>
 <profiles><default><max_memory_usage>2000000000</max_memory_usage></default></profiles>
 <users><default><password></password><networks><ip>::/0</ip></networks><profile>default</profile>
 <quota>default</quota></default></users><quotas><default></default></quotas>
</yandex>"""

# Rows 2 n and 2 n + 1 are the sides of call n, the server's by a clock that is {late} ns ahead.
CALLS = """INSERT INTO rpc_call (host, run, seq, ts_ns, time, date, rpc_method, rpc_kind, rpc_side, rpc_status,
rpc_latency, rpc_ordinal, proc_pid, proc_name, conn_src, conn_sport, conn_dst, conn_dport, rpc_stream)
SELECT concat('host', toString((call + number % 2) % {hosts})), 1, number, at_ns,
toDateTime(intDiv(at_ns, 1000000000)), toDate('2026-01-01'),
concat('shop.Service', toString(call % 10), '/Method', toString(call % 100)), 'grpc',
if(number % 2 = 0, 'client', 'server'), 'OK', if(number % 2 = 0, 1000000 + call % 1000 * 1000, 600000), call + 1,
1, if(number % 2 = 0, 'client', 'server'), toFixedString(IPv6StringToNum('::ffff:10.0.0.1'), 16), 1024 + call % 60000,
toFixedString(IPv6StringToNum('::ffff:10.0.0.2'), 16), 443, call
FROM (SELECT number + {first} AS number, intDiv(number + {first}, 2) AS call,
{begin} * 1000000000 + call * {apart} + number % 2 * {late} AS at_ns FROM system.numbers LIMIT {rows})"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, folder, address="127.0.0.1", inside=(), ports=None, more=""):
        """@inside: words in front of the command, such as `ip netns exec NAME`. @more: of its configuration."""
        self.folder, self.address, self.inside = str(folder), address, list(inside)
        self.http, self.tcp = ports or (free_port(), free_port())
        os.makedirs(self.folder, exist_ok=True)
        for name, text in ("config.xml", CONFIG), ("users.xml", USERS):
            with open(f"{self.folder}/{name}", "w") as f:
                f.write(text.format(folder=self.folder, http=self.http, tcp=self.tcp, address=address, more=more))
        self.child = None
        self.start()

    @property
    def command(self):
        if NEWEST:
            return ["env", f"NODE_PATH={NEWEST}/node_modules", "node", SHIM, self.folder, self.address,
                    str(self.http)]
        return ["clickhouse-server", "--config-file", f"{self.folder}/config.xml"]

    @property
    def base(self):
        return f"{self.address}:{self.http}"

    def url(self, db="sonde"):
        return f"http://{self.base}/{db}"

    def start(self):
        with open(f"{self.folder}/out", "ab") as out:
            self.child = subprocess.Popen([*self.inside, *self.command], stdout=out, stderr=out,
                                          start_new_session=True, cwd=self.folder)
        end = time.monotonic() + READY_S
        while True:
            try:
                assert self.query("SELECT 1") == "1\n"
                return
            except OSError:
                assert self.child.poll() is None and time.monotonic() < end, open(f"{self.folder}/out").read()
                time.sleep(0.05)

    def kill(self):
        os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()

    def query(self, sql, db="default", **settings):
        url = f"http://{self.base}/?{urllib.parse.urlencode({'database': db, **settings})}"
        if self.inside:
            return subprocess.run([*self.inside, "curl", "-sS", "--data-binary", "@-", url], input=sql, text=True,
                                  check=True, capture_output=True).stdout
        request = urllib.request.Request(url, data=sql.encode())
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.read().decode(errors="surrogateescape")
        except urllib.error.HTTPError as error:
            raise OSError(error.read().decode(errors="replace").strip()) from None

    def rows(self, sql, db="sonde", **settings):
        return [line.split("\t") for line in self.query(sql, db, **settings).splitlines()]

    def tables(self, db="sonde"):
        return [t for (t,) in self.rows(
            f"SELECT name FROM system.tables WHERE database = '{db}' AND engine = 'MergeTree'", db)]

    def holes(self, db="sonde"):
        """{table: (rows, rows that are there twice, rows that are missing)}, of the tables with rows."""
        out = {}
        for table in self.tables(db):
            rows, distinct, made = (int(n) for n in self.rows(
                "SELECT sum(n), sum(d), sum(m) FROM (SELECT run, count() AS n, uniqExact(seq) AS d, "
                f"max(seq) + 1 AS m FROM {table} GROUP BY run)", db)[0])
            if rows:
                out[table] = (rows, rows - distinct, made - distinct)
        return out


def cluster(folder, name, addresses):
    """A server per address; together the shards of the cluster @name."""
    ports = [(free_port(), free_port()) for _ in addresses]
    shards = "".join(f"<shard><replica><host>{a}</host><port>{tcp}</port></replica></shard>"
                     for a, (_, tcp) in zip(addresses, ports))
    more = f"<remote_servers><{name}>{shards}</{name}></remote_servers>"
    return [Server(os.path.join(folder, a), a, ports=p, more=more) for a, p in zip(addresses, ports)]


class Answers:
    """A server with an answer, (status, bytes), for the statements that begin so."""

    def __init__(self, answers):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                sql = self.rfile.read(int(self.headers["Content-Length"])).decode(errors="replace")
                status, answer = next(answer for beginning, answer in answers.items() if sql.startswith(beginning))
                self.send_response(status)
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()


def below(pid, name):
    """Processes of this name that descend from @pid."""
    parents, names = {}, {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as f:
                head, tail = f.read().rsplit(") ", 1)
        except (OSError, ValueError):
            continue
        parents[int(entry)], names[int(entry)] = int(tail.split()[1]), head.split("(", 1)[1]

    def descends(one):
        while one and one != pid:
            one = parents.get(one, 0)
        return one == pid

    return [one for one, has in names.items() if has == name and descends(one)]


class Proxy:
    """Passes requests on. Of inserts it cuts connections: before the server has them, behind it without an answer
    (then it may kill the process that sent them), or answers 503; in turn, as @plan says."""

    def __init__(self, server, plan):
        self.server, self.plan, self.cut = server, list(plan), []
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                insert = "INSERT" in urllib.parse.unquote_plus(self.path)
                how = proxy.plan.pop(0) if insert and proxy.plan else "pass"
                if how != "pass":
                    proxy.cut.append(how)
                if how == "before":
                    self.close_connection = True
                    return
                status, answer = (503, b"busy") if how == "busy" else proxy.ask(self.path, body,
                                                                                self.headers["Content-Type"])
                if how == "killed":
                    for pid in below(os.getpid(), "sonde-post"):
                        os.kill(pid, signal.SIGKILL)
                if how in ("behind", "killed"):
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    def ask(self, path, body, kind):
        """@kind: the Content-Type"""
        c = http.client.HTTPConnection(self.server.address, self.server.http, timeout=60)
        c.request("POST", path, body, {"Content-Type": kind})
        answer = c.getresponse()
        data = answer.read()
        c.close()
        return answer.status, data

    def url(self, db="sonde"):
        return f"http://127.0.0.1:{self.http.server_port}/{db}"

    def close(self):
        self.http.shutdown()
        self.http.server_close()
