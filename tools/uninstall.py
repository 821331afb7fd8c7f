#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Removes what `make install` installed from a configured folder, and the empty directories that it made.

    uninstall.py [--missing] FOLDER

--missing: instead prints the directories that an installation would make; `make install` keeps them in RECORD, so
that an empty one of another package stays. Below DESTDIR every empty directory goes, and one with "sonde" in its path
is ours without a record. The list of files is meson's plan, not a log: files that were there already count too. Other
files stay.
"""
import json
import os
import subprocess
import sys

RECORD = "share/sonde/directories"


def introspect(folder, what):
    done = subprocess.run(["meson", "introspect", what, folder], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def planned(folder):
    """Paths of all files and links, those below directories too."""
    for source, target in introspect(folder, "--installed").items():
        if not os.path.isdir(source):
            yield target
        for where, _, names in os.walk(source):
            yield from (os.path.normpath(os.path.join(target, os.path.relpath(where, source), n)) for n in names)


def above(paths, root):
    """All directories of the paths below @root, the longest first."""
    found = set()
    for path in paths:
        while (path := os.path.dirname(path)) not in found and len(path) > len(root) and path != "/":
            found.add(path)
    return sorted(found, key=len, reverse=True)


def read_record(path):
    try:
        with open(path, encoding="utf-8") as f:
            return set(f.read().splitlines())
    except FileNotFoundError:
        return set()


def main():
    *options, folder = sys.argv[1:]
    root = os.environ.get("DESTDIR", "").rstrip("/")
    prefix = root + next(o["value"] for o in introspect(folder, "--buildoptions") if o["name"] == "prefix")
    record = os.path.join(prefix, RECORD)
    paths = sorted({root + path for path in planned(folder)} | {record})
    if options == ["--missing"]:
        print(*(where for where in above(paths, root) if not os.path.isdir(where)), sep="\n")
        return
    made = read_record(record)
    there = [path for path in paths if os.path.lexists(path)]
    for path in there:
        os.unlink(path)
    for where in above(paths, root):
        ours = root or where in made or "sonde" in os.path.relpath(where, prefix)
        if ours and os.path.isdir(where) and not os.listdir(where):
            os.rmdir(where)
    print(f"uninstalled {len(there)} files below {prefix}")


if __name__ == "__main__":
    main()
