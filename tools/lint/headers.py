# SPDX-License-Identifier: GPL-2.0-or-later
"""Each header compiles alone: it includes or declares what its own declarations need."""
import concurrent.futures
import os
import subprocess
import sys
import tempfile

from common import LIBRARY_HEADER, ROOT, Finding, c_files, is_kernel_side, text

INCLUDES = ["-Isrc", "-Iinclude", "-I."]
USER = ["cc", "-std=gnu11", "-D_GNU_SOURCE", "-fsyntax-only", "-Wall", "-Werror", "-Wno-unused-function", *INCLUDES]
KERNEL = ["clang", "-target", "bpf", "-D__TARGET_ARCH_x86", "-std=gnu11", "-fsyntax-only", "-Wall", "-Werror",
          "-Wno-unused-function", "-Wno-missing-declarations", "-Wno-pragma-clang-attribute",
          "-include", "bpf/kernel.h", *INCLUDES]


def worlds(path):
    if path == LIBRARY_HEADER:
        return [USER]
    if path.endswith("_wire.h") or (path.startswith("include/sonde/") and not path.endswith(".bpf.h")):
        return [USER, KERNEL]
    return [KERNEL] if is_kernel_side(path) else [USER]


def generate(folder):
    """Headers that the build makes out of tables."""
    if os.path.exists(os.path.join(ROOT, "probes/gohttp2/gohttp2_sites.def")):
        sources = [p for p in c_files("probes/gohttp2/") if p.endswith((".bpf.c", ".bpf.h"))]
        os.makedirs(os.path.join(folder, "probes/gohttp2"))
        with open(os.path.join(folder, "probes/gohttp2/gohttp2_sites.h"), "w", encoding="utf-8") as f:
            words = ["tools/gen_sites.py", "bpf", "probes/gohttp2/gohttp2_sites.def", *sources]
            subprocess.run([sys.executable, *words],
                           cwd=ROOT, check=True, stdout=f)
    if os.path.exists(os.path.join(ROOT, "tools/gen_tables.py")):
        os.makedirs(os.path.join(folder, "probes/sys"))
        with open(os.path.join(folder, "probes/sys/syscalls_bpf.h"), "w", encoding="utf-8") as f:
            subprocess.run([sys.executable, "tools/gen_tables.py", "bpf", "tables", "x86"], cwd=ROOT, check=True,
                           stdout=f)
    if not os.path.exists(os.path.join(ROOT, "tools/gen_scap.py")):
        return
    os.mkdir(os.path.join(folder, "scap"))
    subprocess.run([sys.executable, "tools/gen_scap.py", "tables", f"{folder}/scap/scap_types.h", os.devnull],
                   cwd=ROOT, check=True)


def compile_one(path, generated):
    for command in worlds(path):
        words = [*command, f"-I{os.path.dirname(path)}", f"-I{generated}", "-DPROBE_ID=1", "-x", "c", "-"]
        # Through standard input: a header as the main file would make `#pragma once` and the like complain.
        done = subprocess.run(words, cwd=ROOT, input=f'#include "{os.path.basename(path)}"\n', text=True,
                              capture_output=True, check=False)
        if done.returncode != 0:
            first = next((line for line in done.stderr.split("\n") if "error" in line), done.stderr.split("\n")[0])
            return Finding(path, 1, f"does not compile alone ({command[0]}): {first}")
    return None


def check():
    headers = [p for p in c_files("src/", "probes/", "bpf/", "include/") if p.endswith(".h")
               and ".skel.h" not in text(p)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool, tempfile.TemporaryDirectory() as generated:
        generate(generated)
        for found in pool.map(lambda path: compile_one(path, generated), headers):
            if found:
                yield found
