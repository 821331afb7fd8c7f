#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the lines of `sonde syscalls --strace` with those of strace, thread by thread, over one run of a program.

  strace_lines.py [--calls] FILE     programs of FILE, one shell command a line; share of equal lines for each
  strace_lines.py [--calls] -- COMMAND [ARG...]

Both tracers watch the same run, so nothing is normalised but the time that sonde adds to each line: strace's two
halves of an interrupted line are joined, and padding in front of the result stays as it is. --calls lists the calls
that differ most often, with an example of each.
"""
import collections
import difflib
import os
import re
import subprocess
import sys
import tempfile

import helpers

UNFINISHED, RESUMED = re.compile(r" <unfinished \.\.\.>$"), re.compile(r"^<\.\.\. \w+ resumed>")
RESULT = re.compile(r"\) += (?=[-?\d])")
RESULT_COLUMN = 33


def threads_of(text):
    """{tid: its lines in order}; both halves of an interrupted line stand where the call returned."""
    out, open_calls = collections.defaultdict(list), {}
    for line in text.split("\n"):
        tid, _, rest = line.partition(" ")
        rest = rest.lstrip()
        if not tid.isdigit() or not rest:
            continue
        if UNFINISHED.search(rest):
            open_calls[tid] = UNFINISHED.sub("", rest)
            continue
        if RESUMED.match(rest) and tid in open_calls:
            rest = joined(open_calls.pop(tid), RESUMED.sub("", rest))
        out[tid].append(rest)
    return out


def joined(first, second):
    """The line as strace would have printed it in one piece: the result stands in its column."""
    m = list(RESULT.finditer(first + second))
    if not m:
        return first + second
    at, text = m[-1], first + second
    return text[:at.start() + 1].ljust(RESULT_COLUMN) + " = " + text[at.end():]


def without_time(line):
    return re.sub(r" <\d+\.\d+>$", "", line)


def name_of(line):
    m = re.match(r"\w+", line)
    return m[0] if m else line[:3]


def differing(theirs, ours):
    """(line of strace or None, line of sonde or None) of all that are not equal."""
    names = [name_of(x) for x in theirs], [name_of(x) for x in ours]
    for op, a, a_end, b, b_end in difflib.SequenceMatcher(None, *names, autojunk=False).get_opcodes():
        if op == "equal":
            yield from ((x, y) for x, y in zip(theirs[a:a_end], ours[b:b_end]) if x != y)
        else:
            yield from ((x, None) for x in theirs[a:a_end])
            yield from ((None, y) for y in ours[b:b_end])


NATIVE = ("syscalls", "--agent=no", "--format", "strace", "--time", "none")


def compare(command, timeout=120, binary=helpers.BINARY, tool=NATIVE):
    """(lines of strace, [differing pairs]) of one run, which @tool watches too."""
    with tempfile.TemporaryDirectory() as tmp:
        theirs, ours = os.path.join(tmp, "strace"), os.path.join(tmp, "sonde")
        done = subprocess.run([binary, *tool, "--where", "proc.name!=strace", "-o", ours, "--", "strace", "-f",
                               "-o", theirs, *command],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              timeout=timeout, check=False, cwd=tmp)
        with open(theirs, encoding="latin-1") as f:
            theirs = threads_of(f.read())
        with open(ours, encoding="latin-1") as f:
            ours = threads_of(f.read())
    total, pairs = 0, []
    for tid, lines in theirs.items():
        mine = [without_time(x) for x in ours.get(tid, [])]
        total += len(lines)
        pairs += differing(lines, mine)
    if not total:
        raise RuntimeError(f"no lines of {command}: {done.stderr.decode()}")
    return total, pairs


def commands_of(argv):
    if argv[0] == "--":
        return [argv[1:]]
    with open(argv[0], encoding="utf-8") as f:
        return [["sh", "-c", line] for line in f.read().splitlines() if line and not line.startswith("#")]


def main(argv):
    listed = argv[0] == "--calls"
    lines = unequal = 0
    by_name = collections.defaultdict(list)
    for command in commands_of(argv[listed:]):
        total, pairs = compare(command)
        lines, unequal = lines + total, unequal + len(pairs)
        print(f"{total:7d} lines, {100 - 100 * len(pairs) / total:6.2f} % equal: {command[-1][:90]}", flush=True)
        for pair in pairs:
            by_name[name_of(pair[0] or pair[1])].append(pair)
    print(f"{lines:7d} lines, {100 - 100 * unequal / lines:6.2f} % equal")
    for name, pairs in sorted(by_name.items(), key=lambda x: -len(x[1])) if listed else ():
        print(f"\n{len(pairs)} {name}")
        for theirs, ours in pairs[:6]:
            print(f"  strace {theirs}\n  sonde  {ours}")


if __name__ == "__main__":
    main(sys.argv[1:])
