# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets that nft dropped, against its counter and, thread by thread, against the kernel's own trace of them.

A kernel may run no tracing program, of whatever tool, while a certain thread of process 1 is current: a drop in a
softirq that interrupts it is counted by nft and traced by tracefs, which needs no program, and no program sees it.
Such drops are few, and are counted apart as exceptions.
"""
import collections
import os
import re

import helpers

REASON = "NETFILTER_DROP"
BLIND_PCT = 0.3     # of the drops
BLIND = "no program ran in init"
HIT = re.compile(r"-(\d+) +\[\d+\].* kfree_skb: ")


class Trace:
    """The drops of all namespaces while it runs, in a tracefs instance of its own."""

    def __init__(self, stage):
        self.root = stage.path("tracefs")
        self.instance = os.path.join(self.root, "instances", f"sonde-truth-{os.getpid()}")
        os.makedirs(self.root)
        helpers.sh("mount", "-t", "tracefs", "none", self.root, check=False)
        try:
            os.mkdir(self.instance)
        except OSError:     # not mounted, or locked down
            self.instance = None
            return
        number = re.search(rf'\{{ (\d+), "{REASON}" \}}', self._read("events/skb/kfree_skb/format"))
        if number:
            self._write("events/skb/kfree_skb/filter", f"reason == {number[1]}")
            self._write("events/skb/kfree_skb/enable", "1")

    def _read(self, name):
        with open(os.path.join(self.instance, name), encoding="utf-8") as f:
            return f.read()

    def _write(self, name, text):
        with open(os.path.join(self.instance, name), "w", encoding="utf-8") as f:
            f.write(text)

    def counts(self):
        """{thread: drops}; None = not traced, or not all of them are there."""
        if not self.instance or self._read("events/skb/kfree_skb/enable").strip() != "1":
            return None
        self._write("events/skb/kfree_skb/enable", "0")
        overrun = [self._read(f"per_cpu/{cpu}/stats") for cpu in os.listdir(os.path.join(self.instance, "per_cpu"))]
        if any(re.search(r"(overrun|dropped events): [1-9]", stats) for stats in overrun):
            return None
        return collections.Counter(int(tid) for tid in HIT.findall(self._read("trace")))

    def close(self):
        if self.instance:
            os.rmdir(self.instance)
        helpers.sh("umount", "--lazy", self.root, check=False)


def init_threads():
    return {int(tid) for tid in os.listdir("/proc/1/task")}


def shown(events):
    """{thread: drops} of events; the idle task is 0."""
    return collections.Counter(ev.get("task_tid", 0) for ev in events
                               if ev["type"] == "net.drop" and ev["reason"] == REASON)


def judge(score, got, dropped, traced, blind):
    """
    One verdict, by tracefs or by nft. @got: shown(), @dropped: nft's count, @traced: Trace.counts(), @blind:
    init_threads(). With drops of others in the trace, nft's count alone is compared.
    """
    if traced is None or sum(traced.values()) != dropped:
        score.equal(sum(got.values()), dropped, "packets that nft dropped are shown", "nft")
        return
    hidden = {tid: count for tid, count in traced.items() if tid in blind and not got[tid]}
    for count in hidden.values():
        for _ in range(count):
            score.add_excused(BLIND)
    if len(hidden) > 1 or sum(hidden.values()) * 100 > BLIND_PCT * dropped:
        score.add_wrong(f"{sum(hidden.values())} of {dropped} drops, of {len(hidden)} threads, are hidden: {BLIND}")
    wanted = traced - collections.Counter(hidden)
    differ = {tid: (got[tid], wanted[tid]) for tid in {*got, *wanted} if got[tid] != wanted[tid]}
    score.equal(differ, {}, f"drops by thread, shown and traced, of {dropped}", "tracefs")
