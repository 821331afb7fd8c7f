#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of one sonde for a ClickHouse server of its own (Debian's clickhouse-server). Needs root.
  insert.py [--build build] [--packets 300000] [--rounds 3] [--seconds 3]
A flood of packets in a namespace, and system calls, are recorded and replayed into the server. An event is two rows:
its own, and its record, which is read back. Prints the CPU time that sonde takes for a row beyond the same replay
without an output, that of the server until its merges are over, and rows a second; exit status 1 if a row is missing
or there twice, or a figure is over its bound. The bounds are those of an idle machine."""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))

COLUMNS = 27
ENCODE_US, SERVER_US, SPEED = 0.15, 2.2, 200_000    # of COLUMNS columns, of a row, rows
PACKETS = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
r.bind(("127.0.0.1", 0))
for i in range(%d):
    s.sendto(b"x", r.getsockname())
"""
CALLS = """
import os, time
end = time.monotonic() + %f
while time.monotonic() < end:
    for name in os.listdir("/usr/share/doc")[:200]:
        os.stat(f"/usr/share/doc/{name}")
        fd = os.open("/etc/passwd", os.O_RDONLY)
        os.read(fd, 4096)
        os.close(fd)
"""


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def spent(*words):
    """(CPU seconds, seconds) of a program and its children."""
    before, begin = os.times(), time.monotonic()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4]), time.monotonic() - begin


def record(sonde, command, path, workload):
    one = subprocess.Popen([sonde, "--agent=no", *command, "-v", "--ring-size", "64M", "-o", f"rec:{path}"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while "ready" not in (line := one.stderr.readline()):
        if not line:
            raise SystemExit("sonde did not start")
    workload()
    one.terminate()
    one.stderr.read()
    one.wait()


def encoding(build, path, kind):
    """us of a row, of 27 of its columns."""
    said = subprocess.run([f"{build}/tests/bench/bench_row_cost", path, kind], check=True, capture_output=True,
                          text=True).stdout
    values = {line.split("\t")[1]: float(line.split("\t")[2]) for line in said.splitlines()}
    return values["encoding of a row"], values["encoding of 27 columns, us"]


class Round:
    """One replay into a database of its own."""

    def __init__(self, sonde, server, path, command, db):
        subprocess.run([sonde, "clickhouse", "init", server.url(db)], check=True, stdout=subprocess.DEVNULL)
        base, _ = spent(sonde, command, "-r", path, "-o", "null")
        before = cpu_s(server.child.pid)
        cpu, took = spent(sonde, command, "-r", path, "-o", f"clickhouse:{server.url(db)}")
        inserted = cpu_s(server.child.pid)
        while int(server.rows("SELECT count() FROM system.merges", db)[0][0]):
            time.sleep(0.05)
        merged = cpu_s(server.child.pid)
        counts = server.holes(db)
        self.rows = sum(n for n, _, _ in counts.values())
        self.wrong = any(twice or missing for _, twice, missing in counts.values())
        self.speed = self.rows / took
        self.sonde_us, self.server_us, self.all_us = (
            s / self.rows * 1e6 for s in (cpu - base, inserted - before, merged - before))


def columns_sent(sonde, server, path, command):
    """Of a row, in the mean: inserts leave out those without a value."""
    import clickhouse_server
    sent = {}

    class Notes(clickhouse_server.Proxy):
        def ask(self, path, body, kind):
            insert = re.search(r"INSERT INTO (\w+) \(([^)]*)\)", urllib.parse.unquote_plus(path))
            if insert:
                sent[insert[1]] = insert[2].count(",") + 1
            return super().ask(path, body, kind)

    subprocess.run([sonde, "clickhouse", "init", server.url("columns")], check=True, stdout=subprocess.DEVNULL)
    proxy = Notes(server, [])
    try:
        subprocess.run([sonde, command, "-r", path, "-o", f"clickhouse:{proxy.url('columns')}"], check=True)
    finally:
        proxy.close()
    rows = {table: n for table, (n, _, _) in server.holes("columns").items()}
    server.query("DROP DATABASE columns")
    return sum(n * sent[table] for table, n in rows.items()) / sum(rows.values())


def measure(args, sonde, server, folder, name, command, kind, workload):
    """Its failures."""
    path = f"{folder}/{name}.rec"
    record(sonde, command, path, workload)
    row_us, columns_us = encoding(args.build, path, kind)
    columns = columns_sent(sonde, server, path, command[0])
    rounds = [Round(sonde, server, path, command[0], f"{name}{n}") for n in range(args.rounds)]
    middle = {n: statistics.median(getattr(r, n) for r in rounds)
              for n in ("speed", "server_us", "all_us", "sonde_us")}
    server_us = middle["server_us"] * COLUMNS / columns
    print(f"{name}: {rounds[0].rows} rows, of {columns:.0f} columns with values in the mean")
    at_most = ENCODE_US if kind == "net.trace" else None    # system calls have texts that are made for the row
    print(f"  encoding of {kind}: {row_us:.2f} us a row, {columns_us:.2f} of {COLUMNS} columns"
          f"{f' (at most {at_most})' if at_most else ''}")
    print(f"  sonde: {middle['sonde_us']:.2f} us a row, beyond the replay")
    print(f"  server: {middle['server_us']:.2f} us a row until the answer (at most {SERVER_US}), "
          f"{server_us:.2f} of {COLUMNS} columns; {middle['all_us']:.2f} a row with all merges")
    print(f"  {middle['speed']:.0f} rows a second (at least {SPEED})")
    wrong = any(r.wrong for r in rounds)
    print(f"  each row {'is NOT there once' if wrong else 'is there once'}", flush=True)
    return [f"{name}: {what}" for what, bad in (
        ("encoding", at_most and columns_us > at_most), ("server", middle["server_us"] > SERVER_US),
        ("speed", middle["speed"] < SPEED), ("rows", wrong)) if bad]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--packets", type=int, default=300_000)
    parser.add_argument("--seconds", type=float, default=3, help="of system calls")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    sonde = os.environ["SONDE"] = os.path.join(args.build, "sonde")
    import clickhouse_server
    import helpers
    ns = helpers.Netns()
    with tempfile.TemporaryDirectory(prefix="sonde-insert-") as folder:
        server = clickhouse_server.Server(f"{folder}/server")
        try:
            bad = measure(args, sonde, server, folder, "packets", ["monitor", "-i", "lo", "--netns", ns.path],
                          "net.trace", lambda: ns.python(PACKETS % args.packets, timeout=120))
            bad += measure(args, sonde, server, folder, "calls", ["syscalls", "--where", "proc.name = python3"],
                           "sys.exit", lambda: subprocess.run([sys.executable, "-c", CALLS % args.seconds],
                                                              check=True))
        finally:
            server.kill()
            ns.close()
    print(f"FAILED: {', '.join(bad)}" if bad else "all as it should be")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
