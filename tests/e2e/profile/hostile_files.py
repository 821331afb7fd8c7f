# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that readers of ELF should not trust: made from nothing, or from a real program by damaging it.

Every file that is made from nothing has code in its second page, so that a process can map it and be sampled there.
The numbers are the worst for their field: beyond the file, all ones, just so that a sum overflows, zero, itself.
All of it is deterministic.
"""
import lzma
import os
import random
import struct
import zlib

PAGE = 4096
# mov rcx, rdi; 1: dec rcx; jnz 1b; ret
CODE = bytes([0x48, 0x89, 0xf9, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0xc3])
PT_LOAD, PT_NOTE, PT_GNU_EH_FRAME = 1, 4, 0x6474e550
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_NOTE, SHT_DYNSYM = 1, 2, 3, 7, 11
SHF_COMPRESSED = 0x800
WORST = (0, 1, 0x7fffffff, 0xffffffff, 1 << 40, (1 << 63) - 1, (1 << 64) - 1, (1 << 64) - PAGE)


def header(**values):
    fields = dict(type=3, machine=62, version=1, entry=PAGE, phoff=64, shoff=3 * PAGE, flags=0, ehsize=64,
                  phentsize=56, phnum=2, shentsize=64, shnum=5, shstrndx=4)
    fields.update(values)
    return b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", *fields.values())


def program(kind, flags, offset, vaddr, filesz, memsz, align=PAGE):
    return struct.pack("<IIQQQQQQ", kind, flags, offset, vaddr, vaddr, filesz, memsz, align)


def section(name, kind, offset, size, flags=0, addr=0, link=0, info=0, entsize=0):
    return struct.pack("<IIQQQQIIQQ", name, kind, flags, addr, offset, size, link, info, 1, entsize)


NAMES = b"\0.symtab\0.strtab\0.eh_frame\0.gopclntab\0.gnu_debugdata\0.gnu_debuglink\0.debug_info\0" \
        b".note.gnu.build-id\0"


def name_of(text):
    return NAMES.index(text.encode() + b"\0") if text else 0


def layout(head, programs, sections, data=b""):
    """Headers, code, data (from page 2), sections (page 3); the names of sections behind them."""
    body = bytearray(4 * PAGE + len(NAMES))
    body[:64] = head
    body[64:64 + len(programs)] = programs
    body[PAGE:PAGE + len(CODE)] = CODE
    body[2 * PAGE:2 * PAGE + min(len(data), PAGE)] = data[:PAGE]
    body[3 * PAGE:3 * PAGE + len(sections)] = sections
    body[4 * PAGE:] = NAMES
    return bytes(body)


def loads(**changes):
    first = dict(kind=PT_LOAD, flags=5, offset=0, vaddr=0, filesz=2 * PAGE, memsz=2 * PAGE)
    first.update(changes)
    return program(**first) + program(PT_GNU_EH_FRAME, 4, 2 * PAGE, 2 * PAGE, 64, 64, 4)


def with_section(text, kind, data, **changes):
    """A file with one section of interest, its bytes at page 2."""
    offset = changes.pop("offset", 2 * PAGE)
    size = changes.pop("size", len(data))
    rows = bytes(64) + section(name_of(text), kind, offset, size, **changes)
    rows += section(name_of(".strtab"), SHT_STRTAB, 2 * PAGE, 64)
    rows += bytes(64) + section(1, SHT_STRTAB, 4 * PAGE, len(NAMES))
    return layout(header(), loads(), rows, data)


def symbol(name, value, size, info=2, index=1):
    return struct.pack("<IBBHQQ", name, info, 0, index, value, size)


def cie(augmentation=b"zR\0", body=b"\x01\x78\x10\x01\x1b\x0c\x07\x08\x90\x01"):
    content = struct.pack("<IB", 0, 1) + augmentation + body
    content += bytes(-len(content) % 4)
    return struct.pack("<I", len(content)) + content


def fde(pointer, start, length, program_bytes):
    content = struct.pack("<IiIB", pointer, start, length, 0) + program_bytes
    return struct.pack("<I", len(content)) + content


def eh_frames():
    whole = cie()
    yield struct.pack("<I", 0xffffffff) + struct.pack("<Q", 1 << 62)
    yield struct.pack("<I", 0xfffffff0) + bytes(64)
    yield whole + fde(len(whole) + 4, -PAGE, 0xffffffff, b"\x0e\x10" * 500)
    yield whole + fde(4, -PAGE, 256, b"\x41")                           # a CIE pointer to itself
    yield whole + fde(0x7fffffff, 0, 256, b"\x41")
    yield whole + fde(len(whole) + 4, -PAGE, 256, b"\x0a" * 2000)       # remember_state, never restored
    yield whole + fde(len(whole) + 4, -PAGE, 256, b"\x0b" * 100)        # restored, never remembered
    yield whole + fde(len(whole) + 4, -PAGE, 256, b"\x0f" + b"\xff" * 40)    # an expression of endless length
    yield whole + fde(len(whole) + 4, -PAGE, 256, b"\x0c\x07" + b"\x80" * 60)
    yield whole + fde(len(whole) + 4, -PAGE, 256, b"\x04\xff\xff\xff\xff" * 100)
    yield cie(b"zPLRSB\0", b"\x80" * 64)
    yield cie(b"eh\0", b"\xff" * 64)
    yield b"".join(fde(0x10, i, 1, b"\x40") for i in range(200))
    yield (whole + fde(len(whole) + 4, -PAGE, 256, b"\x41\x0e\x10")) * 60
    yield bytes(4) * 64


def gopclntabs():
    for magic in (0xfffffff1, 0xfffffff0, 0xfffffffa, 0xfffffffb):
        yield struct.pack("<IBBBB", magic, 0, 0, 1, 8) + struct.pack("<QQ", (1 << 63) - 1, 1 << 62) + bytes(64)
        yield struct.pack("<IBBBB", magic, 0, 0, 1, 4) + b"\xff" * 256
        yield struct.pack("<IBBBB", magic, 0, 0, 0, 0) + bytes(256)


def debug_data():
    bomb = lzma.compress(bytes(64 << 20))
    yield bomb[:PAGE]
    yield lzma.compress(header(phnum=0xffff)[:64])
    yield lzma.compress(lzma.compress(b"\x7fELF" + bytes(4096)))
    yield bomb[:len(bomb) // 2][:PAGE]
    yield b"\xfd7zXZ\0" + b"\xff" * 200


def from_nothing():
    """(label, bytes) of files to map."""
    for value in WORST:
        yield "phoff", layout(header(phoff=value), loads(), bytes(5 * 64))
        yield "shoff", layout(header(shoff=value), loads(), bytes(5 * 64))
        yield "load", layout(header(), loads(offset=value, filesz=value, memsz=value), bytes(5 * 64))
        yield "vaddr", layout(header(), loads(vaddr=value), bytes(5 * 64))
        yield "symsize", with_section(".symtab", SHT_SYMTAB, symbol(1, PAGE, value), size=value, link=2, entsize=24)
        yield "symoff", with_section(".symtab", SHT_SYMTAB, b"", offset=value, size=24 * 1000, link=2, entsize=24)
    for count in (0, 1, 0xfffe, 0xffff):
        yield "phnum", layout(header(phnum=count), loads(), bytes(5 * 64))
        yield "shnum", layout(header(shnum=count, shstrndx=count), loads(), bytes(5 * 64))
        yield "entsize", layout(header(phentsize=count, shentsize=count), loads(), bytes(5 * 64))
        yield "symentsize", with_section(".symtab", SHT_SYMTAB, symbol(1, PAGE, 16) * 9, link=count, entsize=count)
    many = b"".join(symbol(0xffffffff, PAGE + i, 0xffffffffffffffff) for i in range(160))
    yield "names", with_section(".symtab", SHT_SYMTAB, many, link=2, entsize=24)
    yield "dynsym", with_section(".symtab", SHT_DYNSYM, many, link=1, entsize=24)
    for data in eh_frames():
        yield "eh_frame", with_section(".eh_frame", SHT_PROGBITS, data, flags=2, addr=2 * PAGE)
    for data in gopclntabs():
        yield "gopclntab", with_section(".gopclntab", SHT_PROGBITS, data, flags=2, addr=2 * PAGE)
    for data in debug_data():
        yield "debugdata", with_section(".gnu_debugdata", SHT_PROGBITS, data)
    for link in (b"../../../../etc/shadow\0\0\0\0\0\0", b"/dev/zero\0\0\0\0\0\0\0", b"x" * 4000, b"\0" * 8):
        yield "debuglink", with_section(".gnu_debuglink", SHT_PROGBITS, link)
    packed = struct.pack("<IIQQ", 1, 0, 1 << 40, 1) + zlib.compress(bytes(1 << 20))
    yield "compressed", with_section(".debug_info", SHT_PROGBITS, packed, flags=SHF_COMPRESSED)
    for size in (0, 0xffffffff, 4000):
        note = struct.pack("<III", 4, size, 3) + b"GNU\0" + b"/../" * 16
        yield "build_id", with_section(".note.gnu.build-id", SHT_NOTE, note)
    yield "empty code", bytes(PAGE) + CODE
    yield "only magic", b"\x7fELF\x02\x01\x01" + bytes(PAGE - 7) + CODE


def damaged(good, count, keep=64 + 13 * 56):
    """@count copies of an executable that still run: what the kernel reads stays, the rest suffers."""
    rng = random.Random(20000)
    shoff, = struct.unpack_from("<Q", good, 0x28)
    symbols = [i for i in range(keep, len(good) - 8) if i >= shoff]
    for number in range(count):
        body = bytearray(good)
        if number % 3 == 0:             # section headers
            for _ in range(12):
                at = rng.choice(symbols) & ~7
                struct.pack_into("<Q", body, at, rng.choice(WORST))
        elif number % 3 == 1:           # everything behind what is loaded, here and there
            end = load_end(good)
            for _ in range(200):
                body[rng.randrange(end, len(body))] = rng.randrange(256)
        else:                           # the header's words for sections
            struct.pack_into("<Q", body, 0x28, rng.choice(WORST))
            struct.pack_into("<HHH", body, 0x3a, rng.choice((0, 1, 64, 0xffff)), rng.choice((0, 1, 0xffff)),
                             rng.randrange(0x10000))
        damage_rows(body, rng)
        yield bytes(body)


def segments(body):
    phoff, = struct.unpack_from("<Q", body, 0x20)
    count, = struct.unpack_from("<H", body, 0x38)
    return [struct.unpack_from("<IIQQQQQQ", body, phoff + 56 * i) for i in range(count)]


def load_end(body):
    return max(offset + filesz for kind, _, offset, _, _, filesz, _, _ in segments(body) if kind == PT_LOAD)


def damage_rows(body, rng):
    """Unwind rows: nobody reads them in a C program that runs well."""
    for kind, _, offset, _, _, filesz, _, _ in segments(body):
        if kind == PT_GNU_EH_FRAME and rng.random() < 0.7:
            for _ in range(30):
                body[rng.randrange(offset, offset + filesz + 200)] = rng.randrange(256)


def write_sparse(path):
    """A terabyte, its section headers at the end."""
    end = 1 << 40
    with open(path, "wb") as f:
        f.write(layout(header(shoff=end - 320, shnum=5), loads(), b""))
        try:
            os.ftruncate(f.fileno(), end)
        except OSError:
            os.ftruncate(f.fileno(), 1 << 33)
