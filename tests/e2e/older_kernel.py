# SPDX-License-Identifier: GPL-2.0-or-later
"""This kernel as one that lacks some of its tracepoints: in a mount namespace its types name them otherwise."""
import os
import sys

from helpers import ROOT

sys.path.insert(0, os.path.join(ROOT, "tests", "workloads"))
import own_mounts  # noqa: E402  the path above is needed first

TYPES = "/sys/kernel/btf/vmlinux"


def without_tracepoints(folder, *names):
    """What stands before a command that is to run there; @folder: for the changed types."""
    with open(TYPES, "rb") as f:
        types = f.read()
    for name in names:
        there = b"\0btf_trace_%s\0" % name.encode()
        assert there in types, name
        types = types.replace(there, there[:-2] + b"?\0")
    copy = os.path.join(folder, "types")
    with open(copy, "wb") as f:
        f.write(types)
    return [*own_mounts.words(), "sh", "-c", f'mount --bind {copy} {TYPES} && exec "$0" "$@"']
