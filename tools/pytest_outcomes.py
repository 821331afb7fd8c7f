#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs pytest and writes the outcome of each test to a file as it comes, a JSON line each.

    pytest_outcomes.py FILE [PYTEST-ARGUMENT...]

Unlike a report that pytest writes at its end, the file is there up to the moment at which a run dies or is stopped,
and a run of the same file goes on behind the tests that it names. tools/check.py reads it:

    {"tests": [ID...], "limits": {ID: seconds}}     what was found, the limits that a mark sets
    {"test": ID, "phase": "setup|call", "at": monotonic seconds}
    {"test": ID, "outcome": "started|passed|failed|skipped", "reason": "", "seconds": 1.5, "cpu": 0.4}

The seconds are those of set-up and test, CPU time that of pytest and of the children that ended meanwhile.
"""
import json
import os
import resource
import sys
import time

import pytest


def cpu_seconds():
    return sum(used.ru_utime + used.ru_stime
               for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


class Outcomes:
    def __init__(self, out):
        out.seek(0)
        self.begun = {row["test"] for row in map(json.loads, out) if "test" in row}
        self.out = out
        self.setup_seconds = 0.0
        self.cpu_before = 0.0

    def write(self, **row):
        self.out.write(json.dumps(row) + "\n")

    def report(self, report):
        reason = report.longrepr[2] if report.skipped and isinstance(report.longrepr, tuple) else ""
        seconds = getattr(report, "duration", 0.0) + self.setup_seconds
        self.write(test=report.nodeid, outcome=report.outcome, reason=reason, seconds=round(seconds, 3),
                   cpu=round(cpu_seconds() - self.cpu_before, 3))

    def pytest_configure(self, config):
        config.addinivalue_line("markers", "limit(seconds): the test may take longer than others (tools/check.py)")

    def pytest_collectreport(self, report):
        if not report.passed:       # a file that cannot be imported, or skips itself
            self.report(report)

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if item.nodeid not in self.begun]

    def pytest_collection_finish(self, session):
        marks = {item.nodeid: item.get_closest_marker("limit") for item in session.items}
        self.write(tests=list(marks), limits={test: mark.args[0] for test, mark in marks.items() if mark})

    def pytest_runtest_logstart(self, nodeid):
        self.cpu_before = cpu_seconds()
        self.write(test=nodeid, outcome="started")
        self.write(test=nodeid, phase="setup", at=time.monotonic())

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item):
        self.write(test=item.nodeid, phase="call", at=time.monotonic())

    def pytest_runtest_logreport(self, report):
        if report.when == "setup":
            self.setup_seconds = 0.0
        if report.when == "call" or not report.passed:
            self.report(report)
        if report.when == "setup":
            self.setup_seconds = report.duration


def main():
    sys.path[0] = os.getcwd()       # as `python3 -m pytest` has it
    with open(sys.argv[1], "a+", encoding="utf-8", buffering=1) as out:
        return pytest.main(sys.argv[2:], plugins=[Outcomes(out)])


if __name__ == "__main__":
    sys.exit(main())
