#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the tables of options in doc/COMPATIBILITY.md from the rows of the dialects.

    compat_tables.py SONDE          rewrites the page
    compat_tables.py SONDE --check  exits with 1 if the page differs

A table stands between <!-- options of TOOL --> and <!-- end of options -->.
"""
import json
import os
import re
import subprocess
import sys

PAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "doc", "COMPATIBILITY.md")
PART = re.compile(r"(<!-- options of (.*?) -->\n).*?(<!-- end of options -->)", re.S)
COLUMNS = 118


def rows(sonde):
    done = subprocess.run([sonde, "compat", "--json"], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def names(row):
    """`-k`, `--stack-traces` or both."""
    return " ".join(f"`{dash}{name}`" for dash, name in (("-", row.get("letter")), ("--", row.get("option"))) if name)


def wrapped(text):
    lines = [""]
    for word in text.split(" "):
        if len(lines[-1]) + 1 + len(word) > COLUMNS and lines[-1]:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return "\n".join(lines)


def table(found):
    """The options that are the tool's in one sentence, the others by what is said about them."""
    by_text = {}
    for row in found:
        if row["status"] != "same":
            by_text.setdefault((row["status"], row["text"]), []).append(names(row))
    same = [names(row) for row in found if row["status"] == "same"]
    honoured = sum(row["status"] != "refused" for row in found)
    lines = [wrapped(f"{honoured} of {len(found)} options. The same: {', '.join(same)}."), ""]
    lines += ["| option | | how it differs, or the native way |", "|---|---|---|"]
    for (status, text), options in sorted(by_text.items(), key=lambda item: item[0][0]):
        lines.append(f"| {', '.join(options)} | {status} | {text.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def main():
    sonde, check = sys.argv[1], "--check" in sys.argv
    found = rows(sonde)
    with open(PAGE, encoding="utf-8") as f:
        page = f.read()
    tools = {row["tool"] for row in found}
    shown = {m[2] for m in PART.finditer(page)}
    if tools != shown:
        sys.exit(f"{PAGE}: dialects without a table or tables without a dialect: {tools ^ shown}")
    new = PART.sub(lambda m: m[1] + table([r for r in found if r["tool"] == m[2]]) + m[3], page)
    if check and new != page:
        sys.exit(f"{PAGE} is not what the rows say: run tools/compat_tables.py {sonde}")
    if not check:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(new)


if __name__ == "__main__":
    main()
