# SPDX-License-Identifier: GPL-2.0-or-later
"""Two equal loads of which one is watched, in turns of a tenth of a second.

What a busy machine gives to one program wanders by a tenth over any stretch of time, short or long: whole rounds with
and without a watcher differ by more than it costs. Neighbouring short turns wander as much, but there are hundreds of
them, and the median of many pairs stands still. Watching one twin and then the other takes out what they differ by.
"""
import os
import random
import statistics
import time

from veth import start, stop

TURN = 0.1          # seconds
SETTLE = 0.01       # for what the twin before has still to do


def turn(twin, settled):
    """(work, seconds, CPU seconds) of one turn of @twin, which is stopped before and after."""
    twin.go()
    time.sleep(SETTLE)
    before, begin = twin.counts(), time.monotonic()
    time.sleep(TURN)
    after, end = twin.counts(), time.monotonic()
    twin.pause()
    settled()
    return after[0] - before[0], end - begin, after[1] - before[1]


def pairs(watched, other, n, settled=lambda: None):
    """@n pairs of turns, (rate, CPU per work) of @watched as multiples of @other's; who begins, changes."""
    ratios = []
    for i in range(n):
        order = (watched, other) if i % 2 else (other, watched)
        got = {twin: turn(twin, settled) for twin in order}
        if not all(work for work, _, _ in got.values()):
            continue        # one of them did not get to run
        (work, seconds, cpu), (work0, seconds0, cpu0) = got[watched], got[other]
        ratios.append((work / seconds / (work0 / seconds0), cpu / work / (cpu0 / work0)))
    return ratios


def middle(halves):
    """Of ratios with one twin watched and with the other: the geometric mean of their medians."""
    return statistics.geometric_mean(statistics.median(half) for half in halves)


def bounds(halves, times=1000):
    """Between which the middle lies with 95 %: by drawing the pairs again and again."""
    rng = random.Random(1)
    drawn = sorted(middle([rng.choices(half, k=len(half)) for half in halves]) for _ in range(times))
    return drawn[times // 40], drawn[-times // 40]


def cpu_s(pid):
    """Seconds on a CPU so far, to the nanosecond."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total / 1e9


class Watcher:
    """A process that watches."""

    def __init__(self, words, ready):
        self.child = start(words, ready)

    def cpu_s(self):
        return cpu_s(self.child.pid)

    def settle(self):
        """Until it has nothing more to do, or for two seconds."""
        end, before = time.monotonic() + 2, -1
        while (now := self.cpu_s()) - before > 0.001 and time.monotonic() < end:
            before = now
            time.sleep(0.01)

    def stop(self):
        stop(self.child)


class Row:
    """What a watcher costs, with one twin watched and then with the other."""

    def __init__(self, twins, watchers, n):
        """@watchers: of a twin, what starts its Watcher; of it None, if nothing is to be started."""
        self.halves, self.own = [], []
        for twin, other in (twins, reversed(twins)):
            begin = watchers(twin)
            watcher = begin() if begin else None
            self.half(twin, other, watcher, n)
            if watcher:
                watcher.stop()

    def half(self, twin, other, watcher, n):
        before, own = twin.counts(), watcher.cpu_s() if watcher else 0
        self.halves.append(pairs(twin, other, n, watcher.settle if watcher else lambda: None))
        (_, cpu), own = (b - a for a, b in zip(before, twin.counts())), (watcher.cpu_s() - own if watcher else 0)
        self.own.append(own / cpu)

    def figures(self, at):
        """(middle, least, most) of the rate (@at 0) or the CPU of a piece of work (1), against unwatched."""
        halves = [[pair[at] for pair in half] for half in self.halves]
        return middle(halves), *bounds(halves)
