#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A Go program of a few kilobytes, made by hand, and a hundred ways to break it.

    craft.py DIR            writes every one, by name; "good" is whole
    craft.py --list

It holds what a reader of Go programs looks at and nothing else: build information, a table of functions, module data,
type descriptors, DWARF. Formats: see src/gobin and src/elf/go/gopclntab.c. Standard library only.
"""
import os
import random
import struct
import sys
import zlib

BASE = 0x400000
TEXT, RODATA, DATA = 0x400, 0x800, 0x2000        # offsets in the file; addresses are BASE + offset
TRANSPORT = "google.golang.org/grpc/internal/transport"
XNET = "golang.org/x/net/http2"
HPACK = XNET + "/hpack"
PROLOGUE = bytes.fromhex("4c8d6424d84d3b66100f8678030000554889e54881eca0000000c3")
FUNCTIONS = ["runtime.text", TRANSPORT + ".(*loopyWriter).writeHeader", TRANSPORT + ".(*http2Server).operateHeaders",
             TRANSPORT + ".(*http2Client).operateHeaders", XNET + ".(*Framer).WriteRSTStream"]
STRUCT, POINTER, INTERFACE, UINT32, STRING, SLICE = 25, 22, 20, 10, 24, 23
CONN = ["Close", "LocalAddr", "Read", "RemoteAddr", "SetDeadline", "SetReadDeadline", "SetWriteDeadline", "Write"]
READY = ["grpc.write-header", "grpc.server-headers", "grpc.client-headers", "xnet.write-reset"]


def u32(*v):
    return struct.pack(f"<{len(v)}I", *v)


def u64(*v):
    return struct.pack(f"<{len(v)}Q", *(x & (1 << 64) - 1 for x in v))


def varint(v):
    out = b""
    while v > 127:
        out, v = out + bytes([v & 127 | 128]), v >> 7
    return out + bytes([v])


class Area:
    """Bytes at an address, handed out in pieces."""

    def __init__(self, at):
        self.at, self.data = at, bytearray()

    def add(self, data, align=8):
        self.data += bytes(-len(self.data) % align)
        here = self.at + len(self.data)
        self.data += data
        return here

    def put(self, address, data):
        off = address - self.at
        self.data[off:off + len(data)] = data


class Types:
    """Type descriptors; offsets count from the area's begin."""

    def __init__(self, area):
        self.area, self.base, self.where = area, area.at, {}
        area.add(bytes(64))

    def name(self, text, flags=0):
        raw = text.encode()
        return self.area.add(bytes([flags]) + varint(len(raw)) + raw, 1)

    def descriptor(self, kind, size, text, more=b"", path=None, methods=()):
        rows = [u32(self.name(m) - self.base, 0, 0, 0) for m in methods]
        flags = (1 if path else 0) | (4 if path else 0)
        name, pkg = self.name(text) - self.base, self.name(path) - self.base if path else 0
        here = self.area.add(u64(size, 0) + u32(0) + bytes([flags, 8, 8, kind]) + u64(0, 0) + u32(name, 0) + more)
        if path:
            self.area.data += u32(pkg) + struct.pack("<HHI", len(rows), len(rows), 16) + u32(0) + b"".join(rows)
        self.where[text] = here
        return here

    def pointer(self, elem, text):
        return self.descriptor(POINTER, 8, text, u64(elem))

    def conn(self, path, name, size, fields):
        """A struct, and the pointer to it, which has the methods of net.Conn."""
        elem = self.struct(path, name, size, fields)
        return self.descriptor(POINTER, 8, "*" + path.rsplit("/", 1)[-1] + "." + name, u64(elem), path, CONN)

    def struct(self, path, name, size, fields):
        short = path.rsplit("/", 1)[-1] + "." + name
        rows = b"".join(u64(self.name(n.lstrip("+"), 8 if n[0] == "+" else 0), t, off) for n, t, off in fields)
        at = self.area.add(rows)
        self.where["fields of " + name] = at
        here = self.descriptor(STRUCT, size, short, u64(0, at, len(fields), len(fields)), path)
        return here


def make_types(t):
    word, text = t.descriptor(UINT32, 4, "uint32"), t.descriptor(STRING, 16, "string")
    rows = t.area.add(b"".join(u32(t.name(m) - t.base, 0) for m in CONN))
    conn = t.descriptor(INTERFACE, 16, "net.Conn", u64(0, rows, len(CONN), len(CONN)), "net")
    closer = t.descriptor(INTERFACE, 16, "io.Closer", u64(0, rows, 1, 1), "io")
    netfd = t.pointer(t.struct("net", "netFD", 8, [("fd", word, 0)]), "*net.netFD")
    inner = t.struct("net", "conn", 8, [("fd", netfd, 0)])
    conns = [t.conn("net", "TCPConn", 8, [("+conn", inner, 0)]),
             t.conn(TRANSPORT, "bufConn", 32, [("r", word, 0), ("+Conn", conn, 8)]),
             t.conn(TRANSPORT, "twoConn", 32, [("one", conn, 0), ("other", conn, 16)]),
             t.conn(TRANSPORT, "anyConn", 16, [("rwc", closer, 0)])]
    field = t.struct(HPACK, "HeaderField", 40, [("Name", text, 0), ("Value", text, 16)])
    fields = t.descriptor(SLICE, 24, "[]hpack.HeaderField", u64(field))
    header = t.struct(XNET, "FrameHeader", 12, [("Type", word, 1), ("Flags", word, 2), ("Length", word, 4),
                                                ("StreamID", word, 8)])
    headers = t.struct(XNET, "HeadersFrame", 48, [("FrameHeader", header, 0)])
    meta = t.struct(XNET, "MetaHeadersFrame", 40, [("HeadersFrame", t.pointer(headers, "*http2.HeadersFrame"), 0),
                                                   ("Fields", fields, 8)])
    server = t.struct(TRANSPORT, "http2Server", 200, [("conn", conn, 16), ("peer", text, 56)] +
                      [(f"conn{i}", c, 64 + 8 * i) for i, c in enumerate(conns)])
    loopy = t.struct(TRANSPORT, "loopyWriter", 88, [("framer", t.pointer(meta, "*http2.MetaHeadersFrame"), 40),
                                                    ("server", t.pointer(server, "*transport.http2Server"), 48),
                                                    ("conn", conn, 64)])
    return conn, t.pointer(loopy, "*transport.loopyWriter")


def make_table(entries, text):
    names, offs = b"", []
    for name in FUNCTIONS:
        offs.append(len(names))
        names += name.encode() + b"\0"
    head = 72
    files = head + len(names)
    funcs = files + 16
    pairs, records = b"", b""
    first = 8 * len(entries) + 4
    for i, entry in enumerate(entries):
        pairs += u32(entry - text, first + len(records))
        records += u32(entry - text, offs[i]) + bytes(40)
    pairs += u32(entries[-1] - text + 64)
    table = struct.pack("<IBBBB", 0xfffffff1, 0, 0, 1, 8) + u64(
        len(entries), 0, text, head, files, files, files, funcs)
    return table + names + bytes(16) + pairs + records


def make_buildinfo(version=b"go1.24.4"):
    mods = b"0" * 16 + b"path\tcrafted\nbuild\t-buildmode=exe\n" + b"1" * 16
    return b"\xff Go buildinf:" + b"\x08\x02" + bytes(16) + varint(len(version)) + version + varint(len(mods)) + mods


def make_dwarf(entry):
    def abbrev(n, tag, children, *pairs):
        return varint(n) + varint(tag) + bytes([children]) + b"".join(varint(p) for p in pairs) + b"\0\0"
    abbrevs = (abbrev(1, 0x11, 1, 3, 8) + abbrev(2, 0x2e, 1, 3, 8, 0x11, 1) +
               abbrev(3, 5, 0, 3, 8, 0x4b, 0xc, 0x49, 0x13, 2, 0x18) + abbrev(4, 0x24, 0, 3, 8, 0xb, 0xb) +
               abbrev(5, 0x13, 1, 3, 8, 0xb, 0xb, 0x2904, 6) + abbrev(6, 0xd, 0, 3, 8, 0x38, 0xb, 0x49, 0x13) +
               abbrev(7, 0x16, 0, 3, 8, 0x49, 0x13) + b"\0")
    body = bytearray(struct.pack("<HIB", 4, 0, 8) + b"\x01" + TRANSPORT.encode() + b"\0")
    word = len(body) + 4
    body += b"\x04uintptr\0\x08"
    loop = len(body) + 4
    body += b"\x07loop\0" + u32(loop)
    body += b"\x05" + (TRANSPORT + ".loopyWriter").encode() + b"\0" + bytes([88]) + u32(0x100)
    body += b"\x06framer\0" + bytes([40]) + u32(word) + b"\0"
    body += b"\x02" + FUNCTIONS[1].encode() + b"\0" + u64(entry)
    body += b"\x03l\0\0" + u32(word) + b"\x01\x50" + b"\x03streamID\0\0" + u32(loop) + b"\x01\x53" + b"\0\0"
    return u32(len(body)) + bytes(body), abbrevs


class Program:
    """The parts, to be changed before they are put together."""

    def __init__(self):
        self.text = Area(BASE + TEXT)
        entries = [self.text.add(PROLOGUE, 64) for _ in FUNCTIONS]
        self.text.add(b"\xc3" * 32, 64)
        self.ro, self.rw = Area(BASE + RODATA), Area(BASE + DATA)
        self.types = Types(self.ro)
        self.conn, self.loopy = make_types(self.types)
        self.itab = self.ro.add(u64(self.conn, self.loopy, 0))
        self.etypes = self.ro.add(b"")
        self.links = self.ro.add(u64(self.itab))
        self.table = self.ro.add(make_table(entries, entries[0]), 32)
        self.table_end = self.ro.add(b"", 1)
        self.module = self.rw.add(bytes(512))
        self.info = self.rw.add(make_buildinfo(), 16)
        self.info_end = self.rw.add(b"", 1)
        for off, value in ((0, self.table), (160, entries[0]), (176, entries[0]), (296, self.ro.at),
                           (304, self.etypes), (376, self.links), (384, 1), (392, 1)):
            self.rw.put(self.module + off, u64(value))
        self.entries = entries
        self.debug = dict(zip((".debug_info", ".debug_abbrev"), make_dwarf(entries[1])))
        self.debug_flags = 0
        self.machine = 62

    def sections(self):
        yield ".text", self.text.at, self.text.data, 6
        yield ".rodata", self.ro.at, self.ro.data[:self.table - self.ro.at], 2
        yield ".gopclntab", self.table, self.ro.data[self.table - self.ro.at:], 2
        yield ".noptrdata", self.rw.at, self.rw.data[:self.info - self.rw.at], 3
        yield ".go.buildinfo", self.info, self.rw.data[self.info - self.rw.at:], 3

    def build(self):
        assert self.text.at + len(self.text.data) <= self.ro.at and self.ro.at + len(self.ro.data) <= self.rw.at
        out = bytearray(DATA + len(self.rw.data))
        loads = [(5, self.text), (4, self.ro), (6, self.rw)]
        for _, area in loads:
            off = area.at - BASE
            out[off:off + len(area.data)] = area.data
        rows, names = [bytes(64)], b"\0"
        for name, address, data, flags in self.sections():
            rows.append(u32(len(names), 1) + u64(flags, address, address - BASE, len(data)) + u32(0, 0) + u64(8, 0))
            names += name.encode() + b"\0"
        for name, data in self.debug.items():
            rows.append(u32(len(names), 1) + u64(self.debug_flags, 0, len(out), len(data)) + u32(0, 0) + u64(1, 0))
            names += name.encode() + b"\0"
            out += data
        rows.append(u32(len(names), 3) + u64(0, 0, len(out), len(names) + 10) + u32(0, 0) + u64(1, 0))
        out += names + b".shstrtab\0"
        at = len(out)
        out += b"".join(rows)
        phdrs = b"".join(u32(1, flags) + u64(a.at - BASE, a.at, a.at, len(a.data), len(a.data), 4096)
                         for flags, a in loads)
        head = (b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHI", 2, self.machine, 1) +
                u64(self.entries[0], 64, at) + struct.pack("<IHHHHHH", 0, 64, 56, len(loads), 64, len(rows),
                                                           len(rows) - 1))
        out[:len(head)] = head
        out[64:64 + len(phdrs)] = phdrs
        return out


BROKEN = {}


def broken(name):
    def add(make):
        assert name not in BROKEN, name
        BROKEN[name] = make
        return make
    return add


def rows(prefix, cases, apply):
    """One broken program per case: @apply changes the parts."""
    for name, value in cases.items():
        def make(value=value):
            p = Program()
            apply(p, value)
            return p.build()
        broken(f"{prefix}-{name}")(make)


def patch_info(p, value):
    off, data = value
    p.rw.put(p.info + off, data)


rows("buildinfo", {
    "no-magic": (0, b"\xfe"), "pointer-size": (14, b"\x04\x00"), "pointers-out": (14, b"\x08\x00" + u64(1, 2)),
    "pointers-wrap": (14, b"\x08\x00" + u64(-1, -8)),
    "pointers-to-self": (14, b"\x08\x00" + u64(BASE + DATA + 512) * 2),
    "length-huge": (32, b"\xff" * 9 + b"\x01"), "length-endless": (32, b"\xff" * 64), "length-zero": (32, b"\0"),
    "version-nul": (33, b"\0\0\0\0"), "version-other": (33, b"rust1.70"), "version-new": (33, b"go1.99.9"),
    "version-old": (33, b"go1.11.1"), "version-none": (33, b"        "), "modules-huge": (41, b"\xff\xff\xff\x7f"),
    "modules-marks": (42, b"\n" * 40),
}, patch_info)


def patch_table(p, value):
    off, data = value
    p.ro.put(p.table + off, data)


rows("pclntab", {
    "magic": (0, b"\0\0\0\0"), "magic-1.18": (0, u32(0xfffffff0)), "magic-1.16": (0, u32(0xfffffffa)),
    "magic-1.2": (0, u32(0xfffffffb)), "quantum": (6, b"\x03"), "pointer-size": (7, b"\x05"),
    "pointer-size-4": (7, b"\x04"), "functions-huge": (8, u64(1 << 60)), "functions-more": (8, u64(100)),
    "functions-none": (8, u64(0)), "text-0": (24, u64(0)), "text-wrap": (24, u64(-4096)),
    "names-out": (32, u64(1 << 40)), "names-end": (32, u64(0x7fffffff)), "funcs-out": (64, u64(1 << 40)),
    "funcs-wrap": (64, u64(-8)), "all-ones": (8, b"\xff" * 64), "all-zero": (8, bytes(64)),
}, patch_table)


def patch_module(p, value):
    off, data = value
    p.rw.put(p.module + off, data)


rows("module", {
    "none": (0, u64(0)), "text": (176, u64(1)), "types-0": (296, u64(0)), "types-out": (296, u64(1 << 50)),
    "types-behind": (296, u64(BASE + DATA)), "etypes-huge": (304, u64(-1)),
    "etypes-out": (304, u64(BASE + (1 << 40))),
    "itabs-out": (376, u64(1 << 50)), "itabs-huge": (384, u64(1 << 60, 1 << 60)), "itabs-cap": (392, u64(0)),
    "itabs-none": (384, u64(0)), "itabs-in-text": (376, u64(BASE + TEXT)),
    "typelinks-huge": (352, u64(8, 1 << 60, 1 << 60)),
    "typelinks-out": (352, u64(1 << 50, 8, 8)), "all-ones": (280, b"\xff" * 128),
}, patch_module)


def patch_type(p, value):
    name, off, data = value
    p.ro.put(p.types.where[name] + off, data)


LOOPY, PTR, META = "transport.loopyWriter", "*transport.loopyWriter", "http2.MetaHeadersFrame"
rows("types", {
    "kind-0": (PTR, 23, b"\0"), "kind-31": (PTR, 23, b"\x1f"), "elem-out": (PTR, 48, u64(1 << 50)),
    "elem-self": (PTR, 48, u64(0)), "size-0": (LOOPY, 0, u64(0)), "size-huge": (LOOPY, 0, u64(-1)),
    "fields-out": (LOOPY, 56, u64(1 << 50)), "fields-huge": (LOOPY, 64, u64(1 << 60)),
    "fields-wrap": (LOOPY, 56, u64(-8)),
    "fields-none": (LOOPY, 64, u64(0)), "name-out": (LOOPY, 40, u32(0x7fffffff)),
    "name-negative": (LOOPY, 40, u32(0xffffffff)),
    "path-out": (LOOPY, 80, u32(0x7ffffff0)), "methods-many": (LOOPY, 84, b"\xff\xff\xff\xff"),
    "methods-out": (LOOPY, 88, u32(0xffffffff)), "flags": (LOOPY, 20, b"\xff"),
    "to-this-out": (LOOPY, 44, u32(0x7fffffff)),
    "field-name-out": ("fields of loopyWriter", 0, u64(1 << 50)),
    "field-type-out": ("fields of loopyWriter", 8, u64(1 << 50)),
    "field-type-self": ("fields of MetaHeadersFrame", 8, u64(BASE + RODATA + 64)),
    "field-offset": ("fields of MetaHeadersFrame", 16, u64(1 << 40)), "struct-is-func": (META, 23, b"\x13"),
    "struct-is-map": (META, 23, b"\x15"), "struct-is-interface": (META, 23, b"\x14"),
    "interface-methods": ("net.Conn", 56, u64(BASE, 1 << 50, 1 << 50)),
}, patch_type)


def patch_debug(p, value):
    name, off, data = value
    old = bytearray(p.debug[name])
    old[off:off + len(data)] = data
    p.debug[name] = bytes(old)


rows("dwarf", {
    "unit-huge": (".debug_info", 0, u32(0x7fffffff)), "unit-64": (".debug_info", 0, u32(0xffffffff)),
    "unit-0": (".debug_info", 0, u32(0)), "version": (".debug_info", 4, b"\xff\xff"),
    "abbrevs-out": (".debug_info", 6, u32(0x7fffffff)), "address-size": (".debug_info", 10, b"\xff"),
    "code": (".debug_info", 11, b"\x7f"), "abbrev-form": (".debug_abbrev", 4, b"\x7f"),
    "abbrev-endless": (".debug_abbrev", 0, b"\xff" * 100), "abbrev-empty": (".debug_abbrev", 0, bytes(200)),
}, patch_debug)


@broken("dwarf-contradicts")
def _():
    p = Program()
    at = p.debug[".debug_info"].index(b"\x06framer\0") + 8
    patch_debug(p, (".debug_info", at, bytes([41])))
    return p.build()


@broken("dwarf-argument-elsewhere")
def _():
    p = Program()
    at = p.debug[".debug_info"].index(b"\x01\x50\x03streamID")
    patch_debug(p, (".debug_info", at + 1, b"\x55"))
    return p.build()


@broken("dwarf-packed-bomb")
def _():
    p = Program()
    p.debug = {n: u32(1, 0) + u64(1 << 40, 1) + zlib.compress(bytes(1 << 20)) for n in p.debug}
    p.debug_flags = 0x800
    return p.build()


@broken("dwarf-packed-badly")
def _():
    p = Program()
    p.debug = {n: u32(1, 0) + u64(len(d), 1) + b"\x78\x9cgarbage" for n, d in p.debug.items()}
    p.debug_flags = 0x800
    return p.build()


@broken("dwarf-packed-old-bomb")
def _():
    p = Program()
    p.debug = {".z" + n[1:]: b"ZLIB" + struct.pack(">Q", 1 << 40) + zlib.compress(d) for n, d in p.debug.items()}
    return p.build()


@broken("code-zero")
def _():
    p = Program()
    p.text.data[:] = bytes(len(p.text.data))
    return p.build()


@broken("code-cut")
def _():
    p = Program()
    p.text.data[64:] = b"\x4c\x8d" * ((len(p.text.data) - 64) // 2)
    return p.build()


def patch_head(value):
    off, data = value
    out = Program().build()
    out[off:off + len(data)] = data
    return out


for _name, _value in {
        "class-32": (4, b"\x01"), "big-endian": (5, b"\x02"), "machine": (18, b"\xf3\0"),
        "machine-arm64": (18, b"\xb7\0"),
        "phoff-out": (32, u64(1 << 50)), "phnum-0": (56, b"\0\0"), "phnum-many": (56, b"\xff\xff"),
        "shoff-out": (40, u64(1 << 50)), "shoff-wrap": (40, u64(-64)), "shnum-many": (60, b"\xff\xff"),
        "names-out": (62, b"\xff\xfe"), "load-huge": (64 + 56 + 32, u64(-1)), "load-wrap": (64 + 56 + 16, u64(-4096)),
        "load-overlap": (64 + 56 + 16, u64(BASE + DATA)), "no-code": (64, u32(0)),
}.items():
    broken("elf-" + _name)(lambda value=_value: patch_head(value))

for _percent in (1, 10, 25, 50, 75, 90, 97, 99):
    broken(f"cut-{_percent}")(lambda percent=_percent: (lambda b: b[:len(b) * percent // 100])(Program().build()))


def flipped(seed):
    out, dice = Program().build(), random.Random(seed)
    for _ in range(40):
        out[dice.randrange(len(out))] = dice.randrange(256)
    return out


for _seed in range(12):
    broken(f"flips-{_seed}")(lambda seed=_seed: flipped(seed))


def write_all(folder):
    os.makedirs(folder, exist_ok=True)
    for name, make in {"good": lambda: Program().build(), **BROKEN}.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(make())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--list":
        print("\n".join(BROKEN))
    else:
        write_all(sys.argv[1])
