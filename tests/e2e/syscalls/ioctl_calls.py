#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes every ioctl call of a table on a descriptor for which seccomp answers, so that no device is needed.

  ioctl_calls.py TABLE ERRNO     ERRNO 0: all succeed

An argument that is memory points to words of 1; others are 1.
"""
import ctypes
import os
import struct
import sys

FD = 12345
NR_IOCTL = {"x86_64": 16}.get(os.uname().machine, 29)
SECCOMP_RET_ERRNO, SECCOMP_RET_ALLOW = 0x50000, 0x7fff0000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06


def answer_with(libc, errno):
    """ioctl() on FD returns -@errno without being called."""
    rows = [(LOAD, 0, 0, 0), (JUMP_EQUAL, 0, 3, NR_IOCTL), (LOAD, 0, 0, 16), (JUMP_EQUAL, 0, 1, FD),
            (RETURN, 0, 0, SECCOMP_RET_ERRNO | errno), (RETURN, 0, 0, SECCOMP_RET_ALLOW)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    fprog = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(rows), ctypes.addressof(program)))
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, fprog, 0, 0):
        sys.exit("cannot install the seccomp filter")


def main(table, errno):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p]
    with open(table, encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]
    memory = ctypes.create_string_buffer(1 << 16)
    answer_with(libc, errno)
    for row in rows:
        kind = row[2] if len(row) > 2 else ""
        number = kind and "=" not in kind and kind != "str" or kind.startswith("x=")
        ctypes.memmove(memory, struct.pack("<I", 1) * 256, 1024)
        libc.ioctl(FD, int(row[1], 0), 1 if number else ctypes.addressof(memory))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
