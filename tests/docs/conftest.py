# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of documentation share: the binary and what it says about itself."""
import os
import re
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Binary:
    def __init__(self):
        self.build = os.path.abspath(os.environ.get("SONDE_BUILD", os.path.join(ROOT, "build")))
        self.path = os.path.abspath(os.environ.get("SONDE", os.path.join(self.build, "sonde")))

    def __call__(self, *words, **options):
        return subprocess.run([self.path, *words], capture_output=True, text=True, timeout=30, cwd=ROOT, check=False,
                              **options)

    def commands(self):
        """Names of the sub-commands, as `sonde help` lists them."""
        listed = self("help").stdout.split("Commands:\n")[1].split("\n\n")[0]
        return re.findall(r"^  (\S+)", listed, re.M)

    def options(self, command):
        """Long options of a command's help."""
        text = self(command, "--help").stdout
        return sorted(set(re.findall(r"^ {2,}(?:-\w, )? *--([a-z][a-z0-9-]*)", text, re.M)))


@pytest.fixture(scope="session")
def sonde():
    return Binary()
