#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What sonde top costs beside a busy program: system calls summed by the kernel, against the same view of single
calls (a filter by latency needs them). CPU time of the reader, of the same number of calls a second.
"""
import argparse
import json
import os
import re
import signal
import subprocess

import veth

MAKER = "bench_sys_produ"      # its command name, cut by the kernel
BOUND = 0.25
LEDGER = re.compile(r"sonde: sys: seen \d+ = delivered \d+, filtered \d+, sampled \d+, lost (\d+)")


def measure(build, words, seconds, rate):
    """Calls that were made and counted, events that were lost, the reader's CPU time."""
    line = [f"{build}/sonde", "top", "syscall-processes", f"proc.name={MAKER}{words}", "-b", "--json", "-v",
            "--agent=no"]
    veth.receive_sigint()
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as top:
        while "ready" not in (said := top.stderr.readline()):
            assert said, "sonde did not get ready"
        before = cpu_s(top.pid)
        made = int(subprocess.run([f"{build}/tests/bench/bench_sys_produce", "0", str(seconds), str(rate)],
                                  stdout=subprocess.PIPE, check=True, text=True).stdout)
        spent = cpu_s(top.pid) - before
        top.send_signal(signal.SIGINT)
        out, err = top.communicate()
    rows = [row for row in map(json.loads, out.splitlines()) if row["final"]]
    return made, sum(row["calls"] for row in rows), int(LEDGER.search(err).group(1)), spent


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--rate", type=int, default=200000)
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    cost = {}
    for name, words in (("sums", ""), ("single calls", " and syscall.latency>=0")):
        made, counted, lost, spent = measure(build, words, args.seconds, args.rate)
        cost[name] = spent * 1e9 / made
        print(f"figure\t{name}: reader's CPU time\t{cost[name]:.0f}\tns a call")
        print(f"figure\t{name}: lost\t{lost}\tcalls")
        print(f"check\t{name}: every call counted or lost\t{'right' if counted + lost >= made else 'WRONG'}")
    print(f"ratio\tsums against single calls\t{cost['sums'] / cost['single calls']:.3f}\t<=\t{BOUND}")


if __name__ == "__main__":
    main()
