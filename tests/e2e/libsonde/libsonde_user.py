#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A Python program on libsonde, by ctypes: counts the events of a capture by their type, most frequent first.

    libsonde_user.py CAPTURE
"""
import collections
import ctypes
import sys

TIMEOUT, SUCCESS, EOF = -1, 0, 6
ERROR_SIZE = 512


class Event(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("ts", ctypes.c_uint64), ("tid", ctypes.c_uint64), ("len", ctypes.c_uint32),
                ("type", ctypes.c_uint16), ("nparams", ctypes.c_uint32)]


def library():
    lib = ctypes.CDLL("libsonde.so.0")
    lib.sonde_open_file.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int32)]
    lib.sonde_open_file.restype = ctypes.c_void_p
    lib.sonde_next.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.POINTER(Event)),
                               ctypes.POINTER(ctypes.c_uint16)]
    lib.sonde_getlasterr.argtypes = [ctypes.c_void_p]
    lib.sonde_getlasterr.restype = ctypes.c_char_p
    lib.sonde_close.argtypes = [ctypes.c_void_p]
    return lib


def main():
    lib, error, status = library(), ctypes.create_string_buffer(ERROR_SIZE), ctypes.c_int32()
    handle = lib.sonde_open_file(sys.argv[1].encode(), error, status)
    if not handle:
        sys.exit(f"{error.value.decode()} ({status.value})")
    counts, event, cpu = collections.Counter(), ctypes.POINTER(Event)(), ctypes.c_uint16()
    while (got := lib.sonde_next(handle, event, cpu)) != EOF:
        if got > 0:
            sys.exit(lib.sonde_getlasterr(handle).decode())
        if got == SUCCESS:
            counts[event.contents.type] += 1
    lib.sonde_close(handle)
    for kind, count in sorted(sorted(counts.items()), key=lambda row: -row[1]):
        print(count, kind)


if __name__ == "__main__":
    main()
