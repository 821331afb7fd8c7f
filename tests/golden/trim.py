#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a recording fit for the tree: trim.py IN OUT [MS]

Keeps the pipeline's own records and every record of the processes that some packet or stack belongs to; the host
gets the name "host" and a plain release. What a recording of a whole machine knows of other processes is nobody's
business here, and most of its size. With MS packets, stacks and system calls are kept of the last MS milliseconds
before the last of them.
"""
import struct
import sys
import zlib

FILE_HEADER = 64
REC = struct.Struct("<QIHHIIQIHH")  # ts len type cpu tgid tid start seq instance flags
HOST, LEDGER = 0x0001, 0x0004
SHOWN = (2, 3)  # probes whose records are what the recording is for
TIMED = (2, 3, 4)  # probes whose records MS cuts
RELEASE_AT = REC.size + 8
RELEASE = b"6.18.0"


def frames(data):
    at = FILE_HEADER
    while at + 8 <= len(data):
        length, _ = struct.unpack_from("<II", data, at)
        yield data[at + 8:at + 8 + length]
        at += (8 + length + 7) // 8 * 8


def frame(payload):
    length = struct.pack("<I", len(payload))
    crc = zlib.crc32(payload, zlib.crc32(length))
    out = length + struct.pack("<I", crc) + payload
    return out + bytes(-len(out) % 8)


def header(payload):
    return REC.unpack_from(payload)


def main():
    with open(sys.argv[1], "rb") as f:
        data = f.read()
    records = list(frames(data))
    owners = {header(r)[4] for r in records if header(r)[2] >> 8 in SHOWN}
    head = data[:24] + RELEASE.ljust(36, b"\0")
    out = [head + struct.pack("<I", zlib.crc32(head))]
    instances = {header(r)[8] for r in records if header(r)[2] >> 8 in SHOWN}
    since = 0
    if len(sys.argv) > 3:
        since = max(header(r)[0] for r in records if header(r)[2] >> 8 in TIMED) - int(sys.argv[3]) * 10**6
    for r in records:
        kind = header(r)[2]
        if kind >> 8 in TIMED and header(r)[0] < since:
            continue
        if kind == LEDGER and header(r)[8] not in instances:
            continue  # it counts what is left out here
        if kind >> 8 == 0 or kind >> 8 in SHOWN or header(r)[4] in owners:
            if kind == HOST:
                r = (r[:RELEASE_AT] + RELEASE.ljust(64, b"\0") + r[RELEASE_AT + 64:RELEASE_AT + 96] +
                     b"host".ljust(64, b"\0") + r[RELEASE_AT + 160:])
            out.append(frame(r))
    with open(sys.argv[2], "wb") as f:
        f.write(b"".join(out))


if __name__ == "__main__":
    main()
