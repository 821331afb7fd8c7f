# SPDX-License-Identifier: GPL-2.0-or-later
"""Shell and Python files are at least well-formed."""
import ast
import os
import subprocess

from common import ROOT, Finding, files, text


def check():
    for path in files():
        body = text(path)
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
