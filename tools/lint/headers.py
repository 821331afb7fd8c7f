# SPDX-License-Identifier: GPL-2.0-or-later
"""Each header compiles alone: it includes or declares what its own declarations need.

The build folder keeps a digest of each header that passed, with all headers of the project that it includes: only
those that changed are compiled.
"""
import concurrent.futures
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

import objects
from common import LIBRARY_HEADER, ROOT, Finding, c_files, in_scope, is_kernel_side, text

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
    if os.path.exists(os.path.join(ROOT, "probes/gohttp2/gohttp2_misses.def")):
        sources = [p for p in c_files("probes/gohttp2/") if p.endswith((".bpf.c", ".bpf.h"))]
        os.makedirs(os.path.join(folder, "probes/gohttp2"))
        with open(os.path.join(folder, "probes/gohttp2/gohttp2_miss_numbers.h"), "w", encoding="utf-8") as f:
            words = ["tools/gen_misses.py", "bpf", "probes/gohttp2/gohttp2_misses.def", *sources]
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


# -- headers that passed before

def read(path):
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as f:
            return f.read()
    except OSError:
        return None


@functools.lru_cache(None)
def included(path, generated):
    """Headers of the project that @path includes, directly."""
    found = []
    for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', read(path) or "", re.M):
        places = (os.path.dirname(path), "src", "include", "", generated)
        found += [p for p in (os.path.join(ROOT, place, name) for place in places) if os.path.isfile(p)][:1]
    return found


def digest(path, generated):
    seen, todo = set(), [os.path.join(ROOT, path), os.path.join(ROOT, "bpf/kernel.h"), __file__]
    while todo:
        now = todo.pop()
        if now not in seen:
            seen.add(now)
            todo += included(now, generated)
    body = "\0".join(sorted(read(p) or "" for p in seen))
    return hashlib.sha256((compilers() + body).encode("utf-8", "surrogateescape")).hexdigest()


@functools.lru_cache(None)
def compilers():
    return "".join(subprocess.run([command[0], "--version"], capture_output=True, text=True, check=True).stdout
                   for command in (USER, KERNEL))


def store():
    return os.path.join(objects.build_folder(), "lint-headers.json")


def keep(passed):
    if os.path.isdir(objects.build_folder()):
        with open(store(), "w", encoding="utf-8") as f:
            json.dump(passed, f)


def check():
    headers = [p for p in c_files("src/", "probes/", "bpf/", "include/") if p.endswith(".h")
               and ".skel.h" not in text(p) and in_scope(p)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool, tempfile.TemporaryDirectory() as generated:
        generate(generated)
        digests = {path: digest(path, generated) for path in headers}
        before = json.loads(read(store()) or "{}")
        passed = {path: before[path] for path in before if path not in digests or before[path] == digests[path]}
        changed = [path for path in headers if path not in passed]
        for path, found in zip(changed, pool.map(lambda path: compile_one(path, generated), changed)):
            if found:
                yield found
            else:
                passed[path] = digests[path]
        keep(passed)
