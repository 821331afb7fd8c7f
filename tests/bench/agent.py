#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent with many clients, at 100,000 system calls a second through the real probe.

1. neighbours: 40 clients that read, alone and beside 16 that are stopped and 8 that read a byte a second. How much
   longer the 40 wait, what the agent's memory grows to, and whether the books of each of the 64 are exact.
2. fan-out: one client and sixteen. Nothing may be lost; how much more CPU time the agent takes.
3. baseline: CPU time per million events, against libbpf's perf_buffer with a wake-up per event.

Rounds are interleaved; figures are medians, ratios those of neighbours.
"""
import argparse
import atexit
import json
import os
import signal
import statistics
import subprocess
import tempfile
import time

RATE = 100000
QUEUE = 4 << 20
COMM = f"sb{os.getpid()}"    # of the producer: nobody else's calls are counted
WORDS = ["probe=sys", "option=--syscall=getppid", f"comm={COMM}"]


class Agent:
    def __init__(self, build, folder):
        self.sock = os.path.join(folder, "run", "read.sock")
        self.child = subprocess.Popen([f"{build}/sonde", "agent", "--socket-dir", os.path.join(folder, "run"),
                                       "--max-subscriptions", "64"], stderr=subprocess.PIPE, text=True)
        atexit.register(self.child.terminate)
        while "ready" not in self.child.stderr.readline():
            if self.child.poll() is not None:
                raise SystemExit("the agent did not start")

    def cpu_s(self):
        with open(f"/proc/{self.child.pid}/schedstat", encoding="ascii") as f:
            return int(f.read().split()[0]) / 1e9

    def memory(self):
        """The most that was ever resident."""
        with open(f"/proc/{self.child.pid}/status", encoding="ascii") as f:
            return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmHWM:"))

    def close(self):
        self.child.send_signal(signal.SIGTERM)
        self.child.wait(60)


class Clients:
    def __init__(self, build, agent, count, how):
        self.child = subprocess.Popen([f"{build}/tests/bench/bench_agent_clients", agent.sock, str(count), how,
                                       *WORDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.child.stdout.readline() != "ready\n":
            raise SystemExit("clients did not get ready")

    def stop(self):
        self.child.send_signal(signal.SIGSTOP)

    def result(self):
        self.child.send_signal(signal.SIGCONT)
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        out = self.child.stdout.readline()
        self.child.wait(60)
        if self.child.returncode or not out:
            raise SystemExit("a client failed")
        return json.loads(out)


class Bench:
    def __init__(self, build, seconds):
        self.build, self.seconds, self.wrong = build, seconds, []
        self.folder = tempfile.TemporaryDirectory()
        self.maker = os.path.join(self.folder.name, COMM)
        os.symlink(os.path.abspath(f"{build}/tests/bench/bench_sys_produce"), self.maker)

    def produce(self):
        cpus = sorted(os.sched_getaffinity(0))[:2]
        makers = [subprocess.Popen([self.maker, str(cpu), str(self.seconds), str(RATE // len(cpus))],
                                   stdout=subprocess.PIPE, text=True) for cpu in cpus]
        return sum(int(one.communicate()[0]) for one in makers)

    def expect(self, right, what):
        if not right:
            self.wrong.append(what)

    def books(self, result, made, reads):
        """Each client saw all of it, in one column or another; @reads: nothing was lost in its queue."""
        self.expect(result["exact"] == result["clients"], f"books are not exact: {result}")
        self.expect(result["wanted_least"] == result["wanted_most"] == made, f"{made} were made: {result}")
        self.expect(not result["lost_elsewhere"], f"lost before the queue: {result}")
        self.expect(not reads or not result["lost"], f"a client that reads lost some: {result}")

    def crowd(self, bad):
        """One round with 40 that read; p99, memory."""
        with tempfile.TemporaryDirectory() as folder:
            agent = Agent(self.build, folder)
            good = Clients(self.build, agent, 40, "fast")
            others = [Clients(self.build, agent, 16, "fast"), Clients(self.build, agent, 8, "slow")] if bad else []
            if bad:
                others[0].stop()
            made = self.produce()
            result = good.result()
            memory = agent.memory()
            self.books(result, made, True)
            for one in others:
                other = one.result()
                self.books(other, made, False)
                self.expect(other["lost"], "who does not read lost nothing")
            agent.close()
        return result["p99_ms"], memory

    def fan(self, count):
        """CPU time of the agent per million events of one client."""
        with tempfile.TemporaryDirectory() as folder:
            agent = Agent(self.build, folder)
            clients = Clients(self.build, agent, count, "fast")
            before = agent.cpu_s()
            made = self.produce()
            time.sleep(0.1)
            used = agent.cpu_s() - before
            self.books(clients.result(), made, True)
            agent.close()
        return used / made * 1e6

    def plain(self):
        done = subprocess.run([f"{self.build}/tests/bench/bench_wake_reader", "60000"], check=True,
                              capture_output=True, text=True)
        return float(done.stdout.split()[1]) / 1000


def neighbours(bench, rounds):
    alone, beside = zip(*((bench.crowd(False), bench.crowd(True)) for _ in range(rounds)))
    p99 = statistics.median(one[0] for one in alone)
    grown = statistics.median(b[0] - a[0] for a, b in zip(alone, beside))
    memory = max(one[1] for one in beside)
    print(f"figure\t40 clients that read: p99 delay\t{p99:.1f}\tms")
    print(f"figure\tbeside 24 that do not\t{statistics.median(one[0] for one in beside):.1f}\tms")
    print(f"ratio\tgrowth of p99, over max(10 %, 1 ms)\t{grown / max(p99 / 10, 1):.2f}\t<=\t1.00")
    print(f"figure\tagent's memory at most\t{memory / 2**20:.0f}\tMiB")
    print(f"ratio\tover the queues of 24 clients and 64 MiB\t{memory / (24 * QUEUE + (64 << 20)):.2f}\t<=\t1.00")


def broadcast_out(bench, rounds):
    one, sixteen, plain = zip(*((bench.fan(1), bench.fan(16), bench.plain()) for _ in range(rounds)))
    print(f"figure\tagent with one client\t{statistics.median(one):.3f}\tCPU s/M events")
    print(f"figure\tagent with sixteen\t{statistics.median(sixteen):.3f}\tCPU s/M events")
    print(f"ratio\tsixteen clients over one\t{statistics.median(b / a for a, b in zip(one, sixteen)):.2f}\t<=\t2.00")
    print(f"figure\tplain reader, woken for each event\t{statistics.median(plain):.3f}\tCPU s/M events")
    print(f"ratio\tagent with one client, over the plain reader\t"
          f"{statistics.median(a / b for a, b in zip(one, plain)):.2f}\t<=\t1.00")


def main():
    args = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    args.add_argument("--build", required=True)
    args.add_argument("--rounds", type=int, default=5)
    args.add_argument("--seconds", type=int, default=4)
    args.add_argument("--only", choices=("neighbours", "fan"))
    args = args.parse_args()
    bench = Bench(args.build, args.seconds)
    if args.only != "fan":
        neighbours(bench, args.rounds)
    if args.only != "neighbours":
        broadcast_out(bench, args.rounds)
    print(f"check\tbooks of every client\t{'WRONG' if bench.wrong else 'exact'}")
    for text in bench.wrong:
        print(f"note\t{text}")
    raise SystemExit(1 if bench.wrong else 0)


if __name__ == "__main__":
    main()
