#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs pytest and writes the outcome of each test to a file as it comes, a JSON line each.

    pytest_outcomes.py FILE [PYTEST-ARGUMENT...]

Unlike a report that pytest writes at its end, the file is there up to the moment at which a run dies or is stopped.
tools/check.py reads it: {"tests": [ID...]}; {"test": ID, "outcome": "started|passed|failed|skipped", "reason": "",
"seconds": 1.5}, the seconds being those of set-up and test.
"""
import json
import os
import sys

import pytest


class Outcomes:
    def __init__(self, out):
        self.out = out
        self.setup_seconds = 0.0

    def write(self, **row):
        self.out.write(json.dumps(row) + "\n")

    def report(self, report):
        reason = report.longrepr[2] if report.skipped and isinstance(report.longrepr, tuple) else ""
        seconds = getattr(report, "duration", 0.0) + self.setup_seconds
        self.write(test=report.nodeid, outcome=report.outcome, reason=reason, seconds=round(seconds, 3))

    def pytest_collectreport(self, report):
        if not report.passed:       # a file that cannot be imported, or skips itself
            self.report(report)

    def pytest_collection_finish(self, session):
        self.write(tests=[item.nodeid for item in session.items])

    def pytest_runtest_logstart(self, nodeid):
        self.write(test=nodeid, outcome="started")

    def pytest_runtest_logreport(self, report):
        if report.when == "setup":
            self.setup_seconds = 0.0
        if report.when == "call" or not report.passed:
            self.report(report)
        if report.when == "setup":
            self.setup_seconds = report.duration


def main():
    sys.path[0] = os.getcwd()       # as `python3 -m pytest` has it
    with open(sys.argv[1], "w", encoding="utf-8", buffering=1) as out:
        return pytest.main(sys.argv[2:], plugins=[Outcomes(out)])


if __name__ == "__main__":
    sys.exit(main())
