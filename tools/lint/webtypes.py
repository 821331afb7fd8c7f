# SPDX-License-Identifier: GPL-2.0-or-later
"""Types of the page, by tsc where it is installed."""
import os
import re
import shutil
import subprocess

from common import ONLY, ROOT, Finding, files

PROJECT = "web/tsconfig.json"


def skipped():
    """Why nothing can be said; None = something can."""
    return None if shutil.which("tsc") or PROJECT not in files() else "tsc is not installed (tools/setup.sh test)"


def check():
    tsc = shutil.which("tsc")
    if not tsc or PROJECT not in files() or (ONLY and not any(path.startswith("web/") for path in ONLY)):
        return
    done = subprocess.run([tsc, "-p", os.path.join(ROOT, PROJECT), "--pretty", "false"], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        found = re.match(r"(\S+?)\((\d+),\d+\): error \w+: (.*)", line)
        if found:
            yield Finding(os.path.normpath(found[1]), int(found[2]), found[3], True)
    if done.returncode and "error" not in done.stdout:
        yield Finding(PROJECT, 1, (done.stderr or done.stdout).strip()[:200], True)
