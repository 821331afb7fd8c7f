# SPDX-License-Identifier: GPL-2.0-or-later
"""Shell and Python files are at least well-formed; live tests enter namespaces in a way that works in a chroot."""
import ast
import os
import re
import subprocess

from common import ROOT, Finding, files, text

BY_IP = re.compile(r'"ip", "(-n|netns", "exec)"')     # makes / a slave mount, refused where it is no mount point


def check():
    for path in files():
        body = text(path)
        if path.startswith("tests/e2e/") and (found := BY_IP.search(body)):
            yield Finding(path, body.count("\n", 0, found.start()) + 1, "enters a namespace by ip: use helpers.Netns")
        first = body.split("\n", 1)[0]
        if path.endswith(".py") or (first.startswith("#!") and "python" in first):
            try:
                ast.parse(body)
            except SyntaxError as e:
                yield Finding(path, e.lineno or 1, f"not Python: {e.msg}")
        elif first.startswith("#!") and first.endswith(("sh", "bash")):
            shell = os.path.basename(first)
            done = subprocess.run([shell, "-n", path], cwd=ROOT, capture_output=True, text=True, check=False)
            if done.returncode:
                yield Finding(path, 1, f"not {shell}: {done.stderr.strip()}")
        if first.startswith("#!") and not os.access(os.path.join(ROOT, path), os.X_OK):
            yield Finding(path, 1, "begins with #! but is not executable")
