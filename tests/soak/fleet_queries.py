#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Questions to the tables of many hosts, timed on a ClickHouse server of its own.
  fleet_queries.py [--sonde build/sonde] [--samples 100000000] [--calls 5000000] [--times 3]
The server fills the tables that `sonde clickhouse init` makes: samples of 100 hosts over an hour, both sides of calls
between 100 hosts, 2,000 a second. Prints the best time of each question and what it may take of so many rows; exit
status 1 if one takes longer, or an answer is wrong."""
import argparse
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))

PART = 5_000_000        # rows of an insert
BEGIN_S = 1767225600    # 2026-01-01
SAMPLES = """INSERT INTO cpu_sample (host, run, seq, ts_ns, time, date, stack_value, thread_name, stack_count,
evt_cpu, proc_pid, proc_start, proc_name, proc_exe, thread_tid)
SELECT concat('host', toString(number % 100)), 1 + number % 100, intDiv(number, 100),
{begin} * 1000000000 + number * {apart},
toDateTime({begin} + intDiv(number * {apart}, 1000000000)), toDate('2026-01-01'), 10101010,
concat('thread', toString(intHash32(number) % 200)), 1, number % 8,
intHash32(number) % 1000, intHash32(number) % 1000, concat('program', toString(intHash32(number) % 50)),
concat('/usr/bin/program', toString(intHash32(number) % 50)), intHash32(number) % 5000
FROM (SELECT number + {first} AS number FROM system.numbers LIMIT {rows})"""
SIDES = ("SELECT method, count() AS n, quantile(0.99)(network_ns) AS p99 FROM {sides} WHERE unknown = '' "
         "GROUP BY method ORDER BY method")
SPAN_S, FULL_SAMPLES, FULL_CALLS = 300, 100_000_000, 5_000_000
MORE = 1.2      # times as long as was measured before, at most
LEAST_S = 0.2   # of a question: below it is the connection and what else runs
MEMORY = 10_000_000_000     # bytes of a question, as servers have it by default; that of the tests has fewer


def questions(args):
    """(name, statement, sum of n over its rows, seconds it may take)"""
    samples, calls = args.samples / FULL_SAMPLES, args.calls / FULL_CALLS
    begin_ns, span = (BEGIN_S + 600) * 10**9, min(args.calls, SPAN_S * 2000)
    sides = subprocess.run([args.sonde, "clickhouse", "sides", "--until", f"@{BEGIN_S + SPAN_S}"], check=True,
                           capture_output=True, text=True).stdout
    return (
        ("samples by program and host", "SELECT proc_name, host, count() AS n, sum(stack_value) FROM cpu_sample "
         "GROUP BY proc_name, host ORDER BY n DESC", args.samples, 2.10 * samples),
        ("one host, 10 minutes", "SELECT proc_name, thread_name, count() AS n, max(time) FROM cpu_sample WHERE "
         f"host = 'host7' AND ts_ns >= {begin_ns} AND ts_ns < {begin_ns + 600 * 10**9} "
         "GROUP BY proc_name, thread_name", args.samples / 600, 0.01),
        (f"both sides of the calls of {SPAN_S} s", SIDES.format(sides=f"({sides})"), span,
         0.47 * span / (SPAN_S * 2000)),
        ("both sides of all calls", SIDES.format(sides="call_sides"), args.calls, 4.23 * calls))


def fill(server, statement, rows, **words):
    for first in range(0, rows, PART):
        server.query(statement.format(begin=BEGIN_S, first=first, rows=min(PART, rows - first), **words), "fleet")


def ask(server, sql, times):
    """(best of the seconds, rows of the answer)"""
    best, answer = float("inf"), []
    for _ in range(times):
        begin = time.monotonic()
        answer = server.rows(sql, "fleet", max_memory_usage=MEMORY)
        best = min(best, time.monotonic() - begin)
    return best, answer


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sonde", default=os.path.join(ROOT, "build", "sonde"))
    parser.add_argument("--samples", type=int, default=FULL_SAMPLES)
    parser.add_argument("--calls", type=int, default=FULL_CALLS)
    parser.add_argument("--times", type=int, default=3)
    args = parser.parse_args()
    os.environ["SONDE"] = args.sonde
    import clickhouse_server
    bad = []
    with tempfile.TemporaryDirectory(prefix="sonde-queries-") as folder:
        server = clickhouse_server.Server(f"{folder}/server")
        try:
            subprocess.run([args.sonde, "clickhouse", "init", server.url("fleet")], check=True,
                           stdout=subprocess.DEVNULL)
            fill(server, SAMPLES, args.samples, apart=3600 * 10**9 // args.samples)
            fill(server, clickhouse_server.CALLS, 2 * args.calls, hosts=100, apart=500_000, late=0)
            for name, sql, wanted, may_s in questions(args):
                took, answer = ask(server, sql, args.times)
                may_s, n = max(may_s * MORE, LEAST_S), sum(int(row[-2]) for row in answer)
                good = abs(n - wanted) <= 1
                print(f"{name}: {took:.3f} s, at most {may_s:.3f}; {n} in {len(answer)} rows of the answer"
                      f"{'' if good else f', WRONG: {wanted}'}", flush=True)
                bad += [name] if not good or took > may_s else []
        finally:
            server.kill()
    print(f"FAILED: {', '.join(bad)}" if bad else "all in time")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
