#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a command whose mounts reach no other mount namespace; `unshare --mount --propagation unchanged` comes before.

    own_mounts.py COMMAND [ARGUMENT...]

unshare's own `--propagation private` fails in a chroot whose root directory is not a mount point. Joining the
namespace once more leads to its real root, which is one.
"""
import ctypes
import os
import sys

HERE = os.path.abspath(__file__)
CLONE_NEWNS = 0x00020000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
libc = ctypes.CDLL(None, use_errno=True)


def words(*options, unshare="unshare"):
    """What stands before a command that is to run so; @options of unshare."""
    return [unshare, "--mount", "--propagation", "unchanged", *options, "/usr/bin/python3", HERE]


def check(what, result):
    if result < 0:
        sys.exit(f"own_mounts.py: {what}: {os.strerror(ctypes.get_errno())}")


def main():
    root, cwd = os.open("/", os.O_PATH | os.O_DIRECTORY), os.open(".", os.O_PATH | os.O_DIRECTORY)
    space = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    check("cannot enter the root of the mount namespace", libc.setns(space, CLONE_NEWNS))
    check("cannot make its mounts private", libc.mount(None, b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None))
    os.fchdir(root)
    os.chroot(".")
    os.fchdir(cwd)
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
