# SPDX-License-Identifier: GPL-2.0-or-later
"""No variable at file scope can change: two pipelines must be able to live in one process."""
import re

from common import Finding, c_files, code, is_kernel_side


def check():
    for path in c_files("src/", "probes/"):
        if is_kernel_side(path):
            continue
        for number, line in enumerate(code(path).split("\n"), 1):
            # A definition begins in column one; "const" may stand before the type or, for arrays of pointers,
            # behind the star.
            match = re.match(r"(?!typedef|extern|return|else|enum\s*\{|struct\s+\w+\s*[{;]|union\s+\w+\s*\{)"
                             r"(?:static\s+)?(?:struct\s+|enum\s+|unsigned\s+)?\w+[\s*]+(?:\w+\s*\*\s*)?(\w+)"
                             r"(?:\[[^\]]*\])*\s*(?:=|;)", line)
            if match and not re.search(r"\bconst\b", line.split("=")[0]):
                yield Finding(path, number, f"{match.group(1)} can change")
