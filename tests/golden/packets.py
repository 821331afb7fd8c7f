# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets of a table (tests/data/packets/*.tsv) as a pcapng file: one interface per link type, the name as comment.

Format: draft-ietf-opsawg-pcapng; little endian, nanoseconds, one packet a millisecond from 2024-01-01.
"""
import struct

START_NS = 1704067200 * 10**9
STEP_NS = 10**6


def pad(data):
    return data + bytes(-len(data) % 4)


def option(code, data):
    return struct.pack("<HH", code, len(data)) + pad(data)


def block(kind, body):
    size = 12 + len(body)
    return struct.pack("<II", kind, size) + body + struct.pack("<I", size)


def rows(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                name, link, data = line.split("\t")[:3]
                yield name, int(link), bytes.fromhex(data)


def to_pcapng(path):
    packets = list(rows(path))
    links = sorted({link for _, link, _ in packets})
    out = [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    for link in links:
        options = option(2, f"made{link}".encode()) + option(9, b"\x09") + option(0, b"")
        out.append(block(1, struct.pack("<HHI", link, 0, 0) + options))
    for i, (name, link, data) in enumerate(packets):
        ts = START_NS + i * STEP_NS
        body = struct.pack("<IIIII", links.index(link), ts >> 32, ts & 0xFFFFFFFF, len(data), len(data))
        out.append(block(6, body + pad(data) + option(1, name.encode()) + option(0, b"")))
    return b"".join(out)
