# SPDX-License-Identifier: GPL-2.0-or-later
"""Ids of the kernel's types come from sonde_types: libbpf answers by the BTF that it relocates with, which may be
a reduced copy with other numbers."""
from common import Finding, c_files, match_lines


def check():
    for path in c_files("bpf/", "probes/", suffix=(".bpf.c", ".bpf.h")):
        for line, match in match_lines(path, r"\bbpf_core_type_id_kernel\s*\("):
            yield Finding(path, line, "bpf_core_type_id_kernel() may answer with an id of reduced BTF: "
                                      "use TYPED() of bpf/typed.bpf.h")
