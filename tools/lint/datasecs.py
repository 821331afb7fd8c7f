# SPDX-License-Identifier: GPL-2.0-or-later
"""The variables of a data section are apart in the types of each BPF object.

A kernel refuses the types of an object where they are not: clang puts a small static constant into a section that the
types do not know (.rodata.cst8), and has it in .rodata at place 0. The programs load all the same, but without lines,
and the verifier walks global functions at each of their calls.
"""
import glob
import json
import os
import subprocess

from common import Finding, c_files
from objects import build_folder


def misplaced(path):
    """(section, variable) that begins before the one before it ends."""
    done = subprocess.run(["bpftool", "-j", "btf", "dump", "file", path], capture_output=True, text=True, check=True)
    types = {row["id"]: row for row in json.loads(done.stdout)["types"]}
    for section in types.values():
        end = 0
        for var in sorted(section.get("vars", ()), key=lambda var: var["offset"]):
            if var["offset"] < end:
                yield section["name"], types[var["type_id"]]["name"]
            end = var["offset"] + var["size"]


def check():
    objects = sorted(glob.glob(os.path.join(build_folder(), "probes", "*.bpf.o")))
    if not objects:
        yield Finding("probes", 0, f"{build_folder()} has no BPF programs: run `make all`", True)
    sources = {os.path.basename(path)[:-6]: path for path in c_files("probes/", suffix=(".bpf.c",))}
    for path in objects:
        for section, name in misplaced(path):
            yield Finding(sources.get(os.path.basename(path)[:-6], "probes"), 1,
                          f"{name} has another variable's place in {section}: use an expression", True)
