#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""go_servers.py [--runs N] [--apart "0 1 4"] [--suite SUITE]... [SERVER...]: does each call of Go programs have its
process and its socket?

Programs of Debian as they are packaged (stripped), and gRPC servers of tests/workloads/go, in a network namespace of
their own. N calls or runs of a client (200) must each be shown once at each end that is a Go program, with process,
status, addresses and cookie. Truth: the pid that was started, ss (sockets that are there and those that end), and the
server's log or counters.

  etcd               etcdctl put, each run a process; etcd's log has port and key of each call. --apart: seconds from
                     one run to the next (0); N runs for each. The first run of the file is left out
  containerd         ctr, four commands in turn, over a unix socket; strace says the inodes of both ends, containerd
                     counts calls by method
  prometheus         curl over TLS; prometheus counts requests by path
  caddy caddy-tls    curl, HTTP/2 with and without TLS; caddy logs port and path
  grpc-tls grpc-unix grpc-cmux    four clients, calls of six kinds; they and the server log each call

A line each, with every call that has no socket and each part that could not be read; exit status 1 if one is missing,
shown twice or otherwise than the truth.
"""
import argparse
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "workloads", "go"), os.path.join(ROOT, "tests", "e2e")]
sys.dont_write_bytecode = True
import gocalls  # noqa: E402  the paths above are needed first
import gotree  # noqa: E402
import helpers  # noqa: E402

LAST_S = 30     # until ends of the last calls are seen, logged and counted


class Unchecked(Exception):
    """A server that cannot be checked, and why."""


class Sockets:
    """The TCP sockets of a namespace that end, as ss shows them."""

    LINE = re.compile(r"(\S+:\d+)\s+(\S+:\d+)\s+.* sk:([0-9a-f]+)")

    def __init__(self, ns):
        self.ended = []     # (local, peer, cookie)
        self.child = ns.popen("stdbuf", "-oL", "ss", "-HtneE")
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.child.stdout:
            match = self.LINE.search(line.replace("[::ffff:", "").replace("]", ""))
            if match:
                self.ended.append((match[1], match[2], int(match[3], 16)))

    def row(self, side, pid, path, status, port, to, since):
        """
        What must be shown of a call from @port to @to, both on 127.0.0.1. @since: length of self.ended before it,
        as ports are used again.
        """
        ends = f"127.0.0.1:{port}", f"127.0.0.1:{to}"
        local, found = ends if side == "client" else ends[::-1], []
        helpers.wait_until(lambda: found.extend(end[2] for end in self.ended[since:] if end[:2] == local) or found,
                           LAST_S)
        return side, pid, path, status, *ends, found[0]


class Server:
    """A child with files in a folder of its own."""

    prefetched = ()     # files that are watched before the first run

    def __init__(self, suite, ns):
        self.suite, self.ns, self.inode = suite, ns, ns.inode
        self.folder = tempfile.mkdtemp(prefix="sd-go-")
        self.sockets = Sockets(ns)
        self.env = dict(os.environ, HOME=self.folder, ETCDCTL_API="3")
        self.env.pop("XDG_DATA_HOME", None)
        self.rows, self.asked = [], []  # what must be shown, as shown() does; what curl said
        try:
            self.begin()
        except BaseException:
            self.close()
            raise

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8", errors="replace") as f:
            return f.read()

    def certify(self):
        helpers.sh("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
                   "-keyout", self.path("key.pem"), "-out", self.path("cert.pem"))

    def start(self, *words):
        with open(self.path("log"), "w", encoding="utf-8") as log:
            self.child = self.ns.popen(*words, stdout=log, stderr=log, env=self.env)

    def wait(self, ready):
        end = time.monotonic() + helpers.READY_S
        while not ready():
            if self.child.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"{self.child.args[2]} does not start: {self.read('log')[-1000:]}")
            time.sleep(0.1)

    def first(self, sonde):
        """What goes before the calls that count."""

    def finish(self):
        """Completes self.rows once all calls are made."""

    def mine(self, ev):
        return ev["type"] == "rpc.call" and ev.get("netns") == self.inode

    def close(self):
        """Programs end with the namespace."""
        self.ns.close()
        shutil.rmtree(self.folder)


def shown(ev):
    """The row that an event is."""
    conn = ev.get("conn") or {}
    ends = (f"{conn['src']}:{conn['sport']}", f"{conn['dst']}:{conn['dport']}") if "sport" in conn else \
        (ev.get("peer"),) * 2
    return (ev["side"], ev["proc"]["pid"], ev.get("path"), str(ev.get("status") or ev.get("http_status")), *ends,
            ev.get("cookie") if conn else ev.get("sock_inode"))


# ---- packaged servers ----

class Etcd(Server):
    PUT, PORT = "/etcdserverpb.KV/Put", 2379

    def begin(self):
        server, self.client = (gotree.program(self.suite, name) for name in ("etcd", "etcdctl"))
        self.prefetched = (server,)
        url = f"http://127.0.0.1:{self.PORT}"
        self.start(server, "--data-dir", self.path("data"), "--listen-client-urls", url, "--advertise-client-urls",
                   url, "--listen-peer-urls", "http://127.0.0.1:2380", "--logger", "zap", "--log-level", "debug",
                   "--log-outputs", "stderr")
        self.wait(lambda: " 200 " in self.ns.run("curl", "-sI", "-X", "GET", url + "/health", check=False).stdout)
        self.runs = {}      # {key: (before it, pid)}

    def put(self, key):
        child = self.ns.popen(self.client, "--endpoints", f"127.0.0.1:{self.PORT}", "--command-timeout",
                               "60s", "put", key, "value", env=self.env)
        said = child.communicate(timeout=90)
        if said[0] != "OK\n":
            raise SystemExit(f"etcdctl: {said}")
        self.ns.children.remove(child)
        return child.pid

    def first(self, sonde):
        self.skipped = self.put("first")
        sonde.wait_for(lambda ev: ev["type"] == "rpc.late" and ev["file"] == self.client, timeout=LAST_S)
        sonde.wait_for(self.mine, timeout=LAST_S)

    def ask(self, number):
        key = f"key{number}"
        self.runs[key] = len(self.sockets.ended), self.put(key)

    def mine(self, ev):
        return super().mine(ev) and ev["proc"]["pid"] != self.skipped

    def logged(self):
        """{key: port of the client}, of the calls that etcd logged."""
        found = {}
        for line in self.read("log").splitlines():
            entry = json.loads(line) if line.startswith("{") else {}
            if entry.get("response type") == self.PUT:
                key = re.search(r'key:\\?"(\w+)', entry["request content"])[1]
                found[key] = entry["remote"].rsplit(":", 1)[1]
        return found

    def finish(self):
        helpers.wait_until(lambda: self.runs.keys() <= self.logged().keys(), LAST_S)
        ports = self.logged()
        for key, (since, pid) in self.runs.items():
            for side, owner in (("client", pid), ("server", self.child.pid)):
                self.rows.append(self.sockets.row(side, owner, self.PUT, "OK", ports[key], self.PORT, since))


class Containerd(Server):
    COMMANDS = (("namespaces", "ls"), ("version",), ("content", "ls"), ("images", "ls", "-q"))
    CONFIG = """version = 2
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime",
    "io.containerd.nri.v1.nri"]
[metrics]
  address = "127.0.0.1:1338"
[plugins."io.containerd.internal.v1.opt"]
  path = "FOLDER/opt"
"""
    COUNTER = re.compile(r'^grpc_server_handled_total\{grpc_code="(\w+)",grpc_method="(\w+)",grpc_service="([\w.]+)",'
                         r'grpc_type="\w+"\} (\d+)$', re.M)
    # Numbers of sockets by their links in /proc: a query of ss would give them cookies.
    STRACE = ("strace", "-D", "-f", "-q", "-y", "--seccomp-bpf")
    CONNECTED = re.compile(r"connect\(\d+<socket:\[(\d+)\]>, \{sa_family=AF_UNIX")
    ACCEPTED = re.compile(r"sa_family=AF_UNIX.* = \d+<socket:\[(\d+)\]>$", re.M)

    def begin(self):
        server, self.ctr = (gotree.program(self.suite, name) for name in ("containerd", "ctr"))
        self.prefetched = (server, self.ctr)
        self.start(*self.STRACE, "-e", "trace=accept4", "-o", self.path("accepted"), server, "--root",
                   self.path("root"), "--state", self.path("state"), "--address", self.path("sock"), "--config",
                   self.write("config.toml", self.CONFIG.replace("FOLDER", self.folder)))
        self.wait(lambda: not self.ns.run(self.ctr, "-a", self.path("sock"), "version", check=False).returncode)

    def counted(self):
        text = self.ns.run("curl", "-s", "127.0.0.1:1338/v1/metrics").stdout
        return collections.Counter({(f"/{service}/{method}", code): int(n)
                                    for code, method, service, n in self.COUNTER.findall(text)})

    def ask(self, number):
        before, accepted, trace = self.counted(), len(self.accepted()), self.path(f"trace{number}")
        child = self.ns.popen(*self.STRACE, "-e", "trace=connect", "-o", trace, self.ctr, "-a", self.path("sock"),
                              *self.COMMANDS[number % len(self.COMMANDS)])
        said = child.communicate(timeout=helpers.READY_S)
        if child.returncode:
            raise SystemExit(f"ctr: {said}")
        self.ns.children.remove(child)
        helpers.wait_until(lambda: self.counted() != before and len(self.accepted()) > accepted, LAST_S)
        helpers.wait_until(lambda: self.CONNECTED.search(self.read(trace)), LAST_S)
        client, server = self.CONNECTED.findall(self.read(trace)), self.accepted()[accepted:]
        if len(client) != 1 or len(server) != 1:
            raise SystemExit(f"ctr connected by {client}, containerd accepted {server}")
        for (path, code), n in (self.counted() - before).items():
            self.rows += [("client", child.pid, path, code, "unix", "unix", int(client[0])),
                          ("server", self.child.pid, path, code, "unix", "unix", int(server[0]))] * n

    def accepted(self):
        return self.ACCEPTED.findall(self.read("accepted"))


class Web(Server):
    """Clients: curl, which says its port."""

    tls, PORT = True, 8443

    def url(self, path):
        return f"http{'s' if self.tls else ''}://localhost:{self.PORT}{path}"

    def curl(self, path):
        return self.ns.run("curl", "-sk4", "--http2" if self.tls else "--http2-prior-knowledge", "-o",
                           self.path("body"), "-w", "%{local_port} %{http_version} %{http_code}", self.url(path),
                           check=False).stdout.split()

    def ask(self, number):
        path, since = self.paths[number % len(self.paths)], len(self.sockets.ended)
        port, version, code = self.curl(path)
        if version != "2":
            raise Unchecked(f"it speaks HTTP/{version} only")
        self.asked.append((path, code, port))
        self.rows.append(self.sockets.row("server", self.child.pid, path, code, port, self.PORT, since))

    def finish(self):
        self.check(self.asked)


class Prometheus(Web):
    paths = ("/-/ready", "/-/healthy", "/api/v1/status/buildinfo")

    def begin(self):
        server = gotree.program(self.suite, "prometheus")
        self.prefetched = (server,)
        self.certify()
        web = self.write("web.yml", "tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n")
        self.start(server, "--config.file", self.write("prometheus.yml", "global: {}\n"), "--storage.tsdb.path",
                   self.path("data"), "--web.config.file", web, "--web.listen-address", f"127.0.0.1:{self.PORT}")
        self.wait(lambda: self.curl(self.paths[0])[2:] == ["200"])
        self.before = self.counted()

    def counted(self):
        self.curl("/metrics")
        found = re.findall(r'^prometheus_http_requests_total\{code="200",handler="([^"]+)"\} (\d+)$',
                           self.read("body"), re.M)
        return collections.Counter({handler: int(n) for handler, n in found})

    def check(self, rows):
        asked, counted = collections.Counter(path for path, _, _ in rows), self.counted() - self.before
        if any(counted[path] != asked[path] for path in self.paths):
            raise SystemExit(f"prometheus counted {counted}, asked were {asked}")

    def mine(self, ev):
        return super().mine(ev) and ev["path"] != "/metrics"


class Caddy(Web):
    paths = ("/", "/one", "/two")
    tls = False

    def begin(self):
        server = gotree.program(self.suite, "caddy")
        self.prefetched = (server,)
        self.certify()
        site = f"tls {self.path('cert.pem')} {self.path('key.pem')}\n" if self.tls else ""
        config = self.write("Caddyfile", "{\nadmin off\nauto_https off\nservers {\nprotocols h1 h2 h2c\n}\n}\n" +
                            f"http{'s' if self.tls else ''}://localhost:{self.PORT} {{\nbind 127.0.0.1\n{site}" +
                            f"log {{\noutput file {self.path('access')}\nformat json\n}}\nrespond ok\n}}\n")
        self.start(server, "run", "--adapter", "caddyfile", "--config", config)
        self.wait(lambda: self.curl("/first")[2:] == ["200"])

    def logged(self):
        lines = (json.loads(line) for line in self.read("access").splitlines() if line.endswith("}"))
        return {(line["request"]["uri"], str(line["status"]), line["request"]["remote_port"]) for line in lines}

    def check(self, rows):
        helpers.wait_until(lambda: set(rows) <= self.logged(), LAST_S)


class CaddyTls(Caddy):
    tls = True


# ---- gRPC with logs of its own ----

class Grpc(Server):
    """The server and four clients log each call; all connections are there until the end."""

    CLIENTS, KINDS = 4, ("unary", "fail", "missing", "server", "client", "bidi")
    words, variant, address = (), "stripped", "127.0.0.1:7000"

    def begin(self):
        program = gotree.calls(self.suite, self.variant)
        self.prefetched = (program,)
        self.all = []
        for mode in ("server", *["client"] * self.CLIENTS):
            self.all.append(self.run(program, mode))
        self.child = self.all[0]

    def run(self, program, mode):
        child = self.ns.popen(program, "-mode", mode, "-addr", self.address.replace("FOLDER", self.folder), "-log",
                              self.path(f"calls{len(self.all)}"), *self.words, stdin=subprocess.PIPE)
        if not child.stdout.readline().startswith("ready"):
            raise SystemExit(f"{program}: {child.communicate()}")
        return child

    def ask(self, number):
        """A call of each kind by each client."""
        for child in self.all[1:]:
            child.stdin.write("".join(f"run {kind} 1 1\n" for kind in self.KINDS))
            child.stdin.flush()
        for child in self.all[1:]:
            for _ in self.KINDS:
                child.stdout.readline()

    def finish(self):
        self.ends = self.ends_by_ss()
        for child in self.all[::-1]:    # clients first
            child.communicate("quit\n", timeout=helpers.READY_S)
        self.rows = [json.loads(line) for n in range(len(self.all)) for line in self.read(f"calls{n}").splitlines()]

    def ends_by_ss(self):
        """{(pid, local, peer): cookie}"""
        ret = {}
        for line in self.ns.run("ss", "-Htnpe").stdout.splitlines():
            local, peer = line.split()[3:5]
            ret[int(re.search(r"pid=(\d+)", line)[1]), local, peer] = int(re.search(r" sk:([0-9a-f]+)", line)[1], 16)
        return ret

    def socket_of(self, ev):
        ends = shown(ev)[4:6]
        return self.ends.get((ev["proc"]["pid"], *(ends if ev["side"] == "client" else ends[::-1])), "none")

    def judge(self, calls):
        """Texts of what is wrong."""
        wrong = [f"socket {shown(ev)}, by ss {self.socket_of(ev)}" for ev in calls
                 if shown(ev)[6] != self.socket_of(ev)]
        try:
            gocalls.check_grpc(self.rows, calls)
        except AssertionError as e:
            wrong += str(e).splitlines()
        return wrong


class GrpcTls(Grpc):
    words = ("-tls",)


class GrpcCmux(Grpc):
    variant = "cmux"


class GrpcUnix(Grpc):
    address = "unix:FOLDER/sock"

    def ends_by_ss(self):
        """{pid: {inode}}: a client has one."""
        ret = collections.defaultdict(set)
        for line in self.ns.run("ss", "-Hxpe", "state", "established").stdout.splitlines():
            for pid in re.findall(r"pid=(\d+)", line):
                ret[int(pid)].add(int(line.split()[4]))
        return ret

    def socket_of(self, ev):
        inode = ev.get("sock_inode")
        return inode if inode in self.ends[ev["proc"]["pid"]] and shown(ev)[4] == "unix" else "none"


SERVERS = {"etcd": Etcd, "containerd": Containerd, "prometheus": Prometheus, "caddy": Caddy, "caddy-tls": CaddyTls,
           "grpc-tls": GrpcTls, "grpc-unix": GrpcUnix, "grpc-cmux": GrpcCmux}


def judge(server, calls):
    """Texts of what is wrong."""
    if isinstance(server, Grpc):
        return server.judge(calls)
    truth, got = collections.Counter(server.rows), collections.Counter(map(shown, calls))
    return [f"{what} {n} x {row}" for what, some in (("missing", truth - got), ("not true", got - truth))
            for row, n in some.items()]


def run_server(args, suite, name):
    server = SERVERS[name](suite, helpers.Netns())
    sonde = None
    try:
        words = [word for file in server.prefetched for word in ("--prefetch", file)]
        header = ("--header", "x-call") if isinstance(server, Grpc) else ()
        sonde = helpers.Sonde("rpc", "--json", "--agent=no", "--source", "go", "--netns", server.ns.name, *header,
                              *words)
        server.first(sonde)
        before = len(sonde.events)
        distances = args.apart if name == "etcd" else [0]
        for number in range(args.runs * len(distances)):
            server.ask(number)
            time.sleep(distances[number // args.runs])
        server.finish()

        def done():
            return len([ev for ev in list(sonde.events)[before:] if server.mine(ev)])
        try:
            helpers.wait_until(lambda: done() >= len(server.rows), LAST_S)
        except AssertionError:
            pass    # judged below
        events = sonde.finish(timeout=60)
    except Unchecked as e:
        print(f"{suite} {name}: NOT CHECKED: {e}", flush=True)
        return False
    finally:
        server.close()
        if sonde:
            sonde.stop()
    calls = [ev for ev in events[before:] if server.mine(ev)]
    wrong = judge(server, calls)
    notes = {f"missed: {ev['reason']}, {ev.get('conn_type')}" for ev in events if ev["type"] == "rpc.miss"}
    notes |= {f"lost: {ev['lost_by']}" for ev in events
              if ev["type"] == "sonde.ledger" and ev.get("probe") == "gohttp2" and ev.get("lost")}
    bare = sum(shown(ev)[6] in (None, 0) for ev in calls)
    print(f"{suite} {name}: {len(server.rows)} ends of calls, {len(calls)} shown, {bare} without a socket, "
          f"{len(wrong)} wrong", flush=True)
    for line in wrong[:10] + sorted(notes):
        print("    " + line, flush=True)
    return not wrong


def main():
    for sig in (signal.SIGINT, signal.SIGTERM):     # a job in the background ignores the first
        signal.signal(sig, signal.default_int_handler)
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--runs", type=int, default=200)
    p.add_argument("--apart", type=lambda text: [float(word) for word in text.split()], default=[0])
    p.add_argument("--suite", action="append", default=[])
    p.add_argument("servers", nargs="*")
    args = p.parse_args()
    unknown = set(args.servers) - set(SERVERS)
    if unknown:
        p.error(f"{unknown.pop()}: expected {' '.join(SERVERS)}")
    good = [run_server(args, suite, name) for suite in args.suite or gotree.SUITES
            for name in args.servers or SERVERS]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
