# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of code that a program made itself and told of in a jitdump (jit_work.c)."""
import os
import subprocess

import helpers

HERE = os.path.dirname(os.path.abspath(__file__))


def test_names_of_a_jitdump_appear_live(tmp_path):
    program = tmp_path / "jit_work"
    subprocess.run(["cc", "-O1", "-fno-omit-frame-pointer", "-o", program, os.path.join(HERE, "jit_work.c")],
                   check=True)
    done = subprocess.run([helpers.BINARY, "profile", "-F", "499", "--stacks", "user", "-o", "folded", "--",
                           program], text=True,
                          capture_output=True, timeout=helpers.READY_S, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    counts = {}
    for line in done.stdout.splitlines():
        stack, count = line.rsplit(" ", 1)
        leaf = ";".join(stack.split(";")[-2:])
        counts[leaf] = counts.get(leaf, 0) + int(count)
    often, seldom = counts.get("main;jit_often", 0), counts.get("main;jit_seldom", 0)
    # Of 250 at half a second of CPU time; the bounds are seven standard deviations away and more.
    assert often + seldom > 125, done.stdout
    assert 0.5 < often / (often + seldom) < 0.95, counts
