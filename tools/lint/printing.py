# SPDX-License-Identifier: GPL-2.0-or-later
"""Libraries neither print nor log: an error goes up to the one who speaks to people."""
from common import Finding, c_files, match_lines

MAY_PRINT = ("src/base/log.c", "src/cmd/", "src/compat/", "src/main/")
PRINTS = r"\b(?:printf|puts|putchar|perror|vprintf)\s*\(|\bfprintf\s*\(\s*std\w+"
MAY_LOG = ("src/base/log.", "src/cmd/", "src/compat/", "src/main/", "src/agent/", "src/pipeline/")


def check():
    for path in c_files("src/", "probes/"):
        if path.endswith(".bpf.c"):
            continue
        if not path.startswith(MAY_PRINT):
            for line, match in match_lines(path, PRINTS):
                yield Finding(path, line, f"prints: {match.group(0)}")
        if not path.startswith(MAY_LOG):
            for line, match in match_lines(path, r"\blog_(?:error|warn|info|write)\s*\("):
                yield Finding(path, line, f"a library logs: {match.group(0)}")
