#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers for the places where a BPF program counts what it could not do.

  gen_sites.py bpf DEF SOURCE...    header: an enumerator per row
  gen_sites.py user DEF SOURCE...   C table: number, file, line, reason

Rows are SITE(number, name, "reason"); the place of a row is the one line of the sources that says TELL(name).
"""
import os
import re
import sys


def fail(why):
    sys.exit(f"gen_sites.py: {why}")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def rows(path):
    found = re.findall(r'^SITE\((\d+), (\w+), "(.*)"\)$', read(path), re.M)
    numbers = [int(n) for n, _, _ in found]
    if numbers != list(range(1, len(numbers) + 1)):
        fail(f"{path}: numbers must count up from 1")
    return [(int(n), name, reason) for n, name, reason in found]


def places(sources):
    """name -> (file, line)"""
    ret = {}
    for path in sources:
        for number, line in enumerate(read(path).split("\n"), 1):
            for name in re.findall(r"\bTELL\((\w+)\)", line):
                if line.startswith("#define"):
                    continue
                if name in ret:
                    fail(f"TELL({name}) stands in {path}:{number} and in {ret[name][0]}:{ret[name][1]}")
                ret[name] = (os.path.basename(path), number)
    return ret


def main():
    what, table, sources = sys.argv[1], rows(sys.argv[2]), sys.argv[3:]
    where = places(sources)
    for name in set(where) ^ {name for _, name, _ in table}:
        fail(f"{name}: a row without a TELL(), or a TELL() without a row")
    if what == "bpf":
        print("/* Made by tools/gen_sites.py. */")
        for number, name, _ in table:
            print(f"#define GOHTTP2_SITE_{name} {number}")
        print(f"#define GOHTTP2_SITES {len(table) + 1}")
        return
    print('/* Made by tools/gen_sites.py. */\n#include "probes/gohttp2/gohttp2_site.h"\n')
    print("const struct gohttp2_site gohttp2_sites[] = {")
    for number, name, reason in table:
        print(f'\t[{number}] = {{ "{where[name][0]}", {where[name][1]}, "{reason}" }},')
    print("};\nconst unsigned gohttp2_n_sites = sizeof(gohttp2_sites) / sizeof(gohttp2_sites[0]);")


if __name__ == "__main__":
    main()
