#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How right the times of `sonde syscalls -c` are, which times one call in four: two of them watch the same calls of
one process, the other times every call. Calls are made in a fixed pattern of four, which a draw that is not random
would be in step with, and one long call comes among thousands of short ones.
"""
import argparse
import json
import subprocess
import sys

import veth

WORK = """
import os, sys, time
zero = os.open("/dev/zero", os.O_RDONLY)
buf = [bytearray(n) for n in (262144, 64, 64, 64)]
print("ready", flush=True)
sys.stdin.readline()
for i in range(%d):
    os.preadv(zero, [buf[i %% 4]], 0)
    os.getppid()
for i in range(12000):
    time.sleep(0)
time.sleep(2)
"""


def watch(build, pid, *more):
    line = [f"{build}/sonde", "syscalls", "--agent=no", "-v", "-c", *more, "-p", str(pid), "-o", "json"]
    veth.receive_sigint()
    child = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = ""
    while "ready" not in said:
        said = child.stderr.readline()
        assert said, "sonde did not get ready"
    return child


def rows(child):
    with veth.ending(child):
        out, _ = child.communicate()
    found = (json.loads(line) for line in out.splitlines())
    return {r["name"]: r for r in found if r.get("type") == "sys.sum"}


def steps(ns):
    """Where a percentile stands: four steps an octave."""
    n = 0
    while ns > 4:
        ns /= 2 ** 0.25
        n += 1
    return n


def compare(name, call, drawn, exact):
    assert call in exact, f"{call} is not among {sorted(exact)}"
    d, e = drawn[call], exact[call]
    print(f"figure\t{name}: timed\t{100 * d['timed'] / d['calls']:.1f}\t% of {d['calls']} calls")
    if call == "getppid":   # what the one watcher costs is in the other's time
        print(f"figure\t{name}: average of the drawn, of all\t{d['avg']} {e['avg']}\tns")
        return
    print(f"check\t{name}: calls and errors\t"
          f"{'exact' if (d['calls'], d['errors']) == (e['calls'], e['errors']) else 'WRONG'}")
    apart = 100 * abs(d["total"] / e["total"] - 1)
    print(f"ratio\t{name}: total, apart from that of all calls, %\t{apart:.2f}\t<=\t5.00")
    for pct in ("p50", "p99"):
        apart = abs(steps(d[pct]) - steps(e[pct]))
        print(f"ratio\t{name}: {pct}, steps of a quarter octave apart\t{apart}\t<=\t1")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--calls", type=int, default=200000)
    args = parser.parse_args()
    with subprocess.Popen([sys.executable, "-c", WORK % args.calls], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as work:
        work.stdout.readline()
        both = [watch(args.build, work.pid), watch(args.build, work.pid, "--times", "all")]
        work.stdin.write("go\n")
        work.stdin.flush()
        work.wait()
        drawn, exact = map(rows, both)
    compare("reads in a pattern", "preadv2", drawn, exact)
    compare("calls without work", "getppid", drawn, exact)
    compare("short sleeps and one of 2 s", "clock_nanosleep", drawn, exact)
    print(f"ratio\tthe longest sleep, of 2 s\t{drawn['clock_nanosleep']['max'] / 2e9:.3f}\t>=\t0.990")


if __name__ == "__main__":
    main()
