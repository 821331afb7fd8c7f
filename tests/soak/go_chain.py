#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""go_chain.py [--calls N] [--suite SUITE]... [--workers "0 4"]: does each call, system call and sample of three Go
services have the call that it is part of?

tests/workloads/go/mesh: three services, a process each, with goroutines that handlers start, streams, a pool fed by a
channel, and with grpc.NumStreamWorkers. N calls (200) to the first make 38 each. Names in headers say the parent of
each call; a goroutine says by a system call when it begins and ends to work for which call, and what is sampled of it
in between is part of that call.

A line for each aspect; exit status 1 if an answer is wrong, or unknown where it must be known: not for a pool, nor
for goroutines that handlers start before Go 1.21 or that workers start.
"""
import argparse
import bisect
import collections
import os
import re
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "workloads", "go"), os.path.join(ROOT, "tests", "e2e")]
sys.dont_write_bytecode = True
import gocalls  # noqa: E402  the paths above are needed first
import gotree  # noqa: E402
import helpers  # noqa: E402

HANDLER, CHILD, GRANDCHILD, POOL = range(4)
WHO = ("handlers", "their goroutines", "goroutines of those", "the pool")
CALLS = 38      # of one call to the first service
MARKS = 81      # pairs of system calls
WARM = 2
LAST_S = 60
MARK = re.compile(r"-1, (\d+), SEEK_(SET|CUR)")


class Chain:
    """The processes."""

    def __init__(self, suite, workers):
        self.program = gotree.Tree(suite).build(os.path.join(ROOT, "tests", "workloads", "go", "mesh"),
                                                os.path.join(gotree.folder(), f"mesh-{suite}-plain"))
        self.children, known = [], []
        for name in ("store", "middle", "edge"):
            child = self.start(name, str(workers), *known)
            known.append(child.stdout.readline().split()[1])
        self.edge = known[-1]
        self.pids = [child.pid for child in self.children]

    def start(self, *words):
        self.children.append(subprocess.Popen([self.program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                              text=True))
        return self.children[-1]

    def client(self, calls):
        """A process that makes calls; its pid."""
        child = self.start("client", self.edge, str(calls), "4")
        child.stdout.readline()
        child.stdin.write("go\n")
        child.stdin.flush()
        if child.stdout.readline() != "done\n":
            raise SystemExit("the client failed")
        return child.pid

    def close(self):
        for child in self.children:
            child.kill()
            child.communicate()


def is_call(ev):
    return ev["type"] == "rpc.call" and gocalls.name_of(ev) is not None


def key_of(ev):
    """A call, in every run of sonde."""
    conn = ev["conn"]
    return ev["proc"]["pid"], ev["side"], conn["src"], conn["sport"], conn["dst"], conn["dport"], ev["rpc_stream"]


def mark_of(ev):
    """(number of the call, who, is it the end), or None."""
    match = MARK.fullmatch(ev["args"]) if ev["type"] == "sys.exit" else None
    return (*divmod(int(match[1]), 16), match[2] == "CUR") if match else None


class Names:
    """What the calls of one run are named: number, parent, who."""

    def __init__(self, events, client):
        self.of_key, self.parent = {}, {}
        for ev in filter(is_call, events):
            number, parent, who = map(int, gocalls.name_of(ev).split())
            self.of_key[key_of(ev)] = number, parent, who
            self.parent[number] = parent
        self.client = client

    def counts(self, number):
        """Is it a part of the client's calls, not of those that warmed up?"""
        while self.parent.get(number):
            number = self.parent[number]
        return number >> 20 == self.client

    def numbers(self, events):
        """{(pid, call_id): number} of server calls, in another run too."""
        return {(ev["proc"]["pid"], ev["call_id"]): self.of_key.get(key_of(ev), (None,))[0]
                for ev in events if ev["type"] == "rpc.call" and ev["side"] == "server"}


class Score:
    """Of one aspect."""

    def __init__(self, has_parents, workers):
        self.must = {HANDLER} | ({CHILD, GRANDCHILD} if has_parents and not workers else set())
        self.may = self.must | ({CHILD, GRANDCHILD} if has_parents else set())
        self.right, self.unknown = collections.Counter(), collections.Counter()
        self.wrong = []

    def add(self, who, got, number, text):
        """@got: number of the call that was said, None = unknown."""
        if got is None and who not in self.must:
            self.unknown[who] += 1
        elif got == number and who in self.may:
            self.right[who] += 1
        else:
            self.wrong.append(f"{WHO[who]} of {number}: {got}: {text}")

    def print(self, name):
        """Is it as it must be?"""
        print(f"    {name}: {sum(self.right.values())} right, {len(self.wrong)} wrong; unknown: " +
              (", ".join(f"{n} of {WHO[who]}" for who, n in sorted(self.unknown.items())) or "none"), flush=True)
        for line in self.wrong[:5]:
            print("        " + line)
        return not self.wrong and self.right[HANDLER] > 0


def said(numbers, ev, field="call_id"):
    """The number of the call that the event is said to be part of."""
    return numbers.get((ev["proc"]["pid"], ev[field]), "another call") if ev.get(field) else None


def judge_parents(score, events, names):
    """Of calls of clients."""
    numbers = names.numbers(events)
    for ev in filter(is_call, events):
        number, parent, who = names.of_key[key_of(ev)]
        if ev["side"] == "client" and parent and names.counts(number):
            score.add(who, said(numbers, ev, "parent"), parent, f"{ev['path']} {gocalls.name_of(ev)}")


def judge_marks(score, events, names, numbers):
    """Of system calls. {(pid, goroutine): times at which it begins and ends to work, with the call and who}"""
    spans, open_ones = collections.defaultdict(list), {}
    for ev in events:
        mark = mark_of(ev)
        if not mark or not names.counts(mark[0]):
            continue
        number, who, is_end = mark
        key = ev["proc"]["pid"], ev.get("goid")
        score.add(who, said(numbers, ev), number, f"goroutine {key[1]}, {ev.get('call_how')}")
        if is_end:
            spans[key].append((open_ones.pop(key), ev["ts_ns"] - ev.get("latency", 0), number, who))
        else:
            open_ones[key] = ev["ts_ns"]
    return spans


def judge_samples(score, events, spans, numbers):
    """How many samples have a call and lie where nobody said what is true."""
    outside = 0
    for ev in events:
        if ev["type"] != "cpu.sample" or not ev.get("goid"):
            continue
        some = spans.get((ev["proc"]["pid"], ev["goid"]), [])
        at = bisect.bisect_right(some, (ev["ts_ns"],)) - 1
        if at >= 0 and some[at][0] < ev["ts_ns"] < some[at][1]:
            _, _, number, who = some[at]
            score.add(who, said(numbers, ev), number, f"goroutine {ev['goid']}, {ev.get('call_how')}")
        else:
            outside += "call_id" in ev
    return outside


def warm_up(chain, rpc, record):
    """Until the files of all are watched and their goroutines known."""
    for _ in range(50):
        chain.client(WARM)
        known = {ev["proc"]["pid"] for ev in list(record.events) if mark_of(ev) and ev.get("call_id")}
        if set(chain.pids) <= known & {ev["proc"]["pid"] for ev in list(rpc.events) if is_call(ev)}:
            return
    raise SystemExit("the services are not seen")


def watch(chain, calls):
    """Events of both runs, and the client."""
    pids = [word for pid in chain.pids for word in ("-p", str(pid))]
    runs = []
    try:
        runs.append(helpers.Sonde("rpc", "--json", "--agent=no", "--probes", "parents", "--header", "x-call", *pids))
        runs.append(helpers.Sonde("record", "--json", "--set", "sys,cpu,gohttp2", "-F", "997", *pids, "--where",
                                  "evt.type in (rpc.call, cpu.sample) or syscall.name=lseek"))
        warm_up(chain, *runs)
        client = chain.client(calls)

        def seen():
            found = [ev for ev in list(runs[0].events) if is_call(ev)]
            names = Names(found, client)
            marks = [mark for mark in map(mark_of, list(runs[1].events)) if mark and names.counts(mark[0])]
            sides = sum(names.counts(names.of_key[key_of(ev)][0]) for ev in found)
            return sides >= (2 * CALLS - 1) * calls and len(marks) >= 2 * MARKS * calls
        helpers.wait_until(seen, LAST_S)
    finally:
        for run in runs:
            run.stop(timeout=LAST_S)
    lost = [ev for run in runs for ev in run.events if ev["type"] == "sonde.ledger" and ev.get("lost")]
    return [run.events for run in runs], client, lost


def run_chain(suite, workers, calls):
    chain = Chain(suite, workers)
    try:
        (of_rpc, of_record), client, lost = watch(chain, calls)
    finally:
        chain.close()
    names = Names(of_rpc, client)
    numbers = names.numbers(of_record)
    minor = int(re.match(r"go1\.(\d+)", gotree.Tree(suite).version())[1])
    parents, marks, samples = (Score(minor >= 21, workers) for _ in range(3))
    judge_parents(parents, of_rpc, names)
    spans = judge_marks(marks, of_record, names, numbers)
    outside = judge_samples(samples, of_record, spans, numbers)
    print(f"{suite}, Go 1.{minor}, {workers} workers: {CALLS * calls} calls, "
          f"{outside} further samples with a call" + "".join(f"; lost {ev['probe']}: {ev['lost_by']}" for ev in lost))
    return all([score.print(name) for score, name in ((parents, "parents of calls"), (marks, "system calls"),
                                                      (samples, "samples"))])


def main():
    for sig in (signal.SIGINT, signal.SIGTERM):     # a job in the background ignores the first
        signal.signal(sig, signal.default_int_handler)
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--calls", type=int, default=200)
    p.add_argument("--suite", action="append", default=[])
    p.add_argument("--workers", default="0 4")
    args = p.parse_args()
    good = [run_chain(suite, int(workers), args.calls) for suite in args.suite or gotree.SUITES
            for workers in args.workers.split()]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
