#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU time of nginx for a request (`return 200`, keep-alive) and of PostgreSQL for a transaction (pgbench -S) while
`sonde rpc` watches calls at sockets, over that of neighbouring turns without it; and with empty programs at the same
tracepoints, the least that any can cost.

A round has a turn of each way to watch between two unwatched ones; a turn is a fixed number of requests. The figure
is the median of the rounds' ratios. Servers and clients are Debian's, in a root of their own (tests/soak).
"""
import argparse
import os
import random
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "soak")]
import call_servers as servers  # noqa: E402  the path above is needed first
from twins import Watcher, cpu_s  # noqa: E402

NGINX = """daemon off; user root; worker_processes 1; pid /run/nginx.pid; error_log /dev/null crit;
events { worker_connections 512; }
http { access_log off; keepalive_requests 1000000000; client_body_temp_path /tmp; proxy_temp_path /tmp;
fastcgi_temp_path /tmp; uwsgi_temp_path /tmp; scgi_temp_path /tmp;
server { listen 127.0.0.1:PORT; location / { return 200 "fine"; } } }
"""


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(word) for word in f.read().split()]


class Nginx(servers.Server):
    script, files, turn = "exec /usr/sbin/nginx -c /truth/conf", {"conf": NGINX}, 60000

    def work(self):
        self.run(f"/usr/bin/h2load --h1 -n {self.turn} -c 32 -t 1 http://127.0.0.1:{self.port}/")

    def watched(self):
        return children(self.child.pid)

    def cpu_s(self):
        return sum(cpu_s(pid) for pid in self.watched())


class Postgres(servers.Pgbench):
    turn = 60000

    def work(self):
        before = len(children(self.child.pid))
        self.run(f"{self.program} {self.port} -S -c 8 -j 1 -t {self.turn // 8} postgres")
        while len(children(self.child.pid)) > before:
            time.sleep(0.01)

    def watched(self):
        return [self.child.pid]

    def cpu_s(self):
        """Of the backends that have ended."""
        with open(f"/proc/{self.child.pid}/stat", encoding="ascii") as f:
            words = f.read().rpartition(")")[2].split()
        return (int(words[13]) + int(words[14])) / os.sysconf("SC_CLK_TCK")


# name -> command
def ways(server, source, build):
    sonde = [os.path.join(build, "sonde"), "rpc", "--agent=no", "-o", "null", "--source", source]
    tree = ["--pid", ",".join(map(str, server.watched()))] if isinstance(server, Nginx) else []
    empty = os.path.join(build, "tests", "bench", "bench_empty_tp")
    return {"empty programs": [empty, "sock_send_length", "sock_recv_length"],
            "no process selected": [*sonde, "--pid", "1"],
            "connections of no interest": [*sonde, "--port", "1"],
            "watched": [*sonde, *tree, "--port", str(server.port)]}


def turn(server, command=None):
    watcher = Watcher(command, "ready") if command else None
    before = server.cpu_s()
    server.work()
    took = server.cpu_s() - before
    if watcher:
        watcher.stop()
    return took


def measure(make, source, build, rounds, bounds):
    server, ratios, plain = make(), {}, []
    try:
        named = ways(server, source, build)
        turn(server)
        before = turn(server)
        for _ in range(rounds):
            took = {name: turn(server, named[name]) for name in random.sample(sorted(named), len(named))}
            after = turn(server)
            for name, seconds in took.items():
                ratios.setdefault(name, []).append(seconds * 2 / (before + after))
            ratios.setdefault("nothing", []).append(after / before)
            plain.append(after)
            before = after
    finally:
        server.close()
    what = f"{make.__name__.lower()}, {source}"
    print(f"figure\t{what}: unwatched\t{statistics.median(plain) / server.turn * 1e6:.2f}\tus a request")
    for name, values in ratios.items():
        low, high = statistics.quantiles(values, n=4)[::2]
        value = f"{what}: {name}\t{statistics.median(values):.3f}"
        print(f"ratio\t{value}\t<=\t{bounds[name]}" if name in bounds else f"figure\t{value}\t")
        print(f"note\thalf of {len(values)} rounds between {low:.3f} and {high:.3f}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--rounds", type=int, default=12)
    p.add_argument("--only", choices=["nginx", "postgres"])
    args = p.parse_args()
    if args.only != "postgres":
        measure(Nginx, "http", args.build, args.rounds, {
            "no process selected": 1.03, "connections of no interest": 1.03, "watched": 1.15})
    if args.only != "nginx":
        measure(Postgres, "postgresql", args.build, args.rounds, {"watched": 1.05})


if __name__ == "__main__":
    main()
