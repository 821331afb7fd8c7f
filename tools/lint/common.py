# SPDX-License-Identifier: GPL-2.0-or-later
"""What the lint scripts share. A check is a module with a docstring and `check()`, which yields Finding rows.

A finding is waived by a comment on its line or at most two lines above: `lint-ok(NAME): reason`, NAME being the
check's file name. A waiver without a reason waives nothing.
"""
import collections
import functools
import os
import re
import subprocess

# LINT_ROOT: another tree, for the tests of the checks themselves.
ROOT = os.environ.get("LINT_ROOT") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# @hard: no reason excuses it
Finding = collections.namedtuple("Finding", "path line text hard", defaults=(False,))


ONLY = set()    # files to report on; empty = all


def limit_to(paths):
    ONLY.update(paths or ())


def in_scope(path):
    return not ONLY or path in ONLY


@functools.lru_cache(None)
def files():
    """Paths of what belongs to the project: tracked, or new and not ignored."""
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True,
                         check=False)
    names = out.stdout.split("\n") if out.returncode == 0 else walk()
    return sorted({name for name in names if name and os.path.isfile(os.path.join(ROOT, name))})


def walk():
    """For a tree without git: everything but build folders and hidden ones."""
    for folder, below, names in os.walk(ROOT):
        below[:] = [b for b in below if not b.startswith((".", "build")) or b == ".ci"]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), ROOT)


def c_files(*prefixes, suffix=(".c", ".h")):
    return [f for f in files() if f.endswith(suffix) and (not prefixes or f.startswith(prefixes))]


@functools.lru_cache(None)
def text(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="surrogateescape") as f:
        return f.read()


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


@functools.lru_cache(None)
def code(path):
    """The text without comments and without the inside of strings; lines and columns stay."""
    def keep_quotes(match):
        s = match.group(0)
        return blank(match) if s.startswith("/") else s[0] + re.sub(r"[^\n]", " ", s[1:-1]) + s[-1]
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', keep_quotes, text(path),
                  flags=re.S)


def match_lines(path, pattern, body=None):
    """(line number, match) for each match of @pattern in the code of @path."""
    body = code(path) if body is None else body
    for match in re.finditer(pattern, body, re.M):
        yield body.count("\n", 0, match.start()) + 1, match


def waived(name, finding):
    if finding.hard:
        return False
    lines = text(finding.path).split("\n")
    near = lines[max(0, finding.line - 3):finding.line]
    return any(re.search(rf"lint-ok\({re.escape(name)}\): *\w", line) for line in near)


LIBRARY_HEADER = "include/sonde/sonde.h"    # of libsonde: for programs, not for BPF


def is_kernel_side(path):
    """BPF code, or a header that both worlds compile."""
    return (path.startswith("bpf/") or path.endswith((".bpf.c", ".bpf.h", "_wire.h")) or
            (path.startswith("include/sonde/") and path != LIBRARY_HEADER))
