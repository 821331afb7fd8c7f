#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""tables/cilium_drops.tsv to C rows for src/cilium/kdrops.h.   gen_cilium.py TABLE OUTPUT"""
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    names = [name for name, _ in rows]
    if names != sorted(set(names)):
        sys.exit(f"{sys.argv[1]}: the names are not sorted, or one stands twice")
    bad = [name for name, code in rows if not 130 <= int(code) <= 254]
    if bad:
        sys.exit(f"{sys.argv[1]}: {', '.join(bad)}: codes of drops are 130 to 254")
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        f.write('#include "cilium/kdrops.h"\n\nconst struct kdrop_row kdrop_rows[] = {\n')
        f.writelines(f'\t{{ "{name}", {code} }},\n' for name, code in rows)
        f.write("};\nconst size_t n_kdrop_rows = sizeof(kdrop_rows) / sizeof(*kdrop_rows);\n")


main()
