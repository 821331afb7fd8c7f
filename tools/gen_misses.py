#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers of the causes by which a BPF program misses data.

  gen_misses.py bpf DEF SOURCE...    header: an enumerator per row
  gen_misses.py user DEF SOURCE...   C table: number, file, line, reason

Rows are MISS_ROW(number, name, "reason"); exactly one line of the sources counts each by MISS(name).
"""
import os
import re
import sys


def fail(why):
    sys.exit(f"gen_misses.py: {why}")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def rows(path):
    found = re.findall(r'^MISS_ROW\((\d+), (\w+), "(.*)"\)$', read(path), re.M)
    numbers = [int(n) for n, _, _ in found]
    if numbers != list(range(1, len(numbers) + 1)):
        fail(f"{path}: numbers must count up from 1")
    return [(int(n), name, reason) for n, name, reason in found]


def lines(sources):
    """name -> (file, line)"""
    ret = {}
    for path in sources:
        for number, line in enumerate(read(path).split("\n"), 1):
            for name in re.findall(r"\bMISS\((\w+)\)", line):
                if line.startswith("#define"):
                    continue
                if name in ret:
                    fail(f"MISS({name}) is in {path}:{number} and in {ret[name][0]}:{ret[name][1]}")
                ret[name] = (os.path.basename(path), number)
    return ret


def main():
    what, table, sources = sys.argv[1], rows(sys.argv[2]), sys.argv[3:]
    where = lines(sources)
    for name in set(where) ^ {name for _, name, _ in table}:
        fail(f"{name}: a row without a MISS(), or a MISS() without a row")
    if what == "bpf":
        print("/* Made by tools/gen_misses.py. */")
        for number, name, _ in table:
            print(f"#define GOHTTP2_MISS_{name} {number}")
        print(f"#define GOHTTP2_MISSES {len(table) + 1}")
        return
    print('/* Made by tools/gen_misses.py. */\n#include "probes/gohttp2/gohttp2_misses.h"\n')
    print("const struct gohttp2_miss gohttp2_misses[] = {")
    for number, name, reason in table:
        print(f'\t[{number}] = {{ "{where[name][0]}", {where[name][1]}, "{reason}" }},')
    print("};\nconst unsigned gohttp2_n_misses = sizeof(gohttp2_misses) / sizeof(gohttp2_misses[0]);")


if __name__ == "__main__":
    main()
