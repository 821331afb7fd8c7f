# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of HTTP/2 frames (tests/data/rpc/*.calls) as recordings.

A row: milliseconds since the first | process | what | words and headers, separated by tabs. Words are NAME=VALUE; what
has a colon or no such name is a header, in order. Formats: include/sonde/rec.h, probes/gohttp2/gohttp2_wire.h, and of
tasks probes/proc/proc_wire.h: written down here a second time, because a test should not read them there.
"""
import ipaddress
import struct
import zlib

REC = struct.Struct("<QIHHIIQIHH")  # ts len type cpu tgid tid start seq instance flags
BOOT_NS = 3600 * 10**9              # of the first row
WALL_NS = 1704067200 * 10**9        # likewise: 2024-01-01
HOST, CLOCK, NAME, LEDGER, LOST, TICK = 1, 2, 3, 4, 5, 6
PROC_TASK = 1 << 8 | 8
PROC_EXIT = 1 << 8 | 3
FRAME, MISS, PROGRAM, EXEC, EXIT, SHORT = (5 << 8 | n for n in (1, 2, 6, 7, 8, 9))
GOHTTP2 = 3                           # instance
WHAT = {"headers": 1, "data": 2, "reset": 3, "done": 4, "gone": 5}
SIDES = {"client": 1, "server": 2}
END, SENT, SOCK, MORE, WEB = 1, 2, 4, 8, 16
HEADERS = (None, ":path", ":method", ":authority", ":status", "content-type", "user-agent", "grpc-status",
           "grpc-message", "grpc-timeout", "traceparent", "payload")
CUT, SECRET = 1, 2
ORIGIN = {"fd", "local", "remote", "cookie", "goid", "parent"}   # what only the longer form has
WORDS = {"side", "conn", "stream", "flags", "code", "bytes", "fd", "local", "remote", "cookie", "goid", "parent",
         "comm", "exe", "text", "sites", "site", "count", "reason", "file", "line", "cause"}


def frame(payload):
    length = struct.pack("<I", len(payload))
    out = length + struct.pack("<I", zlib.crc32(payload, zlib.crc32(length))) + payload
    return out + bytes(-len(out) % 8)


def file_header():
    head = struct.pack("<8sHHIHHI36s", b"\x93SONDE\r\n", 1, 0, 0x01020304, 64, REC.size, 4096, b"6.12.0")
    return head + struct.pack("<I", zlib.crc32(head))


def unescape(text):
    """\\xNN is a byte that no table could hold."""
    return text.encode().decode("unicode_escape").encode("latin-1")


def field(name, value):
    """struct gohttp2_field with its strings; NAME* is a value that was cut, NAME! a secret."""
    flags = CUT if name.endswith("*") else SECRET if name.endswith("!") else 0
    name = name.rstrip("*!")
    number = HEADERS.index(name) if name in HEADERS else 0
    value = unescape(value)
    full = len(value) * (2 if flags & CUT else 1)
    name = b"" if number else name.encode()
    kept = b"" if flags & SECRET else value
    return struct.pack("<BBBBHH", number, flags, len(name), 0, len(kept), full) + name + kept


def address(text):
    """family, port, 16 bytes"""
    host, _, port = text.rpartition(":")
    ip = ipaddress.ip_address(host.strip("[]"))
    return ip.version, int(port), ip.packed.ljust(16, b"\0")


def flags_of(words):
    return sum({"end": END, "sent": SENT, "more": MORE, "web": WEB}[f] for f in words.get("flags", "").split(",") if f)


def frame_body(what, words, headers):
    flags = flags_of(words)
    family, lport, rport, laddr, raddr = 0, 0, 0, bytes(16), bytes(16)
    if words.get("local") == "unix":
        family, flags = 1, flags | SOCK
    elif "local" in words:
        family, lport, laddr = address(words["local"])
        _, rport, raddr = address(words["remote"])
        flags |= SOCK
    fields = b"".join(field(*h) for h in headers)

    def number(name, otherwise=0):
        return int(words.get(name, otherwise))
    return struct.pack("<QQQQIIIiIBBBBHHHH16s16s", 0xc000100000 + 0x1000 * number("conn"), number("goid"),
                       number("parent"), number("cookie"), number("stream"), number("code"), number("bytes"),
                       number("fd", -1), 4026531840, WHAT[what], SIDES[words["side"]] if "side" in words else 0, flags,
                       family, lport, rport, len(headers), len(fields), laddr, raddr) + fields


def short_body(what, words, headers):
    """struct gohttp2_short_rec"""
    fields = b"".join(field(*h) for h in headers)
    value = int(words.get("bytes" if what == "data" else "code", 0))
    return struct.pack("<QIIBBBBHH", 0xc000100000 + 0x1000 * int(words.get("conn", 0)), int(words.get("stream", 0)),
                       value, WHAT[what], SIDES[words["side"]] if "side" in words else 0, flags_of(words), 0,
                       len(headers), len(fields)) + fields


def is_short(words, headers):
    """Both forms are good for what needs no more than the short one: streams choose, so that each is there."""
    return not set(words) & ORIGIN and not any(name == ":path" for name, _ in headers) and \
        int(words.get("stream", 0)) % 4 == 1


def task_body(words):
    comm, exe = unescape(words["comm"]), words["exe"].encode()
    who = struct.pack("<QIIIIIIII16s", 1, 1, 1000, 1000, 4026531840, 0, 0, 0, 0, comm)
    return who + struct.pack("<QQIIHHHBB", 0, 77, 0, 0, 0, len(exe), 0, 0, 0) + exe


def body(what, words, headers):
    """Record type, bytes behind the header"""
    if what in WHAT and is_short(words, headers):
        return SHORT, short_body(what, words, headers)
    if what in WHAT:
        return FRAME, frame_body(what, words, headers)
    if what == "task":
        return PROC_TASK, task_body(words)
    if what == "exit":
        return EXIT, b""
    if what == "tick":
        return TICK, b""
    if what == "miss":
        return MISS, struct.pack("<QHHI32s96s", int(words["count"]), int(words["site"]), int(words["line"]), 0,
                                 words["file"].encode(), words["reason"].encode())
    if what == "program":
        text = words["text"].encode()
        return PROGRAM, struct.pack("<II", int(words["sites"]), len(text)) + text
    if what == "lost":
        return LOST, struct.pack("<IIQ", int(words["cause"]), 0, int(words["count"]))
    raise ValueError(f"what is {what}?")


def rows(path):
    """ms, pid, what, words, headers"""
    with open(path, encoding="utf-8") as f:
        for line in f:
            if not line.strip() or line.startswith("#"):
                continue
            ms, pid, what, *cells = line.rstrip("\n").split("\t")
            pairs = [cell.partition("=")[::2] for cell in cells if cell]
            yield (float(ms), int(pid), what, {k: v for k, v in pairs if k in WORDS},
                   [(k, v) for k, v in pairs if k not in WORDS])


def first_records():
    host = struct.pack("<II64s32s64s", 2, 4096, b"6.12.0", b"x86_64", b"host")
    clock = struct.pack("<q", WALL_NS - BOOT_NS)
    name = struct.pack("<IIQ", 4, 7, GOHTTP2) + b"gohttp2"
    return [(HOST, host), (CLOCK, clock), (NAME, name)]


def records(path):
    """The records of a table, whole."""
    out = [REC.pack(BOOT_NS, REC.size + len(b), t, 0, 0, 0, 0, 0, 0, 0) + b for t, b in first_records()]
    n = 0
    ts = BOOT_NS
    for seq, (ms, pid, what, words, headers) in enumerate(rows(path)):
        kind, rest = body(what, words, headers)
        ts = BOOT_NS + round(ms * 10**6)
        start = BOOT_NS - 10**9 * pid if pid else 0
        n += kind >> 8 == 5
        instance = 0 if kind in (PROC_TASK, TICK) else GOHTTP2
        out.append(REC.pack(ts, REC.size + len(rest), kind, 0, pid, pid, start, seq + 1, instance, 0) + rest)
    ledger = struct.pack("<12Q", n + 3, n, 0, 0, 3, *[0] * 7)
    out.append(REC.pack(ts, REC.size + len(ledger), LEDGER, 0, 0, 0, 0, 0, GOHTTP2, 0) + ledger)
    return out


def to_rec(path):
    return file_header() + b"".join(frame(r) for r in records(path))
