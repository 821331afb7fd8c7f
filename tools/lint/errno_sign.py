# SPDX-License-Identifier: GPL-2.0-or-later
"""Failures are negative errno values: no positive one is returned."""
from common import Finding, c_files, match_lines


def check():
    for path in c_files("src/", "probes/"):
        for line, match in match_lines(path, r"\breturn\s+(?:[^;]*[?:]\s*)?(E[A-Z0-9]{2,})\s*(?=[;:])"):
            yield Finding(path, line, f"returns positive {match.group(1)}")
