#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Removes what `make install` installed from a configured folder, and directories that are empty then.

    uninstall.py FOLDER

The list is meson's plan of the installation, not a log of the last one: files that were there already count too.
DESTDIR is honoured. Other files stay; without DESTDIR the directories that every prefix has stay too (bin, lib...).
"""
import json
import os
import subprocess
import sys

KEPT = ("bin", "etc", "include", "lib", "lib64", "sbin", "share", "share/man")


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


def main():
    folder, root = sys.argv[1], os.environ.get("DESTDIR", "").rstrip("/")
    prefix = root + next(o["value"] for o in introspect(folder, "--buildoptions") if o["name"] == "prefix")
    paths = sorted({root + path for path in planned(folder)})
    there = [path for path in paths if os.path.lexists(path)]
    for path in there:
        os.unlink(path)
    kept = {root} if root else {prefix, *(os.path.join(prefix, name) for name in KEPT)}
    for where in sorted({os.path.dirname(path) for path in paths}, key=len, reverse=True):
        while where not in kept and os.path.isdir(where) and not os.listdir(where):
            os.rmdir(where)
            where = os.path.dirname(where)
    print(f"uninstalled {len(there)} files below {prefix}")


if __name__ == "__main__":
    main()
