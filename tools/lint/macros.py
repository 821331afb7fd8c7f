# SPDX-License-Identifier: GPL-2.0-or-later
"""No control flow hides in a macro."""
import re

from common import Finding, c_files, match_lines


def check():
    for path in c_files():
        for line, match in match_lines(path, r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n]*\\\n)*[^\n]*)"):
            # A function that a macro defines may return: its body stands in braces behind a parameter list.
            flow = re.search(r"\b(return|goto|break|continue)\b", match.group(2))
            if flow and not re.search(r"\b(static\b|SEC\(\w+\)).*\)\s*\\?\s*\{", match.group(2), re.S):
                yield Finding(path, line, f"{flow.group(1)} inside the macro {match.group(1)}")
