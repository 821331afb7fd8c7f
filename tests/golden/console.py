# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages whose commands are run: each block ```console has lines "$ COMMAND", each with the output that follows it.

A command runs in the shell, in the page's folder of recordings, with the sonde under test as `sonde`. What it prints
to standard output is what the page has to show, in full.
"""
import os
import re
import subprocess

PAGES = {"README.md": "tests/data/rec", "doc/TOUR.md": "tests/data/tour"}  # page: where its commands run
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT = "$ "
TIMEOUT_S = 60


def commands(block):
    """(command, output) of each prompt; a command goes on behind a backslash at the end of its line."""
    found = []
    for line in block.splitlines(keepends=True):
        if found and not found[-1][1] and found[-1][0].endswith("\\\n"):
            found[-1][0] += line
        elif line.startswith(PROMPT):
            found.append([line[len(PROMPT):], ""])
        else:
            found[-1][1] += line
    return found


def printed(command, folder, sonde, env):
    """Standard output of the command; what fails says so in it."""
    env = {**env, "PATH": os.path.dirname(sonde) + ":" + env["PATH"]}
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=env, capture_output=True,
                          timeout=TIMEOUT_S, check=False)
    out = done.stdout.decode(errors="backslashreplace")
    if done.returncode:
        out += f"exit status {done.returncode}\n{done.stderr.decode(errors='backslashreplace')}"
    return out


def replayed(text, folder, sonde, env):
    """The page with what its commands print now, and how many there are."""
    count = 0

    def block(match):
        nonlocal count
        out = ""
        for command, _ in commands(match[1]):
            count += 1
            out += PROMPT + command + printed(command, folder, sonde, env)
        return f"```console\n{out}```"
    return BLOCK.sub(block, text), count
