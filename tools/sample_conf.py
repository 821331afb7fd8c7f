#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints a sample of /etc/sonde/agent.conf out of the help of `sonde agent` and of recordings: each row as a comment
with its default.

    sample_conf.py SONDE
"""
import re
import subprocess
import sys
import textwrap


def rows(text):
    """(name, word for its value or "", explanation) of the options that may stand in the file."""
    for part in re.split(r"\n(?=\S)", text):
        if part.startswith(("Usage:", "Examples:", "Start:")) or "\n      --" not in part:
            continue
        for row in re.split(r"\n {6}--", part)[1:]:
            name, value, about = re.match(r"(\S+)(?: (\S+))?\s+(.*)", row, re.S).groups()
            yield name, value or "", " ".join(about.split())


def main():
    text = "".join(subprocess.run([sys.argv[1], *words], check=True, capture_output=True, text=True).stdout
                   for words in (("agent", "--help"), ("help", "recording")))
    print("# /etc/sonde/agent.conf: settings of `sonde agent`, see sonde-agent(1). `sonde agent --check` checks it;\n"
          "# the agent reads it again on SIGHUP. A row shows its default, or the kind of value if it has none.")
    for name, value, about in rows(text):
        default = re.search(r" \(default ((?!not\b)[^)]*)\)", about)
        print("\n" + textwrap.fill(about, 110, initial_indent="# ", subsequent_indent="# "))
        print(f"#{name} = {default[1] if default else value or 'yes'}")


if __name__ == "__main__":
    main()
