# SPDX-License-Identifier: GPL-2.0-or-later
"""Words that may not be merged: promises for later, copies to be kept alike by hand, and the build machine."""
import re

from common import Finding, files, text

# Split so that this file does not find itself.
FORBIDDEN = {
    "keep in " + "sync": "generate one from the other, or assert it",
    "kept in " + "sync": "generate one from the other, or assert it",
    r"\bTO" + r"DO\b": "do it, or leave it out",
    r"\bFIX" + r"ME\b": "fix it",
    r"\bX" + r"XX\b": "say what is meant",
    r"(?<![\w.])/wo" + r"rk/": "a path of one machine",
    r"/ho" + r"me/\w": "a path of one machine",
    r"\b(?:deb|security|ftp|snapshot)\.debi" + r"an\.org": "package hosts come from the machine's configuration",
}


ANY = re.compile("|".join(FORBIDDEN))


def is_text(path):
    others = ("tests/data/", "tests/fuzz/corpus/", "LICENSES/", "web/vendor/", "tests/ui/vendor/")
    return not path.startswith(others) and "\0" not in text(path)


def check():
    for path in files():
        if not is_text(path) or not ANY.search(text(path)):
            continue
        for number, line in enumerate(text(path).split("\n"), 1):
            for pattern, advice in FORBIDDEN.items():
                match = re.search(pattern, line)
                if match:
                    yield Finding(path, number, f"'{match.group(0)}': {advice}")
