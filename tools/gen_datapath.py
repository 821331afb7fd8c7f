#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The numbers of a datapath that uses include/sonde/datapath.bpf.h: one table for both worlds.

  gen_datapath.py header TABLE           C for the BPF side: reasons, points, and source files by name
  gen_datapath.py check TABLE OBJECT     holds a compiled object against the table; exit status 1 when they differ

A table has rows of words: kind, number, name, and the rest of the line as the text that people read.

  file   1    vpc.bpf.c
  drop   133  policy_denied    Policy denied
  point  64   arp_response     ARP answered for the gateway
"""
import collections
import json
import subprocess
import sys

Row = collections.namedtuple("Row", "number name text")
# Which numbers a kind may have: a reason of 2 or from 130 on is a drop, what lies between is a place.
RANGES = {"file": range(1, 256), "drop": range(130, 256), "point": range(16, 130)}


class TableError(Exception):
    pass


def read_table(path):
    """{kind: [Row]}; numbers and names are unique in their kind."""
    table = {kind: [] for kind in RANGES}
    with open(path, encoding="utf-8") as lines:
        for at, line in enumerate(lines, 1):
            words = line.split("#")[0].split(None, 3)
            if not words:
                continue
            add_row(table, f"{path}:{at}", words)
    if not table["file"]:
        raise TableError(f"{path}: no row of kind 'file'")
    return table


def add_row(table, where, words):
    if len(words) < 3 or words[0] not in table:
        raise TableError(f"{where}: a row is one of {', '.join(table)}, then a number and a name")
    kind, number, name = words[:3]
    if not number.isdigit() or int(number) not in RANGES[kind]:
        low, high = RANGES[kind][0], RANGES[kind][-1]
        raise TableError(f"{where}: '{number}' is not a number of a {kind} ({low} to {high})")
    if kind != "file" and not name.isidentifier():
        raise TableError(f"{where}: '{name}' is not a name that C can have")
    row = Row(int(number), name, words[3].strip() if len(words) > 3 else name)
    for other in table[kind]:
        if other.number == row.number or other.name == row.name:
            raise TableError(f"{where}: {kind} {row.number} '{row.name}' was there: {other.number} '{other.name}'")
    table[kind].append(row)


def constants(table):
    """(enum, constant, number), as the header has them and BTF keeps them."""
    for kind in ("drop", "point"):
        for row in table[kind]:
            yield f"sonde_dp_{kind}", f"{kind}_{row.name}".upper(), row.number
    for row in table["file"]:
        yield "sonde_dp_file", "FILE_" + "".join(c if c.isalnum() else "_" for c in row.name).upper(), row.number


def header(table, path):
    out = [f"/* Made by tools/gen_datapath.py of {path.rsplit('/', 1)[-1]}. */", "#pragma once", ""]
    enums = collections.OrderedDict()
    for enum, name, number in constants(table):
        enums.setdefault(enum, []).append(f"\t{name} = {number},")
    for enum, rows in enums.items():
        out += [f"enum {enum} {{", *rows, "};", ""]
    out += ["/* Keeps the numbers in the object's type information, for the check. */"]
    out += [f"static const volatile enum {enum} {enum}_kept __attribute__((used));" for enum in enums]
    out += ["", "/* Of the file that this stands in: a constant; none for a file that is not in the table. */",
            "#define SONDE_FILE_ID (\\"]
    out += [f'\t!__builtin_strcmp(__FILE_NAME__, "{row.name}") ? {row.number} : \\' for row in table["file"]]
    out += ["\tsonde_file_is_not_in_the_table())", "",
            "/* Never defined: a call that is left over does not link. */",
            "__u8 sonde_file_is_not_in_the_table(void);"]
    return "\n".join(out) + "\n"


def kept(path):
    """{(enum, constant): number} of the object's BTF."""
    dump = subprocess.run(["bpftool", "-j", "btf", "dump", "file", path], check=True,
                          stdout=subprocess.PIPE)
    return {(t["name"], v["name"]): v["val"] for t in json.loads(dump.stdout)["types"]
            if t["kind"] == "ENUM" and t["name"].startswith("sonde_dp_") for v in t["values"]}


def check(table, path):
    """Sentences about what differs."""
    want, have = {(e, n): v for e, n, v in constants(table)}, kept(path)
    for key in sorted(want.keys() | have.keys()):
        if want.get(key) != have.get(key):
            yield f"{key[1]}: {want.get(key, 'nothing')} in the table, {have.get(key, 'nothing')} in {path}"


def main(words):
    if len(words) == 2 and words[0] == "header":
        sys.stdout.write(header(read_table(words[1]), words[1]))
        return 0
    if len(words) == 3 and words[0] == "check":
        wrong = list(check(read_table(words[1]), words[2]))
        print("\n".join(wrong) or f"{words[2]} has the numbers of {words[1]}")
        return 1 if wrong else 0
    sys.stderr.write(__doc__)
    return 2


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (TableError, OSError, subprocess.CalledProcessError) as e:
        sys.exit(f"gen_datapath.py: {e}")
