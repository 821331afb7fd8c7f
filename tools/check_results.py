# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layer of tests did, as its runner wrote it. Standard library only.

A tally counts by part: of pytest layers a part is a test, of vm a kernel, else the whole layer. A part can run again
and then replaces what it counted before (tools/check.py).
"""
import json
import os
import re

QUARANTINE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "quarantine.tsv")
REST = "(not begun)"        # the part for tests that never ran


class Tally:
    def __init__(self, parts=None, reasons=(), failures=(), slow=()):
        self.parts = {name: list(counts) for name, counts in (parts or {}).items()}   # name: passed, failed, skipped
        self.reasons = list(reasons)                                # why something was skipped, a line each
        self.failures = [tuple(failure) for failure in failures]    # (part, what failed there or "")
        self.slow = list(slow)                                      # its slowest tests, a line each

    @classmethod
    def failed_whole(cls, why):
        return cls({"": (0, 1, 0)}, failures=[("", why)])

    def fail(self, part, why):
        self.parts.setdefault(part, [0, 0, 0])[1] += 1
        self.failures.append((part, why))

    passed = property(lambda self: sum(counts[0] for counts in self.parts.values()))
    failed = property(lambda self: sum(counts[1] for counts in self.parts.values()))
    skipped = property(lambda self: sum(counts[2] for counts in self.parts.values()))

    def failed_parts(self):
        return [name for name, counts in self.parts.items() if counts[1]]

    def lines(self):
        """What failed, a line each."""
        return [": ".join(filter(None, failure)) for failure in self.failures]

    def replace(self, part, parts):
        del self.parts[part]
        self.parts.update({name: list(counts) for name, counts in parts.items()})
        self.failures = [failure for failure in self.failures if failure[0] != part]

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def failed_cases(text):
    """Names in cmocka's output: it lists those that failed once more at the end, unless the program dies."""
    listed = re.findall(r"^\[ +FAILED +\] (?!tests|\d+ test)(\S+)", text, re.M)
    begun = re.findall(r"^\[ RUN +\] (\S+)", text, re.M)
    ended = re.findall(r"^\[ +(?:OK|FAILED|SKIPPED|ERROR) +\] (\S+)", text, re.M)
    return list(dict.fromkeys(listed + [case for case in begun[-1:] if case not in ended]))


def count_cmocka(path):
    """Cases in meson's log: cmocka prints one line for each; a program that died without one is a failure."""
    tally = Tally()
    with open(path, encoding="utf-8") as log:
        for test in map(json.loads, log):
            text = test.get("stdout", "") + test.get("stderr", "")
            passed = len(re.findall(r"^\[ +OK +\] ", text, re.M))
            failed = len(re.findall(r"^\[ +FAILED +\] (?!tests|\d+ test)", text, re.M))
            skipped = len(set(re.findall(r"^\[ +SKIPPED +\] (?!tests|\d+ test)(\S+)", text, re.M)))
            # cmocka lists the names of failed cases a second time at the end.
            summary = re.search(r"^ ?(\d+) FAILED TEST", text, re.M)
            failed = int(summary.group(1)) if summary else failed
            if test["result"] not in ("OK", "SKIP"):
                tally.failures += [(test["name"], case) for case in failed_cases(text) or [""]]
            if test["result"] == "SKIP":
                skipped = max(skipped, 1)
            elif test["result"] != "OK" and failed == 0:
                failed = 1
            elif test["result"] == "OK" and passed + skipped == 0:
                passed = 1      # a plain program: its exit status is the check
            tally.parts[test["name"]] = [passed, failed, skipped]
    return tally


SLOW_S, SLOW_TESTS = 5, 10      # what is worth a look when the run gets too long
OUTCOMES = ("started", "passed", "skipped", "failed")       # of set-up, test and end the worst counts


def rows_of(path):
    with open(path, encoding="utf-8") as f:
        yield from map(json.loads, f)


def count_pytest(path):
    """What tools/pytest_outcomes.py wrote."""
    found, outcomes, reasons, took = [], {}, {}, []
    for row in rows_of(path):
        if "tests" in row:
            found = found or row["tests"]       # a run that goes on after a death names those that were left
        elif "outcome" in row:
            before = outcomes.get(row["test"], "started")
            outcomes[row["test"]] = max(before, row["outcome"], key=OUTCOMES.index)
            if row.get("reason"):
                reasons[row["test"]] = row["reason"]
            if row.get("seconds", 0) >= SLOW_S:
                took.append((row["seconds"], row["cpu"], row["test"]))
    tally = Tally({test: (0, 0, 0) for test in outcomes})
    tally.slow = [f"{seconds:.0f} s, {cpu:.0f} s of CPU time: {test}"
                  for seconds, cpu, test in sorted(took, reverse=True)[:SLOW_TESTS]]
    for test, outcome in outcomes.items():
        if outcome in ("failed", "started"):
            tally.fail(test, reasons.get(test, "") if outcome == "failed" else "it had not ended")
        else:
            tally.parts[test] = [int(outcome == "passed"), 0, int(outcome == "skipped")]
            if test in reasons:
                tally.reasons.append(f"{test.rpartition('::')[2]}: {reasons[test]}")
    left = [test for test in found if test not in outcomes]
    if left:
        tally.fail(REST, f"{len(left)} tests did not begin, the first is {left[0]}")
    return tally


def count_file(path):
    """What our own runners write: {"passed": 1, "failed": 0, "skipped": 0, "reasons": [], "failures": ["PART: WHAT"],
    "parts": {PART: [passed, failed, skipped]}}; without parts the layer is one.
    """
    with open(path, encoding="utf-8") as f:
        did = json.load(f)
    parts = did.get("parts") or {"": (did["passed"], did["failed"], did.get("skipped", 0))}
    failures = [(part, why) if part in parts else ("", what)
                for what in did.get("failures", ()) for part, _, why in [what.partition(": ")]]
    return Tally(parts, did.get("reasons", ()), failures)


def quarantined():
    """{test: (date, what is seen, what will be done)}; a vm kernel is named as `vm: 6.1`."""
    with open(QUARANTINE, encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]
    return {row[0]: tuple(row[1:]) for row in rows}
