# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes calls with memory that cannot be read: at the beginning, behind four bytes that can, in the kernel, nowhere.
Prints the four addresses.
"""
import ctypes
import mmap
import os
import socket

libc = ctypes.CDLL(None, use_errno=True)
room = mmap.mmap(-1, 8192)
base = ctypes.addressof(ctypes.c_char.from_buffer(room))
libc.mprotect(ctypes.c_void_p(base + 4096), 4096, 0)
edge = base + 4096 - 4
ctypes.memset(edge, ord("x"), 4)
sock = socket.socket()
_, pipe = os.pipe()


def call(nr, *args):
    libc.syscall(ctypes.c_long(nr), *map(ctypes.c_long, args))


ADDRESSES = (1, edge, 2**64 - 4096, 2**63)
for addr in ADDRESSES:
    call(257, -100, addr, 0)            # openat
    call(1, pipe, addr, 64)             # write
    call(42, sock.fileno(), addr, 16)   # connect
    call(59, addr, addr, addr)          # execve
    call(20, pipe, addr, 2)             # writev
    call(46, sock.fileno(), addr, 0)    # sendmsg
    call(307, sock.fileno(), addr, 2, 0)  # sendmmsg
    call(4, addr, addr)                 # stat
    call(35, addr, 0)                   # nanosleep
print(*ADDRESSES)
