# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel integer names belong to BPF and wire headers; user space writes uint32_t."""
from common import Finding, c_files, is_kernel_side, match_lines

# The short ones only where a type stands: in front of a name or a star.
NAMES = r"\b(?:__[us](?:8|16|32|64)|__(?:be|le)(?:16|32|64))\b|\b[us](?:8|16|32|64)(?=[ \t]+\**\w)"


def check():
    for path in c_files("src/", "probes/", "tests/"):
        if is_kernel_side(path):
            continue
        for line, match in match_lines(path, NAMES):
            yield Finding(path, line, f"{match.group(0)} in user space code")
