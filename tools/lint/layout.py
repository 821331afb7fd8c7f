# SPDX-License-Identifier: GPL-2.0-or-later
"""118 columns, tabs of 8 in C, no trailing blanks, a newline at the end."""
import re

from common import Finding, files, text
from phrases import is_text

COLUMNS = 118
LONG_LINES_OK = ("LICENSE", "LICENSES/", "contrib/grafana/", "tests/golden/", "tests/data/", "tables/",
                 "tests/fuzz/corpus/", "tests/vm/expect/", "tests/ui/vendor/", "web/vendor/")
WIDE = (".md",)     # tables and pasted output


def check():
    for path in files():
        if not is_text(path) or path.startswith(LONG_LINES_OK):
            continue
        body = text(path)
        if body and not body.endswith("\n"):
            yield Finding(path, body.count("\n") + 1, "no newline at the end")
        for number, line in enumerate(body.split("\n"), 1):
            if re.search(r"[ \t]$", line):
                yield Finding(path, number, "blank at the end of the line")
            if len(line.expandtabs(8)) > COLUMNS and not path.endswith(WIDE):
                yield Finding(path, number, f"{len(line.expandtabs(8))} columns, at most {COLUMNS}")
            if path.endswith((".c", ".h")) and re.match(r" {8}|\t* {8}\S", line):
                yield Finding(path, number, "indented by blanks, not tabs")
