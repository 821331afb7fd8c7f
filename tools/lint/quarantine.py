# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/quarantine.tsv stays short and young, and its rows say what is seen and what will be done."""
import datetime
import os

from common import ROOT, Finding, text

PATH = "tests/quarantine.tsv"
MOST_ROWS, OLDEST_DAYS = 10, 21


def problem_of(row, today):
    cells = row.split("\t")
    if len(cells) != 4 or not all(cell.strip() for cell in cells):
        return "has other than the four columns test, since, what is seen, what will be done"
    try:
        days = (today - datetime.date.fromisoformat(cells[1])).days
    except ValueError:
        return f"has a date that is not YYYY-MM-DD: {cells[1]}"
    if not 0 <= days <= OLDEST_DAYS:
        return f"is {days} days old, the limit is {OLDEST_DAYS}: mend the test or take it out"
    path = cells[0].partition("::")[0]
    if "::" in cells[0] and not os.path.isfile(os.path.join(ROOT, path)):
        return f"names a test of {path}, which is no file"
    return ""


def check():
    if not os.path.isfile(os.path.join(ROOT, PATH)):
        return
    rows = [(n, row) for n, row in enumerate(text(PATH).split("\n"), 1) if row.strip() and not row.startswith("#")]
    for n, row in rows:
        problem = problem_of(row, datetime.date.today())
        if problem:
            yield Finding(PATH, n, "row " + problem, True)
    if len(rows) > MOST_ROWS:
        yield Finding(PATH, rows[MOST_ROWS][0], f"{len(rows)} rows, the limit is {MOST_ROWS}", True)
