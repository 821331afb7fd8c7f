#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""TCP request/response over veth: untraced, under `sonde monitor -o pcapng` and under `tcpdump -w`.

Client and server share one CPU: left alone, the scheduler now pairs and now parts them, and that alone changes
the rate threefold. The watcher may run anywhere. Rounds are interleaved, so that whatever else the machine does
hits all three alike; the figure is the median of the ratios of neighbours. What each wrote is counted too: a
capture that lost half is not cheaper.
"""
import argparse
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PORT = "5201"


def sh(*words):
    subprocess.run(words, check=True, capture_output=True)


class Veth:
    """Two namespaces joined by a veth pair."""

    def __init__(self):
        self.names = [f"sd-rr-{os.getpid()}-{end}" for end in "ab"]
        for name in self.names:
            sh("ip", "netns", "add", name)
        sh("ip", "link", "add", "rra", "netns", self.names[0], "type", "veth", "peer", "rrb", "netns", self.names[1])
        for name, dev, ip in zip(self.names, ("rra", "rrb"), ("10.99.0.1", "10.99.0.2")):
            sh("ip", "-n", name, "addr", "add", f"{ip}/24", "dev", dev)
            sh("ip", "-n", name, "link", "set", dev, "up")
            sh("ip", "-n", name, "link", "set", "lo", "up")

    def words(self, end, *words):
        return ["nsenter", f"--net=/run/netns/{self.names[end]}", *words]

    def pinned(self, end, *words):
        return self.words(end, "taskset", "-c", "0", *words)

    def close(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def start(words, ready):
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             text=True)
    for line in child.stderr:
        if re.search(ready, line):
            return child
    raise SystemExit(f"{words[0]} did not start")


def stop(child):
    child.send_signal(signal.SIGINT)
    rest = child.stderr.read()
    child.wait(20)
    return rest


def packets_in(path):
    out = subprocess.run(["tcpdump", "-nn", "-r", path], capture_output=True, text=True, check=False).stdout
    return out.count("\n")


def measure(net, binary, seconds, how, out):
    watcher = None
    if how == "sonde":
        watcher = start(net.words(1, binary, "monitor", "-i", "rrb", "-o", f"pcapng:{out}", "tcp", "port", PORT),
                        r"\bready\b")
    elif how == "tcpdump":
        watcher = start(net.words(1, "tcpdump", "-i", "rrb", "-w", out, "-U", "tcp", "port", PORT), "listening on")
    client = os.path.join(os.path.dirname(binary), "tests/bench/tcp_rr")
    text = subprocess.run(net.pinned(0, client, "client", "10.99.0.2", PORT, str(seconds)), capture_output=True,
                          text=True, check=True).stdout
    said = stop(watcher) if watcher else ""
    return float(text), said.strip().splitlines()[-1:] or [""]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2)
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    binary = os.path.join(args.build, "sonde")
    kinds = ("untraced", "sonde", "tcpdump")
    rates = {kind: [] for kind in kinds}
    net = Veth()
    server = subprocess.Popen(net.pinned(1, f"{args.build}/tests/bench/tcp_rr", "server", PORT),
                              stdout=subprocess.DEVNULL)
    counts = {}
    try:
        time.sleep(0.3)
        with tempfile.TemporaryDirectory() as tmp:
            for _ in range(args.rounds):
                for kind in kinds:
                    path = os.path.join(tmp, kind)
                    rate, said = measure(net, binary, args.seconds, kind, path)
                    rates[kind].append(rate)
                    if kind != "untraced":
                        counts[kind] = (packets_in(path), 2 * rate * args.seconds, said[0])
    finally:
        server.kill()
        server.wait()
        net.close()
    for kind in kinds:
        ratio = statistics.median(a / b for a, b in zip(rates[kind], rates["untraced"]))
        print(f"tcp_rr {kind:9} {statistics.median(rates[kind]):9.0f} round trips/s  {ratio:5.2f} of untraced")
    for kind, (packets, least, said) in counts.items():
        print(f"tcp_rr {kind:9} captured {packets} packets of at least {least:.0f}  {said}")
    ratio = statistics.median(a / b for a, b in zip(rates["sonde"], rates["tcpdump"]))
    print(f"tcp_rr sonde/tcpdump {ratio:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
