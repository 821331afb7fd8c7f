# SPDX-License-Identifier: GPL-2.0-or-later
"""A skeleton header is included by exactly one .c file."""
import collections
import re

from common import Finding, files, text


def check():
    users = collections.defaultdict(list)
    for path in files():
        if not path.endswith((".c", ".h")):
            continue
        for number, line in enumerate(text(path).split("\n"), 1):
            match = re.match(r'\s*#\s*include\s+"(?:[^"]*/)?([^"/]+\.skel\.h)"', line)
            if match:
                users[match.group(1)].append((path, number))
    for header, places in users.items():
        for path, number in places:
            if path.endswith(".h"):
                yield Finding(path, number, f"{header} is included by a header")
            if len(places) > 1:
                yield Finding(path, number, f"{header} is included by {len(places)} files")
