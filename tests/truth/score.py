# SPDX-License-Identifier: GPL-2.0-or-later
"""Verdicts of the truth gate, and the bars that they are held against."""
import collections
import typing

EXAMPLES = 3


class Score:
    """Verdicts on one aspect of the events of one kind of program."""

    def __init__(self):
        self.right = collections.Counter()      # by source of the answer
        self.unknown = collections.Counter()    # by reason that the event gives
        self.excused = collections.Counter()    # by exception: compared, and counted apart
        self.wrong = 0
        self.silent = 0                         # unknown without a reason
        self.examples = []

    def add_right(self, how=None, count=1):
        self.right[how or "-"] += count

    def add_unknown(self, how, example):
        """@how: the reason in the event; None = the event gives none."""
        self.unknown[how or "-"] += 1
        self.silent += not how
        self._keep("unknown", example)

    def add_excused(self, reason):
        self.excused[reason] += 1

    def add_wrong(self, example, count=1):
        self.wrong += count
        self._keep("wrong", example)

    def equal(self, got, expected, example="", how=None):
        """One verdict on a value that must be known."""
        if got == expected:
            self.add_right(how)
        elif got is None:
            self.add_unknown(how, f"not known, expected {expected} {example}")
        else:
            self.add_wrong(f"{got}, expected {expected} {example}")

    def _keep(self, verdict, example):
        if sum(kept.startswith(verdict) for kept in self.examples) < EXAMPLES:
            self.examples.append(f"{verdict}: {example}")

    @property
    def compared(self):
        return sum(self.right.values()) + sum(self.unknown.values()) + self.wrong


class Bar(typing.NamedTuple):
    """One row of the gate."""
    name: str                   # KIND.ASPECT
    claim: str
    unknown_pct: float = 0.1
    least: int = 1              # verdicts below which the bar is red: nothing was checked
    how: bool = False           # the event has a field for the source, so an unknown answer must have a reason


def findings(bar, score, missing):
    """Reasons why @bar is red; empty = green. @missing: reason why it was not checked."""
    if score is None or score.compared < bar.least:
        done = score.compared if score else 0
        return [missing or f"{done} verdicts, {bar.least} needed"]
    ret = []
    unknown = sum(score.unknown.values())
    if score.wrong:
        ret.append(f"{score.wrong} wrong")
    if unknown * 100 > bar.unknown_pct * score.compared:
        ret.append(f"{100 * unknown / score.compared:.2f} % unknown, {bar.unknown_pct} allowed")
    if bar.how and score.silent:
        ret.append(f"{score.silent} unknown without a reason")
    if missing:
        ret.append(missing)
    return ret


def _sources(counter):
    return " ".join(f"{name} {count}" for name, count in counter.most_common() if name != "-")


HEAD = ("bar", "right", "wrong", "unknown", "excused", "state", "sources")


def row(bar, score, red):
    if score is None:
        score = Score()
    sources = _sources(score.right + score.unknown + score.excused)
    return (bar.name, sum(score.right.values()), score.wrong, sum(score.unknown.values()),
            sum(score.excused.values()), "red" if red else "green", sources)


def table(rows):
    """Lines of the table."""
    width = max(len(str(r[0])) for r in [HEAD, *rows])
    for r in [HEAD, *rows]:
        numbers = "".join(f"{value!s:>10}" for value in r[1:5])
        yield f"{r[0]:{width}}{numbers}  {r[5]:6} {r[6]}".rstrip()
