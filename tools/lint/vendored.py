# SPDX-License-Identifier: GPL-2.0-or-later
"""Libraries of the page are the files of their version, unchanged (tools/vendor-web.py)."""
import os
import re
import subprocess
import sys

from common import ROOT, Finding, files

TOOL = "tools/vendor-web.py"


def check():
    if TOOL not in files():
        return
    done = subprocess.run([sys.executable, os.path.join(ROOT, TOOL)], capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        path = re.search(r"\S+/vendor/\S+", line)
        yield Finding(path[0] if path and path[0] in files() else TOOL, 1, line.partition(": ")[2], True)
    if done.returncode and not done.stdout:
        yield Finding(TOOL, 1, done.stderr.strip().rpartition("\n")[2], True)
