#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers of `agent --hubble` to a client beside 16 clients that follow all flows and read none. Needs root.
  hubble_clients.py [--build build] [--rounds 20] [--requests 300] [--rate 2000] [--flows 300000]
Rounds with and without them alternate. Prints p50 and p99 of both and the ratio of p99 with its 95 % interval
(bootstrap over rounds), then the CPU time of a flow; exit status 1 if the interval lies above 1.1, or a flow takes
more than 3 us."""
import argparse
import os
import random
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STOPPED = 16
LIMIT = 1.1
FLOW_US = 3.0
KEPT = 4095         # flows that the server has at most
TRAFFIC = """
import socket, sys, time
rate = int(sys.argv[1])
r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
r.bind(("127.0.0.1", 0))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
begin = time.monotonic()
for i in range(1 << 60):
    s.sendto(b"x", ("127.0.0.1", 9000 + i % 100) if i % 2 else r.getsockname())
    ahead = begin + i / rate - time.monotonic()
    if ahead > 0.002:
        time.sleep(ahead)
"""


def ask(observer, requests):
    """Latencies of so many requests for the newest 20 flows."""
    out = []
    for _ in range(requests):
        begin = time.perf_counter_ns()
        got = sum(1 for _ in observer.get_flows(number=20))
        out.append(time.perf_counter_ns() - begin)
        assert got
    return out


def quantile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def pooled(rounds, part=0.99):
    return quantile([v for one in rounds for v in one], part)


def interval(pairs, draws=2000):
    """Of the ratio of p99; pairs of rounds are drawn again."""
    rng = random.Random(1)
    ratios = []
    for _ in range(draws):
        some = [rng.choice(pairs) for _ in pairs]
        ratios.append(pooled([b for _, b in some]) / pooled([a for a, _ in some]))
    return quantile(ratios, 0.025), quantile(ratios, 0.975)


def follow(path, hubble_client):
    """Clients that have begun to follow and read no flow; their windows do not grow."""
    clients = []
    for i in range(STOPPED):
        one = hubble_client.Observer(f"unix:{path}", bdp_probe=0, lookahead_bytes=65536, max_frame_size=16384 + i)
        stream = one.get_flows(follow=True)
        stream.initial_metadata()
        clients.append((one, stream))
    return clients


def measure(path, args, hubble_client):
    """Pairs of rounds: alone, beside the stopped clients."""
    pairs = []
    with hubble_client.Observer(f"unix:{path}") as healthy:
        ask(healthy, args.requests)
        seen = 0
        for i in range(args.rounds):
            both = {}
            for beside in (i % 2, 1 - i % 2):
                clients = follow(path, hubble_client) if beside else []
                if clients:     # more flows than a window and a queue hold
                    seen = healthy.observe("ServerStatus", "ServerStatusResponse").seen_flows
                    while healthy.observe("ServerStatus", "ServerStatusResponse").seen_flows < seen + 4096:
                        time.sleep(0.05)
                both[beside] = ask(healthy, args.requests)
                for one, stream in clients:
                    stream.cancel()
                    one.channel.close()
            pairs.append((both[0], both[1]))
    return pairs


def cpu_us(pid):
    with open(f"/proc/{pid}/schedstat", encoding="utf-8") as f:
        return int(f.read().split()[0]) / 1000


def cost(args, hubble_client, folder):
    """us of the server's CPU time for a flow that it takes from a recording, often, and sends to a client."""
    path = os.path.join(folder, "replay.sock")
    one = subprocess.Popen([os.path.join(args.build, "tests/unit/hubble-replay"),
                            os.path.join(ROOT, "tests/data/rec/flows.rec"), path, "400"], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, text=True)
    begin = int(one.stdout.readline().split()[1])
    one.stdin.write("go\n")
    one.stdin.flush()
    taken = int(one.stdout.readline().split()[1]) - begin
    with hubble_client.Observer(f"unix:{path}") as observer:
        taken /= observer.observe("ServerStatus", "ServerStatusResponse").seen_flows
        before, sent = cpu_us(one.pid), 0
        while sent < args.flows:
            sent += sum(1 for _ in observer.stream("/observer.Observer/GetFlows", "Empty",
                                                   hubble_client.message("GetFlowsRequest", number=KEPT)))
        used = cpu_us(one.pid) - before
    one.stdin.close()
    one.wait()
    print(f"us of CPU time of a flow: {taken:.2f} to take it, {used / sent:.2f} to send it ({sent} sent)")
    return taken + used / sent


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--rate", type=int, default=2000)
    parser.add_argument("--flows", type=int, default=300_000)
    args = parser.parse_args()
    os.environ["SONDE"] = os.path.join(args.build, "sonde")
    sys.path[:0] = [os.path.join(ROOT, "tests", name) for name in ("e2e", "e2e/cilium")]
    import helpers
    import hubble_client
    ns = helpers.Netns()
    with tempfile.TemporaryDirectory(prefix="sonde-hubble-") as folder:
        try:
            agent = helpers.Sonde("agent", "--hubble", "--socket-dir", folder, netns=ns)
            traffic = ns.popen("/usr/bin/python3", "-c", TRAFFIC, str(args.rate))
            pairs = measure(os.path.join(folder, "hubble.sock"), args, hubble_client)
            traffic.kill()
            traffic.wait()
            agent.stop()
            flow_us = cost(args, hubble_client, folder)
        finally:
            ns.close()
    alone, beside = [a for a, _ in pairs], [b for _, b in pairs]
    for name, rounds in ("alone", alone), (f"beside {STOPPED} stopped clients", beside):
        print(f"{name}: p50 {pooled(rounds, 0.5) / 1e6:.3f} ms, p99 {pooled(rounds) / 1e6:.3f} ms, "
              f"{sum(map(len, rounds))} requests")
    low, high = interval(pairs)
    print(f"p99 {pooled(beside) / pooled(alone):.3f} times (95 %: {low:.3f} to {high:.3f})")
    return 1 if low > LIMIT or flow_us > FLOW_US else 0


if __name__ == "__main__":
    sys.exit(main())
