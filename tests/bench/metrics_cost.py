#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU time of an agent with metrics of the host, beyond what it takes beside nothing: with `drops,network,tcp` beside
packets over veth, with `syscalls` beside system calls, with `calls` beside HTTP requests of wrk to nginx; then series
and scrapes in memory (bench_series_cost). What the programs in the kernel take is in the CPU time of those who send.

A rate that this machine does not reach is printed as it is: the kernel adds, so the agent's time does not grow with
packets and system calls. Of calls each is an event: their time is given for 10,000 a second.
"""
import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from http_cost import Place
from veth import Veth

PACKETS, SYSCALLS, CALLS = 100_000, 10_000, 10_000
BOUND_PCT = 0.5
FLOOD = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((sys.argv[1], int(sys.argv[2])))
rate, seconds, made, begin = float(sys.argv[3]), float(sys.argv[4]), 0, time.monotonic()
while time.monotonic() - begin < seconds:
    for _ in range(200):
        try:
            s.send(b"x")
        except OSError:
            pass
    made += 200
    ahead = begin + made / rate - time.monotonic()
    if ahead > 0.001:
        time.sleep(ahead)
print(made)
"""

PORT, CLOSED = 7, 9
READER = f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", {PORT}))
print(flush=True)
b = bytearray(16)
while True:
    s.recv_into(b)
"""


def scrape(path):
    """(seconds, text)"""
    begin = time.perf_counter()
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        text = b"".join(iter(lambda: s.recv(1 << 16), b"")).decode()
    return time.perf_counter() - begin, text


class Agent:
    """With metrics of @families; all its processes are in a session of their own."""

    def __init__(self, build, families):
        self.folder = tempfile.TemporaryDirectory(prefix="sonde-metrics-")
        self.path = os.path.join(self.folder.name, "metrics.sock")
        self.child = subprocess.Popen([os.path.join(build, "sonde"), "agent", "--socket-dir",
                                       os.path.join(self.folder.name, "run"), "--metrics", self.path,
                                       "--metrics-families", families], stderr=subprocess.DEVNULL,
                                      start_new_session=True)
        while not all(f'sonde_metrics_up{{family="{one}"}} 1' in self.text() for one in families.split(",")):
            if self.child.poll() is not None:
                raise SystemExit("the agent did not start")
            time.sleep(0.1)

    def text(self):
        try:
            return scrape(self.path)[1]
        except OSError:
            return ""

    def cpu_s(self):
        ticks = 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                    fields = f.read().rsplit(") ", 1)[1].split()
            except OSError:
                continue
            if int(fields[3]) == self.child.pid:
                ticks += sum(map(int, fields[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def during(self, work):
        """(what @work returns, CPU seconds, seconds)"""
        cpu, begin = self.cpu_s(), time.monotonic()
        made = work()
        return made, self.cpu_s() - cpu, time.monotonic() - begin

    def close(self):
        self.child.terminate()
        self.child.wait(60)
        self.folder.cleanup()


def percent(agent, idle_s, work):
    """(a second, % of a core beyond what an idle agent takes)"""
    _, cpu, took = agent.during(lambda: time.sleep(idle_s))
    idle = cpu / took
    made, cpu, took = agent.during(work)
    return made / took, (cpu / took - idle) * 100, idle * 100


def report(name, result):
    rate, beyond, idle = result
    print(f"figure\t{name}: idle agent\t{idle:.2f}\t% of a core")
    print(f"figure\t{name}: made\t{rate:.0f}\ta second")
    print(f"ratio\t{name}: agent beyond it, % of a core\t{beyond:.2f}\t<=\t{BOUND_PCT}")


def packets(build, seconds, port):
    """To a program that reads them, or to a port where none does: then each is a drop."""
    net, agent = Veth("mc", "10.97.3"), Agent(build, "drops,network,tcp")
    reader = subprocess.Popen(net.words(1, sys.executable, "-c", READER), stdout=subprocess.PIPE)
    reader.stdout.readline()
    try:
        return percent(agent, seconds, lambda: int(subprocess.run(
            net.words(0, sys.executable, "-c", FLOOD, net.ips[1], str(port), str(PACKETS), str(seconds)),
            check=True, capture_output=True, text=True).stdout))
    finally:
        reader.kill()
        reader.wait()
        agent.close()
        net.close()


def syscalls(build, seconds):
    agent = Agent(build, "syscalls")
    try:
        return percent(agent, seconds, lambda: int(subprocess.run(
            [f"{build}/tests/bench/bench_sys_produce", "0", str(int(seconds)), str(SYSCALLS)], check=True,
            capture_output=True, text=True).stdout))
    finally:
        agent.close()


def calls(build, seconds):
    with tempfile.TemporaryDirectory() as folder:
        place, agent = Place(1, folder), Agent(build, "calls")
        try:
            place.load("/")

            def work():
                before = place.requests()
                place.go()
                time.sleep(seconds)
                place.pause()
                time.sleep(0.5)     # the rest of them is decoded
                return place.requests() - before
            return percent(agent, seconds, work)
        finally:
            agent.close()
            place.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--seconds", type=float, default=20)
    args = parser.parse_args()
    report("packets", packets(args.build, args.seconds, PORT))
    rate, beyond, _ = packets(args.build, args.seconds, CLOSED)
    print(f"figure\tpackets that are dropped: made\t{rate:.0f}\ta second")
    print(f"figure\tagent, of each of them\t{beyond / rate * 1e7:.0f}\tns")
    report("system calls", syscalls(args.build, args.seconds))
    if shutil.which("wrk") and shutil.which("nginx"):
        rate, beyond, _ = calls(args.build, args.seconds)
        print(f"figure\tHTTP calls, each seen at both ends: made\t{rate:.0f}\ta second")
        print(f"figure\tagent at {CALLS} of them a second\t{beyond / rate * CALLS:.1f}\t% of a core")
    return subprocess.run([f"{args.build}/tests/bench/bench_series_cost"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
