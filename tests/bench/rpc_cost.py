#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What `sonde rpc` costs a gRPC server: CPU per call while it is watched, over that of its twin, which is not.

    rpc_cost.py [--build DIR] [--suite trixie] [--rounds 24] [--pairs 20] [--calls 1500] [--only NAMES] [--json]
                [--keep FILE] [--pin]

Needs root, a built sonde, the toolchains of tests/workloads/go/gotree.py, and a kernel that does not take the time of
BPF programs (kernel.bpf_stats_enabled is 0): that is paid at each hit.

Two servers of the same program, each with a client. They work in turns, a slice of some thousand calls (a twentieth
of a second) each, and what a slice costs the server is the scheduler's CPU time of all its threads. Two slices that
follow one another are a pair; which of the two is the watched one's changes with each pair, which server is watched
with each round. What the machine does beside it is the same for both slices of a pair, and what distinguishes the
servers falls out of the mean of both halves. The figure is the median ratio of the pairs; its bounds hold 95 %
of 4,000 bootstrap medians. They draw whole rounds: pairs of one round share a process of sonde and a state of the
machine, and are not independent. With --pin both servers have one CPU and both clients another, so each server has
one thread that runs Go; without it, all of them have all CPUs.

Each round has, one after the other: nobody (what the method itself says of no difference), floor (programs that do
nothing at the same three places: what the kernel alone charges), headers (the default set), all, and entry (bpftrace
counts at the entry of the same functions).

With --keep the pairs of this run join those of the runs before it, so a measurement can be made in pieces.
"""
import argparse
import glob
import json
import math
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "workloads", "go"))
import gotree  # noqa: E402  the path above is needed first
import veth  # noqa: E402
from counted import counted_programs, counting, programs_of  # noqa: E402

TRANSPORT = "google.golang.org/grpc/internal/transport."
FUNCTIONS = ("(*loopyWriter).writeHeader", "(*http2Server).operateHeaders", "(*http2Client).operateHeaders")
READY_S = 60
RESAMPLES = 4000
UPROBE = 2          # BPF_PROG_TYPE_KPROBE, which uprobes are too
WIDEST = 0.08       # of the control's interval: a wider one could hide what is looked for
# The share of the pairs of a round.
SHARES = {"nobody": 0.5, "floor": 0.5, "headers": 1, "all": 0.25, "entry": 0.25, "beside": 1}


class Program:
    def __init__(self, path, *words, cpu=None):
        pin = [] if cpu is None else ["taskset", "-c", str(cpu)]
        self.child = subprocess.Popen([*pin, path, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addr = self.child.stdout.readline().split()[1]

    def ask(self, *words):
        self.child.stdin.write(" ".join(map(str, words)) + "\n")
        self.child.stdin.flush()
        return self.child.stdout.readline().split()

    def cpu_ns(self):
        total = 0
        for path in glob.glob(f"/proc/{self.child.pid}/task/*/schedstat"):
            with open(path, encoding="ascii") as f:
                total += int(f.read().split()[0])
        return total

    def quit(self):
        self.child.communicate("quit\n", timeout=20)


class Twin:
    """A server out of a file of its own, so that probes in it meet no other, and a client."""

    def __init__(self, path, client, cpus=(None, None)):
        self.path = path
        self.server = Program(path, "-mode", "server", cpu=cpus[0])
        self.client = Program(client, "-mode", "client", "-addr", self.server.addr, cpu=cpus[1])
        self.pid = self.server.child.pid

    def slice(self, calls, parallel):
        """CPU ns per call, calls per second."""
        before = self.server.cpu_ns()
        ns = int(self.client.ask("run", "unary", calls, parallel)[2])
        return (self.server.cpu_ns() - before) / calls, calls / ns * 1e9

    def quit(self):
        self.client.quit()
        self.server.quit()


class Watcher:
    """A command that watches; ready when it says so."""

    def __init__(self, words, ready="ready"):
        self.child = None
        if not words:
            return
        veth.receive_sigint()
        self.child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        end = time.monotonic() + READY_S
        for line in self.child.stdout:
            if re.search(ready, line):
                return
            if time.monotonic() > end:
                break
        self.kill()
        raise RuntimeError(f"{words[0]} does not start")

    def kill(self):
        """What goes on watching would be in every later round."""
        self.child.kill()
        self.child.communicate()

    def stop(self):
        if not self.child:
            return ""
        self.child.send_signal(signal.SIGINT)
        try:
            return self.child.communicate(timeout=120)[0]
        except subprocess.TimeoutExpired:
            self.kill()
            raise


def places(sonde, path):
    """Offsets in the file of the instructions that the default set of a unary call is put on."""
    done = subprocess.run([sonde, "rpc", "explain", "--json", path], check=True, capture_output=True, text=True)
    rules = [json.loads(line) for line in done.stdout.splitlines()]
    wanted = [TRANSPORT + name for name in FUNCTIONS]
    return [str(r["file_offset"]) for r in rules if r.get("function") in wanted]


def entry_probes(path):
    probes = ",".join(f'uprobe:{path}:"{TRANSPORT}{name}"' for name in FUNCTIONS)
    return ["bpftrace", "-e", f'BEGIN {{ printf("ready\\n"); }} {probes} {{ @hits = count(); }}']


def commands(args, offsets):
    """How each kind watches a twin: name, a function of the twin to words."""
    sonde = os.path.join(args.build, "sonde")

    def rpc(program, *more):
        return lambda twin: [program, "rpc", "-o", "null", "--pid", str(twin.pid), *more]

    kinds = {
        "nobody": lambda twin: None,
        "floor": lambda twin: [os.path.join(args.build, "tests", "bench", "bench_empty_uprobe"), twin.path, *offsets],
        "headers": rpc(sonde),
        "all": rpc(sonde, "--probes", "all"),
    }
    if shutil.which("bpftrace"):
        kinds["entry"] = lambda twin: entry_probes(twin.path)
    else:
        print("note\tentry: left out: bpftrace is not installed (tools/setup.sh bench)",
              file=sys.stderr if args.json else sys.stdout)
    if args.beside:
        kinds["beside"] = rpc(args.beside)
    return {name: words for name, words in kinds.items() if not args.only or name in args.only.split(",")}


def pairs(watched, other, n, calls, parallel):
    """@n times (log of the ratio, CPU ns per call of both, calls per second of both)."""
    got = []
    for i in range(n):
        if i % 2:
            u, w = other.slice(calls, parallel), watched.slice(calls, parallel)
        else:
            w, u = watched.slice(calls, parallel), other.slice(calls, parallel)
        got.append((math.log(w[0] / u[0]), w[0], u[0], w[1], u[1]))
    return got


def measure(args, twins, kinds):
    """For each kind two lists of rounds, which are lists of pairs: the first twin was watched, or the second."""
    got = {name: ([], []) for name in kinds}
    for i in range(args.rounds):
        which = i % 2
        watched, other = twins[which], twins[1 - which]
        for name, words in kinds.items():
            watcher = Watcher(words(watched))
            try:
                for twin in twins:
                    twin.slice(args.calls // 2, args.parallel)
                n = math.ceil(args.pairs * SHARES[name])
                got[name][which].append(pairs(watched, other, n, args.calls, args.parallel))
            finally:
                watcher.stop()
    return got


def ratio(halves):
    """The median ratio and both ends of its 95 % interval; @halves: of each its rounds, lists of logs."""
    rng = random.Random(1)
    halves = [half for half in halves if half]

    def middle(samples):
        medians = (statistics.median(log for turn in half for log in turn) for half in samples)
        return math.exp(statistics.mean(medians))

    again = sorted(middle([rng.choices(half, k=len(half)) for half in halves]) for _ in range(RESAMPLES))
    return middle(halves), again[int(0.025 * RESAMPLES)], again[int(0.975 * RESAMPLES)]


def joined(path, got):
    """@got and what earlier runs left in the file, which has all of it from then on."""
    kept = {}
    if os.path.exists(path):
        with open(path, encoding="ascii") as f:
            kept = json.load(f)
    for name, halves in got.items():
        before = kept.get(name, [[], []])
        kept[name] = [before[i] + half for i, half in enumerate(halves)]
    with open(path, "w", encoding="ascii") as f:
        json.dump(kept, f)
    return kept


def summary(halves):
    both = [pair for half in halves for turn in half for pair in turn]
    value, low, high = ratio([[[pair[0] for pair in turn] for turn in half] for half in halves])
    return {"pairs": len(both), "rounds": sum(map(len, halves)), "cpu_ratio": value, "low": low, "high": high,
            "cpu_us": statistics.median(p[1] for p in both) / 1000,
            "calls_per_s": statistics.median(p[3] for p in both),
            "unwatched_cpu_us": statistics.median(p[2] for p in both) / 1000,
            "unwatched_calls_per_s": statistics.median(p[4] for p in both)}


def counted(words, twin, calls, parallel):
    """BPF nanoseconds and runs per call of a watcher's programs, by the kernel's statistics."""
    watcher = Watcher(words)
    try:
        with counted_programs():
            ns, runs = programs_of(watcher.child.pid, UPROBE)
            twin.slice(calls, parallel)
            ns_after, runs_after = programs_of(watcher.child.pid, UPROBE)
    finally:
        watcher.stop()
    return (ns_after - ns) / calls, (runs_after - runs) / calls


def kernel_side(kinds, twin, calls, parallel):
    """Of five turns the medians: a slice in which the machine did other things is no measurement."""
    empty, mine = [], []
    for _ in range(5):
        empty.append(counted(kinds["floor"](twin), twin, calls, parallel)[0])
        mine.append(counted(kinds["headers"](twin), twin, calls, parallel))
    return {"empty_ns": statistics.median(empty), "bpf_ns": statistics.median(ns for ns, _ in mine),
            "hits": [hits for _, hits in mine]}


def tell(out):
    """Lines of tests/bench/programs/bench.h."""
    for name, v in out["kinds"].items():
        print(f"figure\trpc: {name}, server CPU a call\t{v['cpu_us']:.1f}\tus")
        print(f"figure\trpc: {name}, the twin's\t{v['unwatched_cpu_us']:.1f}\tus")
        print(f"figure\trpc: {name}\t{v['calls_per_s']:.0f}\tcalls/s")
        print(f"note\t{name}: median {v['cpu_ratio']:.3f} times unwatched, 95 % {v['low']:.3f} to {v['high']:.3f}, "
              f"{v['pairs']} pairs in {v['rounds']} rounds")
    if "kernel" in out:
        k = out["kernel"]
        print(f"figure\trpc: BPF time a call\t{k['bpf_ns']:.0f}\tns")
        print(f"figure\trpc: BPF time a call of empty programs\t{k['empty_ns']:.0f}\tns")
        # the end of a garbage collector's cycle, once in some hundred calls, is a run too
        good = all(3 <= n < 3.01 for n in k["hits"])
        print(f"check\trpc: three hits a call\t{'ok' if good else 'WRONG'}")
    kinds = out["kinds"]
    if "nobody" in kinds:
        low, high = kinds["nobody"]["low"], kinds["nobody"]["high"]
        good = low < 1.02 and high > 0.98 and high - low < WIDEST
        print(f"check\trpc: twins that nobody watches cost the same, within 2 %, by an interval narrower than "
              f"{WIDEST:.2f}\t{'ok' if good else 'WRONG'}")
    if "headers" in kinds:
        # of many at a time the kernel's part alone may be more (doc/decisions/0017-traced-call.md)
        high, name = kinds["headers"]["high"], "rpc: CPU a call, headers over unwatched, upper 95 % bound"
        print(f"ratio\t{name}\t{high:.3f}\t<=\t1.15" if out["parallel"] == 1 else f"figure\t{name}\t{high:.3f}\t")
    if "headers" in kinds and "floor" in kinds:
        print(f"ratio\trpc: CPU a call, headers over empty programs\t"
              f"{kinds['headers']['cpu_ratio'] / kinds['floor']['cpu_ratio']:.3f}\t<=\t1.06")
    if "headers" in kinds and "entry" in kinds:
        print(f"ratio\trpc: CPU a call, headers over probes at entry\t"
              f"{kinds['headers']['cpu_ratio'] / kinds['entry']['cpu_ratio']:.3f}\t<=\t0.9")


def files(suite):
    """The program three times: probes by path meet one server alone."""
    source = os.path.join(ROOT, "tests", "workloads", "go", "calls")
    path = gotree.Tree(suite).build(source, os.path.join(gotree.folder(), f"calls-{suite}-plain"))
    copies = [path + end for end in ("-first", "-second", "-client")]
    for copy in copies:
        subprocess.run(["cp", path, copy], check=True)
    return copies


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--suite", default="trixie")
    p.add_argument("--rounds", type=int, default=24)
    p.add_argument("--pairs", type=int, default=20, help="of the default set in each round")
    p.add_argument("--calls", type=int, default=1500, help="in each slice")
    p.add_argument("--parallel", type=int, default=16)
    p.add_argument("--only", default="", help="kinds, with commas: " + ", ".join(SHARES))
    p.add_argument("--beside", default="", help="another sonde, measured like the first in the same rounds")
    p.add_argument("--keep", default="", help="file of the pairs of earlier runs, which are counted in")
    p.add_argument("--pin", action="store_true", help="one CPU for the servers, another for the clients")
    p.add_argument("--json", action="store_true")
    args = p.parse_args()
    if counting():
        sys.exit("rpc_cost.py: the kernel takes the time of BPF programs, at each hit: kernel.bpf_stats_enabled is 1")
    *servers, client = files(args.suite)
    cpus = sorted(os.sched_getaffinity(0))[:2] if args.pin else (None, None)
    twins = [Twin(path, client, cpus) for path in servers]
    offsets = places(os.path.join(args.build, "sonde"), servers[0])
    kinds = commands(args, offsets)
    for twin in twins:
        twin.slice(4 * args.calls, args.parallel)
    got = measure(args, twins, kinds)
    if args.keep:
        got = joined(args.keep, got)
    out = {"suite": args.suite, "parallel": args.parallel, "rounds": args.rounds,
           "kinds": {name: summary(halves) for name, halves in got.items()}}
    if "floor" in kinds and "headers" in kinds:
        out["kernel"] = kernel_side(kinds, twins[0], 6 * args.calls, args.parallel)
    for twin in twins:
        twin.quit()
    if args.json:
        print(json.dumps(out))
    else:
        tell(out)


if __name__ == "__main__":
    main()
