#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Archives to one archive with one object, in which only sonde_* is global.   one_object.py OUTPUT ARCHIVE...

The first archive is taken whole, of the others what it needs.
"""
import os
import subprocess
import sys


def main():
    out, first, *others = sys.argv[1:]
    whole = out + ".o"
    tool = {name: os.environ.get(name.upper(), name) for name in ("ld", "objcopy", "ar")}
    subprocess.run([tool["ld"], "-r", "-o", whole, "--whole-archive", first, "--no-whole-archive",
                    "--start-group", *others, "--end-group"], check=True)
    subprocess.run([tool["objcopy"], "--wildcard", "--keep-global-symbol=sonde_*", "--strip-debug", whole],
                   check=True)
    if os.path.exists(out):
        os.remove(out)
    subprocess.run([tool["ar"], "rcsD", out, whole], check=True)
    os.remove(whole)


main()
