# SPDX-License-Identifier: GPL-2.0-or-later
"""Two equal loads of which one is watched, in turns of a tenth of a second.

What a busy machine gives to one program wanders by a tenth over any stretch of time, short or long: whole rounds with
and without a watcher differ by more than it costs. Neighbouring short turns wander as much, but there are hundreds of
them, and the median of many pairs stands still. Watching one twin and then the other takes out what they differ by.
"""
import random
import statistics
import time

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
