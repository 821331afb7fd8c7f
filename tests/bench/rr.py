#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""TCP request/response over veth: untraced, under `sonde monitor -o pcapng`, under `tcpdump -w`, and with the flight
recorder of `sonde capture --keep` armed.

Client and server share one CPU: left alone, the scheduler now pairs and now parts them, and that alone changes
the rate threefold. The watcher may run anywhere. Rounds are interleaved, so that whatever else the machine does
hits all three alike; the figure is the median of the ratios of neighbours. What each wrote is counted too: a
capture that lost half is not cheaper.
"""
import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from veth import Veth, start, stop

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PORT = "5201"


def packets_in(path):
    out = subprocess.run(["tcpdump", "-nn", "-r", path], capture_output=True, text=True, check=False).stdout
    return out.count("\n")


def server_ns(pid):
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
        return int(f.read().split()[0])


def measure(net, binary, seconds, how, out, server):
    """Round trips per second, the CPU time of one (of both ends, with what the packets cost), the watcher's words."""
    watcher = None
    if how == "sonde":
        watcher = start(net.words(1, binary, "monitor", "-i", "rrb", "-o", f"pcapng:{out}", "tcp", "port", PORT),
                        r"\bready\b")
    elif how == "recorder":
        watcher = start(net.words(1, binary, "capture", "--local", "-i", "rrb", "--keep", "5s", "--on",
                                  "drop.reason=NO_SOCKET", "-w", out), r"\bready\b")
    elif how == "tcpdump":
        watcher = start(net.words(1, "tcpdump", "-i", "rrb", "-w", out, "-U", "tcp", "port", PORT), "listening on")
    before = resource.getrusage(resource.RUSAGE_CHILDREN), server_ns(server)
    client = os.path.join(os.path.dirname(binary), "tests/bench/tcp_rr")
    text = subprocess.run(net.words(0, client, "client", net.ips[1], PORT, str(seconds), cpu=0), capture_output=True,
                          text=True, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN), server_ns(server)
    cpu = sum(getattr(after[0], key) - getattr(before[0], key) for key in ("ru_utime", "ru_stime"))
    said = stop(watcher) if watcher else ""
    each = (cpu + (after[1] - before[1]) / 1e9) / (float(text) * seconds)
    return float(text), each, said.strip().splitlines()[-1:] or [""]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("kinds", nargs="*", help="sonde, tcpdump, recorder (default: all)")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    binary = os.path.join(args.build, "sonde")
    kinds = ("untraced", "recorder", "sonde", "tcpdump") if not args.kinds else ("untraced", *args.kinds)
    rates, costs = {kind: [] for kind in kinds}, {kind: [] for kind in kinds}
    net = Veth("rr", "10.99.0")
    server = subprocess.Popen(net.words(1, f"{args.build}/tests/bench/tcp_rr", "server", PORT, cpu=0),
                              stdout=subprocess.DEVNULL)
    counts = {}
    try:
        time.sleep(0.3)
        with tempfile.TemporaryDirectory() as tmp:
            for _ in range(args.rounds):
                for kind in kinds:
                    path = os.path.join(tmp, kind)
                    rate, cpu, said = measure(net, binary, args.seconds, kind, path, server.pid)
                    costs[kind].append(cpu)
                    rates[kind].append(rate)
                    if kind in ("sonde", "tcpdump"):
                        counts[kind] = (packets_in(path), 2 * rate * args.seconds, said[0])
    finally:
        server.kill()
        server.wait()
        net.close()
    for kind in kinds:
        ratio = statistics.median(a / b for a, b in zip(rates[kind], rates["untraced"]))
        print(f"tcp_rr {kind:9} {statistics.median(rates[kind]):9.0f} round trips/s  {ratio:5.2f} of untraced, "
              f"{statistics.median(costs[kind]) * 1e6:5.2f} us of CPU each, "
              f"{statistics.median(a / b for a, b in zip(costs[kind], costs['untraced'])):5.3f} of untraced")
    for kind, (packets, least, said) in counts.items():
        print(f"tcp_rr {kind:9} captured {packets} packets of at least {least:.0f}  {said}")
    if "sonde" in kinds and "tcpdump" in kinds:
        ratio = statistics.median(a / b for a, b in zip(rates["sonde"], rates["tcpdump"]))
        print(f"tcp_rr sonde/tcpdump {ratio:.2f}")
    if "recorder" in kinds:
        ratio = statistics.median(a / b for a, b in zip(costs["recorder"], costs["untraced"]))
        print(f"ratio\tCPU time of a TCP round trip, recorder armed / untraced\t{ratio:.3f}\t<=\t1.05")
    return 0


if __name__ == "__main__":
    sys.exit(main())
