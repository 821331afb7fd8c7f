# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts, per process, the packets that are freed while it runs: a second observer of the tracepoint kfree_skb.

A raw tracepoint program, assembled here, adds one to the entry of the current process in a hash map, if it has one.
"""
import ctypes
import os
import platform
import struct

BPF = {"x86_64": 321, "aarch64": 280}[platform.machine()]    # system call
MAP_CREATE, MAP_LOOKUP, MAP_UPDATE, PROG_LOAD, RAW_TRACEPOINT_OPEN = 0, 1, 2, 5, 17
HASH, RAW_TRACEPOINT = 1, 17    # types of maps and programs
ATTR_BYTES = 144
PROCESSES = 64

libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attr):
    block = ctypes.create_string_buffer(attr, ATTR_BYTES)
    result = libc.syscall(BPF, command, block, ATTR_BYTES)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"bpf command {command}: {os.strerror(code)}")
    return result


def insn(code, dst=0, src=0, off=0, imm=0):
    return struct.pack("<BBhi", code, src << 4 | dst, off, imm)


def program(map_fd):
    return b"".join((
        insn(0x85, imm=14),                         # r0 = bpf_get_current_pid_tgid()
        insn(0x77, 0, imm=32),                      # r0 >>= 32
        insn(0x63, 10, 0, -4),                      # *(u32 *)(fp - 4) = r0
        insn(0x18, 1, 1, imm=map_fd), insn(0),      # r1 = map
        insn(0xbf, 2, 10), insn(0x07, 2, imm=-4),   # r2 = fp - 4
        insn(0x85, imm=1),                          # r0 = bpf_map_lookup_elem()
        insn(0x15, 0, off=2),                       # if (!r0) goto end
        insn(0xb7, 1, imm=1),                       # r1 = 1
        insn(0xdb, 0, 1),                           # lock *(u64 *)r0 += r1
        insn(0xb7, 0), insn(0x95),                  # end: return 0
    ))


class SkbFrees:
    def __init__(self):
        self.map_fd = bpf(MAP_CREATE, struct.pack("<IIII", HASH, 4, 8, PROCESSES))
        code = program(self.map_fd)
        insns, licence = ctypes.create_string_buffer(code, len(code)), ctypes.create_string_buffer(b"GPL")
        name = ctypes.create_string_buffer(b"kfree_skb")
        self.prog_fd = bpf(PROG_LOAD, struct.pack("<IIQQ", RAW_TRACEPOINT, len(code) // 8, ctypes.addressof(insns),
                                                  ctypes.addressof(licence)))
        self.link_fd = bpf(RAW_TRACEPOINT_OPEN, struct.pack("<QI", ctypes.addressof(name), self.prog_fd))

    def _element(self, command, pid, value):
        key = ctypes.create_string_buffer(struct.pack("<I", pid), 4)
        bpf(command, struct.pack("<IIQQQ", self.map_fd, 0, ctypes.addressof(key), ctypes.addressof(value), 0))

    def begin(self, pid):
        """Counts frees of @pid from zero."""
        self._element(MAP_UPDATE, pid, ctypes.create_string_buffer(8))

    def count(self, pid):
        value = ctypes.create_string_buffer(8)
        self._element(MAP_LOOKUP, pid, value)
        return struct.unpack("<Q", value.raw)[0]

    def close(self):
        for fd in (self.link_fd, self.prog_fd, self.map_fd):
            os.close(fd)
