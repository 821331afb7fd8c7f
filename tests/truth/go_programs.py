# SPDX-License-Identifier: GPL-2.0-or-later
"""Go programs of the gate, built with the toolchains of tests/workloads/go/gotree.py and kept in its folder."""
import os
import re
import shutil
import sys

from stage import HERE, PROGRAMS, Lacking

sys.path.insert(0, os.path.join(os.path.dirname(HERE), "workloads", "go"))
import gotree  # noqa: E402  the path above is needed first

SUITES = gotree.SUITES


def has_parents(suite):
    """Do goroutines of this release know which one started them? Since 1.21."""
    minor = re.match(r"go1\.(\d+)", gotree.Tree(suite).version())
    return not minor or int(minor[1]) >= 21


def make(name, suite, variant):
    """Path of the program @name, compiled if it is not there."""
    out = os.path.join(gotree.folder(), f"truth-{name}-{suite}-{variant}")
    try:
        return gotree.Tree(suite).build(os.path.join(PROGRAMS, name), out, variant)
    except gotree.Unavailable as e:
        raise Lacking(f"Go of {suite}: {e}") from e


def build(stage, name, suite, variant):
    """A copy of the program @name, so that it can be renamed away."""
    made = make(name, suite, variant)
    return shutil.copy(made, stage.path("programs", os.path.basename(made)))
