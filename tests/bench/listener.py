#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU time per million events: sonde monitor that serves Cilium's protocol to a client (rings, decoding, owners,
notifications, gob), against libbpf's perf_buffer with a wake-up per event and a callback that counts. Interleaved
rounds; the figure is the median of the ratios of neighbours.
"""
import argparse
import json
import os
import socket
import statistics
import subprocess
import tempfile
import threading

import veth

ROUNDS = 5
FLOOD = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
r.bind(("127.0.0.1", 0))
for i in range(30000):
    s.sendto(b"x" * 128, r.getsockname())
"""


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def drink(path, got):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        while data := s.recv(1 << 20):
            got.append(len(data))


def serve(binary, ns, folder):
    """Seconds per million events that were delivered."""
    path = os.path.join(folder, "monitor.sock")
    inside = ["nsenter", f"--net=/run/netns/{ns}"]
    veth.receive_sigint()
    child = subprocess.Popen([*inside, binary, "monitor", "--agent=no", "-o", "null", "--serve-cilium", path],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while "ready" not in child.stderr.readline():
        if child.poll() is not None:
            raise SystemExit("sonde did not start")
    got = []
    client = threading.Thread(target=drink, args=(path, got), daemon=True)
    client.start()
    before = cpu_s(child.pid)
    subprocess.run([*inside, "/usr/bin/python3", "-c", FLOOD], check=True)
    with veth.ending(child):
        out = child.stdout.readlines()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = status
    client.join(10)
    ledger = [row for row in map(json.loads, out) if row.get("probe") == "net"][0]
    if ledger["lost"] or not sum(got):
        print(f"note\t{ledger['lost']} of {ledger['seen']} events were lost")
    return (usage.ru_utime + usage.ru_stime - before) / ledger["delivered"] * 1e6


def baseline(build):
    done = subprocess.run([f"{build}/tests/bench/bench_wake_reader", "60000"], check=True, capture_output=True,
                          text=True)
    return float(done.stdout.split()[1]) / 1000


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    build = args.parse_args().build
    ns = f"sd-listener-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", ns], check=True)
    rounds = []
    try:
        subprocess.run(["ip", "-n", ns, "link", "set", "lo", "up"], check=True)
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as folder:
                rounds.append((serve(os.path.join(build, "sonde"), ns, folder), baseline(build)))
    finally:
        subprocess.run(["ip", "netns", "del", ns], check=False)
    served, plain = (statistics.median(column) for column in zip(*rounds))
    print(f"figure\tserved to a client, everything included\t{served:.2f}\tCPU s/M events")
    print(f"figure\tplain reader, woken for each event\t{plain:.2f}\tCPU s/M events")
    print(f"ratio\tserved, over the plain reader\t{statistics.median(a / b for a, b in rounds):.2f}\t<=\t1.00")


main()
