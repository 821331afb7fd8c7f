# SPDX-License-Identifier: GPL-2.0-or-later
"""User stacks of programs without frame pointers: how many are walked to their bottom, and how deep they are.

A sample that comes before the table of its file is there ends there by design; those are not counted here, but every
program must have many samples that come after.
"""
import os
import shutil
import subprocess

import pytest

from helpers import BINARY

BUILD = os.path.dirname(BINARY)
SHAPES = {      # name of the program: binary, arguments, frames at least
    "uw_flat": ("unwind_stacks", ["flat"], 4),
    "uw_static": ("unwind_stacks_static", ["flat"], 4),
    "uw_stripped": ("unwind_stacks_stripped", ["flat"], 4),
    "uw_deep": ("unwind_stacks", ["deep", "200"], 200),
    "uw_deeper": ("unwind_stacks", ["deep", "900"], 900),
    "uw_sort": ("unwind_stacks", ["sort"], 5),
    "uw_signal": ("unwind_stacks", ["signal"], 4),
    "uw_realign": ("unwind_stacks", ["realign"], 4),
    "uw_thread": ("unwind_stacks", ["thread"], 3),
}
ENOUGH = 10     # samples per program


def measure(seconds, hz, budget_kb):
    """{program: {reason: (samples, frames per sample)}}"""
    out = subprocess.run([f"{BUILD}/tests/unwind/unwind_ends", str(seconds), str(hz), str(budget_kb)],
                         check=True, capture_output=True, text=True, timeout=120).stdout
    found = {}
    for line in out.splitlines():
        if not line.startswith("#"):
            comm, end, samples, frames = line.split()
            found.setdefault(comm, {})[end] = (int(samples), float(frames))
    return found


@pytest.fixture
def programs(tmp_path):
    if not os.path.exists(f"{BUILD}/tests/unwind/unwind_ends"):
        pytest.skip("built with -Dunwind=false")
    running = []
    for name, (binary, args, _) in SHAPES.items():
        shutil.copy(f"{BUILD}/tests/unwind/{binary}", tmp_path / name)
        running.append(subprocess.Popen([tmp_path / name, *args]))
    yield
    for process in running:
        process.kill()
        process.wait()


@pytest.mark.parametrize("budget_kb", [65536, 1024])
def test_complete(programs, budget_kb):
    found = {}
    for seconds in (4, 8, 16):      # a busy machine gives a program few samples
        found = measure(seconds, 499, budget_kb)
        if all(found.get(name, {}).get("bottom", (0, 0))[0] >= ENOUGH for name in SHAPES):
            break
    for name, (_, _, frames) in SHAPES.items():
        ends = found.get(name, {})
        complete, depth = ends.get("bottom", (0, 0))
        walked = sum(n for end, (n, _) in ends.items() if end != "no-table")
        assert complete >= ENOUGH, (name, ends)
        assert complete >= 0.99 * walked, (name, ends)
        assert depth >= frames, (name, ends)
