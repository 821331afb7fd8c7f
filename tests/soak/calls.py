#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""calls.py [--calls N] [--connections N] [--sonde FILE] [PROTOCOL...]: is each call shown once, as what it was?

Real servers of Debian and clients that know the answers: N calls (100,000) over N connections (64) at once, each kind
of operation and of error in it. The client's counts must equal those of the server; the calls that `sonde rpc` shows
of either end must be these, with the right operation, resource and status. A call that is not shown so must be one
whose event says that a part of it is unknown (cut, lost), or be in a record that the ledger counts as lost.

  http http-pipelined http2 http2-alone http2-tls grpc postgresql postgresql-extended postgresql-prepared pgbench
  pgbench-tls mysql mysql-prepared redis redis-pipelined redis-benchmark dns dns-tcp    the servers' protocols
  node java php ruby apache lighttpd haproxy varnish squid dnsmasq  further programs, by their own logs; by name only
  http-deep apache-deep lighttpd-deep haproxy-deep varnish-deep redis-deep postgresql-deep pgbench-pipeline mysql-deep
  memcached-deep    up to 200 requests at once, also as a connection's first; by name only
  tls tls-loop      over OpenSSL, by 16 threads and by event loops: none may be on a wrong connection
  latency           nginx, by the client's clock and by its own $request_time; needs an idle machine
  links links-loop links-header     a server that makes two calls for each it serves, by a thread for each connection,
                    an event loop, and with X-Request-Id passed on: no parent may be wrong
  memory            65,536 open connections with two calls each: at most 64 MiB; then half a request each, which the
                    parsers keep as far as their own limit reaches
  noise             ten times as many connections of random, TLS, ssh and compressed bytes: no call may be shown

Without a PROTOCOL all of them. A line each; exit status 1 if a sum does not close.
"""
import argparse
import collections
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), folder) for folder in ("e2e", "e2e/rpc")]
sys.dont_write_bytecode = True
import call_clients as clients  # noqa: E402  the paths above are needed first
import call_grpc  # noqa: E402
import call_latency  # noqa: E402
import call_links  # noqa: E402
import call_memory  # noqa: E402
import call_noise  # noqa: E402
import call_programs  # noqa: E402
import call_servers as servers  # noqa: E402

READY_S = 120
COUNTED_S = 5
TLS_CALLS = 100     # of a connection
UNKNOWN_TLS = servers.UNKNOWN_TLS

# protocol: server, client, source, what stands before the port, turns of a connection
RUNS = {
    "http": (servers.Nginx, clients.Http, "http", "", 500),
    "http-pipelined": (servers.Nginx, clients.HttpPipelined, "http", "", 100),
    "http2": (servers.NginxH2, None, "http2", "", 0),
    "http2-alone": (servers.NginxH2Alone, None, "http2", "", 0),
    "http2-tls": (servers.NginxH2Tls, None, "http2", "", 0),
    "grpc": (call_grpc.Grpc, None, "http2", "", 0),
    "postgresql": (servers.Postgres, clients.Postgresql, "postgresql", "", 500),
    "postgresql-extended": (servers.Postgres, clients.PostgresqlExtended, "postgresql", "", 500),
    "postgresql-prepared": (servers.Postgres, clients.PostgresqlPrepared, "postgresql", "", 500),
    "pgbench": (servers.Pgbench, None, "postgresql", "", 0),
    "pgbench-tls": (servers.PgbenchTls, None, "postgresql", "", 0),
    "mysql": (servers.Mariadb, clients.Mysql, "mysql", "", 500),
    "mysql-prepared": (servers.MariadbPrepared, clients.MysqlPrepared, "mysql", "", 500),
    "redis": (servers.RedisServer, clients.Redis, "redis", "", 500),
    "redis-pipelined": (servers.RedisServer, clients.RedisPipelined, "redis", "", 100),
    "redis-benchmark": (servers.RedisBenchmark, None, "redis", "", 0),
    "dns": (servers.Unbound, clients.Dns, "dns", "dns:", 100),
    "dns-tcp": (servers.Unbound, clients.DnsTcp, "dns", "dns:", 100),
}
DEEP = {
    "http-deep": (servers.Nginx, clients.HttpDeep, "http"),
    "apache-deep": (call_programs.Apache, clients.HttpDeep, "http"),
    "lighttpd-deep": (call_programs.Lighttpd, clients.HttpDeep, "http"),
    "haproxy-deep": (call_programs.Haproxy, clients.HttpDeep, "http"),
    "varnish-deep": (call_programs.Varnish, clients.HttpDeep, "http"),
    "redis-deep": (servers.RedisServer, clients.RedisDeep, "redis"),
    "postgresql-deep": (servers.Postgres, clients.PostgresqlDeep, "postgresql"),
    "pgbench-pipeline": (servers.PgbenchPipeline, None, "postgresql"),
    "mysql-deep": (servers.Mariadb, clients.MysqlDeep, "mysql"),
    "memcached-deep": (call_programs.Memcached, clients.MemcachedDeep, "memcached"),
}
RUNS.update({name: (*one, "", 3) for name, one in DEEP.items()})
RUNS.update({name: (one, one.client, one.source, "dns:" if one.source == "dns" else "", one.reopen)
             for name, one in call_programs.PROGRAMS.items()})


# ---- sonde ----

class Sonde:
    """A run of `sonde rpc`; its events are kept in a file."""

    def __init__(self, binary, *words):
        self.file = tempfile.NamedTemporaryFile(prefix="sd-calls-", suffix=".json")
        self.child = subprocess.Popen([binary, "rpc", "--json", "-v", "--agent=no", *words], stdout=self.file,
                                      stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.text = ""
        deadline = time.monotonic() + READY_S
        while "ready" not in self.text:
            line = self.child.stderr.readline()
            self.text += line
            if not line or time.monotonic() > deadline:
                raise SystemExit("sonde does not start: " + self.text)

    def finish(self):
        """Its calls; @lost: records that its ledger counts as lost."""
        self.child.send_signal(signal.SIGINT)
        self.text += self.child.communicate(timeout=300)[1]
        ledger = re.search(r"sonde: call: seen (\d+) .*", self.text)
        self.lost = sum(int(n) for n in re.findall(r"lost (\d+)", ledger[0])) if ledger else 0
        self.records = f"{self.lost} of {ledger[1] if ledger else 0} records lost"
        with open(self.file.name, encoding="utf-8") as f:
            calls = [json.loads(line) for line in f if '"rpc.call"' in line]
        self.file.close()
        return calls


# ---- calls of servers ----

def key_of(ev):
    if ev["kind"] == "grpc":
        return "POST", ev.get("path"), ev.get("status", "")
    if ev["kind"] in ("http", "http2"):
        return ev.get("method"), ev.get("path"), str(ev.get("http_status"))
    resource = ev.get("resource", "") if ev["kind"] not in ("redis", "memcached") else ""
    return ev.get("operation", ""), resource, ev.get("status", "")


def is_told(ev):
    """Does it say that a part of it is unknown?"""
    return bool(ev.get("incomplete")) or ev["end"] in ("lost", "evicted", "connection")


class Side:
    """The calls of one end, against the truth."""

    def __init__(self, calls, truth):
        self.told = [ev for ev in calls if is_told(ev)]
        self.shown = collections.Counter(key_of(ev) for ev in calls if not is_told(ev))
        wrong = self.shown - truth
        self.wrong, self.right = sum(wrong.values()), sum((self.shown & truth).values())
        self.examples = [f"{n} x {' '.join(map(str, key))}" for key, n in wrong.most_common(5)]
        left = truth - self.shown
        self.missing = sum(left.values()) - len(self.told)
        if self.missing > 0:
            self.examples += [f"missing {n} x {' '.join(map(str, key))}" for key, n in left.most_common(5)]

    def closes(self, lost):
        return not self.wrong and 0 <= self.missing <= lost

    def __str__(self):
        return f"{self.right} right, {self.wrong} wrong, {len(self.told)} told as cut, {self.missing} missing"


def counts_of(server, done):
    """(the server's counts, the client's in its terms). Servers count behind the answer."""
    expected, deadline = server.compared(done), time.monotonic() + COUNTED_S
    while sum((counted := server.counts()).values()) < sum(expected.values()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return counted, expected


def run_server(args, name):
    make, client, source, before, reopen = RUNS[name]
    server = make()
    try:
        sonde = Sonde(args.sonde, "--source", source, "--port", f"{before}{server.port}", *args.more)
        begin = time.monotonic()
        done = server.generate(args.connections, args.calls) if not client else clients.generate(
            client, server.port, args.connections, args.calls, reopen)
        seconds = time.monotonic() - begin
        time.sleep(1)       # the server's last answers are read and its ends seen
        calls = [ev for ev in sonde.finish() if server.port in (ev["conn"].get("sport"), ev["conn"].get("dport"))]
        counted, expected = counts_of(server, done)
    finally:
        server.close()
    sides = {side: Side([ev for ev in calls if ev["side"] == side], done) for side in ("client", "server")}
    short = sum((expected - counted).values())
    same = counted == expected or (not counted - expected and
                                   short <= getattr(server, "uncounted_share", 0) * sum(done.values()))
    generator = "" if same else (
        f"; THE SERVER COUNTED OTHERWISE: {(counted - expected).most_common(3)}, "
        f"{(expected - counted).most_common(3)}")
    print(f"{name}: {sum(done.values())} calls, {sum(done.values()) / seconds:.0f}/s; " +
          "; ".join(f"{side}: {one}" for side, one in sides.items()) +
          f"; {sonde.records}{generator}", flush=True)
    for side, one in sides.items():
        for text in one.examples:
            print(f"    {side}: {text}")
        for ev in one.told[:3] if args.verbose else []:
            print(f"    {side}: told: {json.dumps(ev)}")
    of_record = max(getattr(client, "turn", 1), getattr(server, "streams", 1))     # requests
    unseen = sonde.lost * of_record + getattr(server, "unknown_share", 0) * sum(done.values())
    return not generator and all(one.closes(unseen) for one in sides.values())


# ---- TLS ----

def run_tls(args, name):
    import test_rpc_tls as tls
    how = name.partition("-")[2] or "threads"
    server = subprocess.Popen([sys.executable, "-c", tls.SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True)
    try:
        server.stdin.write(repr((how, tls.DATA)) + "\n")
        server.stdin.flush()
        port = int(server.stdout.readline())
        sonde = Sonde(args.sonde, "--source", "socket", "--port", str(port), *args.more)
        begin, connections = time.monotonic(), args.calls // TLS_CALLS
        asked_by = tls.run_client(how, port, connections, TLS_CALLS, timeout=1200)
        seconds = time.monotonic() - begin
        time.sleep(1)
        calls = sonde.finish()
        ports = {ev["conn"]["sport"] for ev in calls if ev["proc"]["pid"] == asked_by}
        calls = [ev for ev in calls if ev["conn"]["sport"] in ports]
    finally:
        server.kill()
        server.wait()
    total, ok = connections * TLS_CALLS, True
    text = f"{name}: {total} calls, {total / seconds:.0f}/s"
    for side in ("client", "server"):
        mine = [ev for ev in calls if ev["side"] == side and not is_told(ev)]
        told = sum(ev["side"] == side and is_told(ev) for ev in calls)
        elsewhere = sum(ev["path"].split("/")[1] != str(ev["conn"]["sport"]) for ev in mine)
        status = sum(ev["http_status"] != (404 if int(ev["path"].split("/")[2]) % 2 else 200) for ev in mine)
        once = len({(ev["conn"]["sport"], ev["conn"]["cookie"] if "cookie" in ev["conn"] else 0, ev["path"],
                     ev.get("opened")) for ev in mine})
        unknown = total - len(mine)
        text += f"; {side}: {len(mine)} shown, {elsewhere} on a wrong connection, {status} with a wrong status, "\
            f"{len(mine) - once} twice, {told} told as cut, {unknown - told} missing"
        ok = ok and not elsewhere and not status and once == len(mine) and 0 <= unknown <= total * UNKNOWN_TLS
    print(f"{text}; {sonde.records}", flush=True)
    return ok


# ---- latency, links, noise ----

def run_latency(args, name):
    server = call_latency.Nginx()
    try:
        sonde = Sonde(args.sonde, "--source", "http", "--port", str(server.port), *args.more)
        took = call_latency.ask(server.port, args.calls // 20)
        time.sleep(1)
        calls = [ev for ev in sonde.finish() if not is_told(ev)]
        text, ok = call_latency.judge(calls, took, server.times())
    finally:
        server.close()
    print(f"{name}: {text}; {sonde.records}", flush=True)
    return ok


def run_links(args, name):
    with call_links.Servers(name.partition("-")[2] or "threads") as pair:
        sonde = Sonde(args.sonde, "--source", "http", "--port", f"{pair.front},{pair.back}", *args.more)
        begin, incoming = time.monotonic(), args.calls // 2
        clients.generate(call_links.Asker, pair.front, args.connections, incoming, 200)
        seconds = time.monotonic() - begin
        time.sleep(1)
        calls = sonde.finish()
    total, counts = 2 * incoming, call_links.judge(calls, pair)
    print(f"{name}: {total} calls of {incoming}, {total / seconds:.0f}/s; parents: " +
          ", ".join(f"{n} {what}" for what, n in sorted(counts.items())) + f"; {sonde.records}", flush=True)
    return not counts["wrong"] and (sonde.lost > 0 or counts["seen"] == total)


def run_memory(args, name):
    many = call_memory.Many()
    try:
        sonde = Sonde(args.sonde, "--source", "http", "--pid", ",".join(map(str, many.pids)), *args.more)
        sizes = [call_memory.resident_kib(sonde.child.pid)]
        for word in ("call", "call", "stall"):
            many.step(word)
            time.sleep(1)       # the reader's deadline
            sizes.append(call_memory.resident_kib(sonde.child.pid))
        calls = [ev for ev in sonde.finish() if not is_told(ev)]
    finally:
        many.close()
    grown = [kib - sizes[0] for kib in sizes[1:]]
    print(f"{name}: {call_memory.CONNECTIONS} connections, {len(calls)} calls shown; " +
          ", ".join(f"{kib / 1024:.1f} MiB with {what}" for kib, what in zip(
              grown, ("a call each", "two", "half a request behind them"))) +
          f", beside {sizes[0] / 1024:.1f} MiB at the start; {sonde.records}", flush=True)
    return max(grown[:2]) <= call_memory.LIMIT_KIB and len(calls) == 2 * call_memory.CONNECTIONS


def run_noise(args, _name):
    n = args.calls * 10
    children = call_noise.start(n, clients.PROCESSES)
    sonde = Sonde(args.sonde, "--source", "socket", *itertools.chain(*(("--pid", str(c.pid)) for c in children)),
                  *args.more)
    begin = time.monotonic()
    call_noise.go(children)
    seconds = time.monotonic() - begin
    calls = sonde.finish()
    print(f"noise: {n} connections, {n / seconds:.0f}/s; {len(calls)} calls shown; {sonde.records}",
          flush=True)
    for ev in calls[:5]:
        print("    " + json.dumps(ev))
    return not calls


OTHERS = {"latency": run_latency, "tls": run_tls, "tls-loop": run_tls, "links": run_links, "links-loop": run_links,
          "links-header": run_links, "memory": run_memory, "noise": run_noise}


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)    # a job in the background ignores it
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--calls", type=int, default=100000)
    p.add_argument("--connections", type=int, default=64)
    p.add_argument("--sonde", default=os.environ.get("SONDE", os.path.join(ROOT, "build", "sonde")))
    p.add_argument("--verbose", action="store_true")
    p.add_argument("--more", default="", help="further words of sonde's command line")
    p.add_argument("protocols", nargs="*")
    args = p.parse_args()
    args.more = args.more.split()
    names = args.protocols or [name for name in [*RUNS, *OTHERS] if name not in {**call_programs.PROGRAMS, **DEEP}]
    unknown = [name for name in names if name not in RUNS and name not in OTHERS]
    if unknown:
        p.error(f"{unknown[0]}: expected {' '.join([*RUNS, *OTHERS])}")
    bad = [name for name in names if not (run_server if name in RUNS else OTHERS[name])(args, name)]
    if bad:
        print("DOES NOT CLOSE: " + ", ".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
