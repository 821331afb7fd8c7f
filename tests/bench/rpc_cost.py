#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What `sonde rpc` costs a gRPC server: CPU per call and calls per second, unwatched, watched, and with plain probes
at the entry of the same functions (bpftrace), in interleaved rounds.

    rpc_cost.py [--build DIR] [--suite trixie] [--rounds 27] [--calls 20000] [--parallel 16] [--json]

Needs root, a built sonde, the toolchains of tests/workloads/go/gotree.py. CPU time is that of the scheduler, of all
threads of the server. An unwatched round stands before and behind each watched one, whose ratio is that to the mean
of the two: what drifts falls out. Bounds are 95 % of 4,000 bootstrap medians of these ratios. The default set has all
rounds, the others one in three.
"""
import argparse
import glob
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "workloads", "go"))
import gotree  # noqa: E402  the path above is needed first

TRANSPORT = "google.golang.org/grpc/internal/transport."
FUNCTIONS = ("(*loopyWriter).writeHeader", "(*http2Server).operateHeaders", "(*http2Client).operateHeaders")
READY_S = 60


class Program:
    def __init__(self, path, *words):
        self.child = subprocess.Popen([path, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
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


class Watcher:
    """A command that watches; ready when it says so."""

    def __init__(self, words, ready):
        self.child = None
        if not words:
            return
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


def entry_probes(path):
    probes = ",".join(f'uprobe:{path}:"{TRANSPORT}{name}"' for name in FUNCTIONS)
    return ["bpftrace", "-e", f'BEGIN {{ printf("ready\\n"); }} {probes} {{ @hits = count(); }}']


def modes(sonde, path, pid):
    rpc = [sonde, "rpc", "-o", "null", "--pid", str(pid)]
    return {
        "unwatched": (None, None),
        "headers": (rpc, "ready"),
        "all": ([*rpc, "--probes", "all"], "ready"),
        "entry": (entry_probes(path), "ready"),
    }


def one_round(server, client, watch, calls, parallel):
    watcher = Watcher(*watch)
    try:
        client.ask("run", "unary", calls // 10, parallel)
        before = server.cpu_ns()
        ns = int(client.ask("run", "unary", calls, parallel)[2])
        cpu = server.cpu_ns() - before
    finally:
        watcher.stop()
    return cpu / calls, calls / ns * 1e9


def all_rounds(rounds, measure, watches):
    """For each name of @watches the list of (ratio, CPU ns per call, calls per second)."""
    got = {name: [] for name in watches}
    before = measure(watches["unwatched"])
    got["unwatched"].append((1, *before))
    for i in range(rounds):
        for name in [name for name in watches if name == "headers" or (name != "unwatched" and i % 3 == 0)]:
            this, after = measure(watches[name]), measure(watches["unwatched"])
            got[name].append((2 * this[0] / (before[0] + after[0]), *this))
            got["unwatched"].append((1, *after))
            before = after
    return got


def bound(ratios):
    """Median and the upper end of its 95 % interval."""
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(4000))
    return statistics.median(ratios), medians[int(0.025 * 4000)], medians[int(0.975 * 4000)]


def kernel_side(sonde, client, pid, calls, parallel):
    """Nanoseconds and runs of the BPF programs per call, from the kernel's statistics; and the ledger."""
    path = "/proc/sys/kernel/bpf_stats_enabled"
    with open(path, encoding="ascii") as f:
        was = f.read()
    with open(path, "w", encoding="ascii") as f:
        f.write("1")
    try:
        watcher = Watcher([sonde, "rpc", "-o", "null", "-v", "--pid", str(pid)], "ready")
        client.ask("run", "unary", calls, parallel)
        shown = json.loads(subprocess.run(["bpftool", "-j", "prog", "show"], check=True, capture_output=True,
                                          text=True).stdout)
        said = watcher.stop()
    finally:
        with open(path, "w", encoding="ascii") as f:
            f.write(was)
    mine = max((p for p in shown if p.get("name", "").startswith(("gorpc_multi", "gorpc_single"))),
               key=lambda p: p.get("run_cnt", 0))
    seen = int(re.search(r"gorpc: seen (\d+)", said).group(1))
    return {"bpf_ns_per_call": mine["run_time_ns"] / calls, "hits_per_call": mine["run_cnt"] / calls,
            "ledger_per_call": seen / calls}


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--suite", default="trixie")
    p.add_argument("--rounds", type=int, default=27)
    p.add_argument("--calls", type=int, default=20000)
    p.add_argument("--parallel", type=int, default=16)
    p.add_argument("--json", action="store_true")
    a = p.parse_args()
    source = os.path.join(ROOT, "tests", "workloads", "go", "calls")
    path = gotree.Tree(a.suite).build(source, os.path.join(gotree.folder(), f"calls-{a.suite}-plain"))
    # the client is another file: probes by path do not meet it
    other = path + "-client"
    subprocess.run(["cp", path, other], check=True)
    server = Program(path, "-mode", "server")
    client = Program(other, "-mode", "client", "-addr", server.addr)
    pid = server.child.pid
    sonde = os.path.join(a.build, "sonde")
    watches = modes(sonde, path, pid)
    got = all_rounds(a.rounds, lambda watch: one_round(server, client, watch, a.calls, a.parallel), watches)
    out = {"suite": a.suite, "rounds": a.rounds, **kernel_side(sonde, client, pid, a.calls, a.parallel)}
    for name, values in got.items():
        out[name] = {"cpu_us_per_call": statistics.median(v[1] for v in values) / 1000,
                     "calls_per_s": statistics.median(v[2] for v in values)}
        if name != "unwatched":
            out[name]["ratios"] = [round(v[0], 3) for v in values]
            out[name]["cpu_ratio"], out[name]["low"], out[name]["high"] = bound([v[0] for v in values])
    client.quit()
    server.quit()
    if a.json:
        print(json.dumps(out))
    else:
        tell(out, watches)


def tell(out, watches):
    """Lines of tests/bench/bench.h."""
    for name in watches:
        v = out[name]
        print(f"figure\trpc: {name}, server CPU a call\t{v['cpu_us_per_call']:.1f}\tus")
        print(f"figure\trpc: {name}\t{v['calls_per_s']:.0f}\tcalls/s")
    print(f"figure\trpc: BPF time a call\t{out['bpf_ns_per_call']:.0f}\tns")
    for name in ("all", "entry"):
        v = out[name]
        print(f"note\t{name}: median {v['cpu_ratio']:.3f} times unwatched, 95 % {v['low']:.3f} to {v['high']:.3f}")
    v = out["headers"]
    print(f"note\theaders: median {v['cpu_ratio']:.3f} times unwatched, 95 % {v['low']:.3f} to {v['high']:.3f}")
    print(f"ratio\trpc: CPU a call, headers over unwatched, upper 95 % bound\t{v['high']:.3f}\t<=\t1.15")
    print(f"ratio\trpc: CPU a call, headers over probes at entry\t"
          f"{v['cpu_ratio'] / out['entry']['cpu_ratio']:.3f}\t<=\t0.9")
    print(f"check\trpc: three hits a call\t{'ok' if abs(out['hits_per_call'] - 3) < 0.01 else 'WRONG'}")


if __name__ == "__main__":
    main()
