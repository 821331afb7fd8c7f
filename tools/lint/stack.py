# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of BPF programs that call each other fit 512 bytes, on every path.

Kernels before 6.8 round each frame up to 32 bytes. Those from 6.13 on give programs of tracing a stack of their own,
so that a program which others refuse works on the machine of who wrote it.
"""
import collections
import glob
import os
import struct

from common import Finding, c_files
from objects import build_folder

STACK, ROUND = 512, 32
FRAME = 10                              # the register
SYMTAB, REL = 2, 9                      # types of sections
FUNC, SECTION = 2, 3                    # types of symbols
LDX, ST, STX = 1, 2, 3                  # classes of instructions: the low three bits
CALL, MOVE, ADD, WIDE = 0x85, 0xbf, 0x07, 0x18
LOCAL = 1                               # source register of a call of a function in the object

Insn = collections.namedtuple("Insn", "code dst src off imm")
Symbol = collections.namedtuple("Symbol", "name kind section at size")     # @at, @size: instructions
Function = collections.namedtuple("Function", "name bytes calls")


def section_rows(data):
    """(name offset, type, flags, address, offset, size, link, info, alignment, entry size) of each section."""
    at, = struct.unpack_from("<Q", data, 0x28)
    n, = struct.unpack_from("<H", data, 0x3c)
    return [struct.unpack_from("<IIQQQQIIQQ", data, at + 64 * i) for i in range(n)]


def symbols_of(data, rows):
    table = next(row for row in rows if row[1] == SYMTAB)
    for at in range(table[4], table[4] + table[5], 24):
        name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", data, at)
        start = rows[table[6]][4] + name
        yield Symbol(data[start:data.index(b"\0", start)].decode(), info & 15, section, value // 8, size // 8)


def targets_of(data, rows, symbols):
    """{(section, instruction): symbol}"""
    return {(row[7], off // 8): symbols[info >> 32] for row in rows if row[1] == REL
            for off, info in struct.iter_unpack("<QQ", data[row[4]:row[4] + row[5]])}


def frame_bytes(insns):
    """The lowest byte of the frame that they use, or take the address of."""
    low, pointers = 0, {FRAME: 0}
    for i in insns:
        kind = i.code & 7
        if kind in (ST, STX) and i.dst in pointers:
            low = min(low, pointers[i.dst] + i.off)
        elif kind == LDX and i.src in pointers:
            low = min(low, pointers[i.src] + i.off)
        if i.code == ADD and i.dst in pointers:
            pointers[i.dst] += i.imm
            low = min(low, pointers[i.dst])
        elif i.code == MOVE and i.src in pointers:
            pointers[i.dst] = pointers[i.src]
        elif kind not in (ST, STX) and i.dst != FRAME:
            pointers.pop(i.dst, None)
    return max(-(low // ROUND) * ROUND, ROUND)


def called(i, at, section, target):
    """(section, instruction) of the function that @i calls, or whose address it takes."""
    if i.code == CALL and i.src == LOCAL:
        if not target:
            return section, at + 1 + i.imm
        return target.section, target.at + (i.imm + 1 if target.kind == SECTION else 0)
    if i.code == WIDE and target:
        return target.section, target.at + (i.imm // 8 if target.kind == SECTION else 0)
    return None


def functions(path):
    """{(section, instruction): Function}"""
    with open(path, "rb") as f:
        data = f.read()
    rows = section_rows(data)
    symbols = list(symbols_of(data, rows))
    targets = targets_of(data, rows, symbols)
    found = {}
    for s in symbols:
        if s.kind != FUNC:
            continue
        start = rows[s.section][4] + 8 * s.at
        insns = [Insn(code, regs & 15, regs >> 4, off, imm) for code, regs, off, imm
                 in struct.iter_unpack("<BBhi", data[start:start + 8 * s.size])]
        calls = {called(i, s.at + k, s.section, targets.get((s.section, s.at + k))) for k, i in enumerate(insns)}
        found[s.section, s.at] = Function(s.name, frame_bytes(insns), calls)
    return found


def deepest(found, key, above=()):
    """(bytes, names) of the longest way down from a function."""
    below = [deepest(found, k, (*above, key)) for k in found[key].calls if k in found and k not in (*above, key)]
    size, names = max(below, default=(0, []))
    return found[key].bytes + size, [f"{found[key].name}() {found[key].bytes}", *names]


def deep(path):
    """(bytes, names) of each way that is too deep."""
    found = functions(path)
    inner = {k for f in found.values() for k in f.calls}
    for key in sorted(set(found) - inner):
        size, names = deepest(found, key)
        if size > STACK:
            yield size, names


def too_deep(folder):
    """(name of a program, sentence) of each way in a build folder that is too deep."""
    for path in sorted(glob.glob(os.path.join(folder, "probes", "*.bpf.o"))):
        for size, names in deep(path):
            yield os.path.basename(path)[:-6], f"{size} bytes of stack, {STACK} are allowed: {', '.join(names)}"


def check():
    if not glob.glob(os.path.join(build_folder(), "probes", "*.bpf.o")):
        yield Finding("probes", 0, f"{build_folder()} has no BPF programs: run `make all`", True)
    sources = {os.path.basename(path)[:-6]: path for path in c_files("probes/", suffix=(".bpf.c",))}
    for name, sentence in too_deep(build_folder()):
        yield Finding(sources.get(name, "probes"), 1, sentence, True)
