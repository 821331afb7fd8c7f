# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions of at most 150 lines, above 80 with a reason; files of at most 1000.

Data (tests/data, generated tables) is exempt. The waiver stands above the function or in the file's first lines.
"""
import re

from common import Finding, c_files, code, files, text

OTHERS = ("tests/data/", "web/vendor/", "tests/ui/vendor/")
FUNCTION_WARN, FUNCTION_MAX = 80, 150
FILE_MAX = 1000


def functions(path):
    """(first line, last line, name) of each definition: a brace in column one opens it, another closes it."""
    lines = code(path).split("\n")
    start = None
    for number, line in enumerate(lines, 1):
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start:
            head = " ".join(lines[max(0, start - 4):start])
            names = re.findall(r"(\w+)\s*\(", head)
            first = start - 1
            while first > 1 and lines[first - 2].strip() and not re.match(r"[}#]|.*;\s*$", lines[first - 2]):
                first -= 1
            yield first, number, names[0] if names else "?"
            start = None


def check():
    for path in c_files():
        for first, last, name in functions(path):
            size = last - first + 1
            if size > FUNCTION_WARN:
                yield Finding(path, first, f"{name}() has {size} lines, above {FUNCTION_WARN}",
                              hard=size > FUNCTION_MAX)
    for path in files():
        if not path.endswith((".c", ".h", ".py", ".ts", ".tsx")) or path.startswith(OTHERS):
            continue
        size = text(path).count("\n")
        if size > FILE_MAX:
            yield Finding(path, 2, f"{size} lines, above {FILE_MAX}", hard=True)
