# SPDX-License-Identifier: GPL-2.0-or-later
"""Bytes become a record in one place of each decoder; nobody else casts to a *_rec."""
from common import Finding, c_files, match_lines
from deps import meson_list

# Where records are made or recognised rather than decoded.
ALSO = ("src/event/", "src/ring/", "src/probe/", "tests/")


def check():
    for path in c_files("src/", "probes/"):
        parts = path.split("/")
        decodes = parts[0] == "probes" and "/".join(parts[2:]) in meson_list("/".join(parts[:2]), "probe_decode")
        if decodes or path.startswith(ALSO) or path.endswith(".bpf.c"):
            continue
        for line, match in match_lines(path, r"\(\s*(?:const\s+)?struct\s+(\w+_rec)\s*\*\s*\)\s*[\w(&]"):
            yield Finding(path, line, f"cast to struct {match.group(1)} outside a decoder")
