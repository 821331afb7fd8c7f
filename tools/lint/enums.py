# SPDX-License-Identifier: GPL-2.0-or-later
"""A named enum ends in X__MAX, so that tables and switches can be checked against it."""
import re

from common import Finding, c_files, is_kernel_side, match_lines


def check():
    for path in c_files("src/", "probes/"):
        if is_kernel_side(path):
            continue
        for line, match in match_lines(path, r"\benum\s+(\w+)\s*\{([^}]*)\}"):
            words = re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)", match.group(2).strip())
            if not words or not words[-1].endswith("__MAX"):
                yield Finding(path, line, f"enum {match.group(1)} does not end in __MAX")
