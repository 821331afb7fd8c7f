# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures (.scap) that a reader should not trust: made block by block, each with one thing that is wrong or absurd.

Format: doc of src/scap/block.h. All of it is deterministic. `good()` is the one that nothing is wrong with.
"""
import gzip
import struct
import zlib

NOW = 1700000000 * 10 ** 9
SECTION, MACHINE, THREADS, FDS, IFACES, USERS, EVENT, FLAGGED, LARGE = (
    0x0A0D0D0A, 0x201, 0x215, 0x218, 0x219, 0x220, 0x216, 0x217, 0x221)


def block(number, body, total=None, trailer=None):
    body += bytes(-len(body) % 4)
    total = len(body) + 12 if total is None else total
    return struct.pack("<II", number, total) + body + struct.pack("<I", total if trailer is None else trailer)


def section(order=0x1A2B3C4D, major=1, minor=2, more=b""):
    return block(SECTION, struct.pack("<IHHq", order, major, minor, -1) + more)


def machine():
    return block(MACHINE, struct.pack("<IQQ128sQQQQ", 2, 1 << 30, 32768, b"host", 0, 0, 0, 0))


def s16(text, length=None):
    return struct.pack("<H", len(text) if length is None else length) + text


def thread(tid=1, pid=1, ptid=0, comm=b"init", cwd=b"/", length=None, comm_length=None, vtid=None):
    body = struct.pack("<5q", tid, pid, ptid, 1, 1) + s16(comm, comm_length) + s16(comm) + s16(b"/" + comm) + s16(b"")
    body += s16(cwd) + struct.pack("<QIIIIIIQQ", 1024, 0, 0, 0, 1, 1, 0, 0, 0) + s16(b"")
    body += struct.pack("<qq", tid if vtid is None else vtid, pid) + s16(b"") + s16(b"/")
    body += struct.pack("<QIiB", 0, 0, -1, 0)
    return struct.pack("<I", len(body) + 4 if length is None else length) + body


def fd(number, kind, payload, inode=7, length=None):
    body = struct.pack("<qQB", number, inode, kind) + payload
    return struct.pack("<I", len(body) + 4 if length is None else length) + body


def event(kind=6, params=(struct.pack("<q", 3), struct.pack("<I", 64)), tid=1, ts=NOW, number=EVENT, cpu=0,
          count=None, length=None, lens=None):
    width = "<I" if number == LARGE else "<H"
    lens = [len(p) for p in params] if lens is None else lens
    data = b"".join(struct.pack(width, n) for n in lens) + b"".join(params)
    head = struct.pack("<QqIHI", ts, tid, 26 + len(data) if length is None else length, kind,
                       len(params) if count is None else count)
    return block(number, struct.pack("<H", cpu) + (bytes(4) if number == FLAGGED else b"") + head + data)


def capture(*blocks, threads=None):
    table = block(THREADS, thread() if threads is None else threads)
    return section() + machine() + table + b"".join(blocks)


def good():
    return capture(block(FDS, struct.pack("<q", 1) + fd(3, 1, s16(b"/etc/passwd"))), event(),
                   event(7, (struct.pack("<q", 5), b"hello")))


def clone(child, flags=0, parent=1):
    strings = [b"x\0", b""]
    return event(223, (struct.pack("<q", child), *strings, struct.pack("<q", parent), struct.pack("<q", parent),
                       struct.pack("<q", 0), b"/\0", bytes(8), bytes(8), bytes(8), bytes(4), bytes(4), bytes(4),
                       b"x\0", b"", struct.pack("<I", flags), bytes(4), bytes(4), struct.pack("<q", parent),
                       struct.pack("<q", parent)), tid=parent)


def captures():
    """(name, bytes)"""
    whole = good()
    yield "empty", b""
    yield "section_alone", section()
    yield "section_of_other_order", section(order=0x4D3C2B1A) + machine()
    yield "section_without_order", section(order=0) + machine()
    yield "section_of_major_2", section(major=2) + machine()
    yield "section_with_options", section(more=b"\1\0\4\0abcd\0\0\0\0") + whole[28:]
    yield "section_again_and_again", section() * 2000 + machine()
    yield "block_of_length_0", section() + machine() + struct.pack("<III", EVENT, 0, 0)
    yield "block_of_length_11", section() + machine() + struct.pack("<III", EVENT, 11, 11)
    yield "block_of_4_GiB", section() + machine() + struct.pack("<III", THREADS, 0xfffffffc, 0)
    yield "block_ends_differently", section() + machine() + block(USERS, b"", trailer=16)
    yield "unknown_block_of_4_GiB", section() + machine() + struct.pack("<II", 0x7777, 0xfffffffc) + bytes(100)
    yield "thread_longer_than_its_block", capture(threads=thread(length=0x7fffffff))
    yield "thread_of_length_0", capture(threads=thread(length=0) + thread(tid=2, pid=2))
    yield "thread_of_length_5", capture(threads=thread(length=5))
    yield "name_longer_than_its_thread", capture(threads=thread(comm_length=0xffff))
    yield "thread_is_its_own_parent", capture(event(), threads=thread(ptid=1))
    yield "parents_in_a_circle", capture(event(), threads=thread(1, 1, 2) + thread(2, 2, 3) + thread(3, 3, 1))
    yield "process_of_a_thread_is_a_thread", capture(event(tid=2), threads=thread(1, 2) + thread(2, 1))
    yield "numbers_of_threads_at_the_ends", capture(
        *(event(tid=t) for t in (-1, 0, (1 << 63) - 1, -(1 << 63))), threads=thread((1 << 63) - 1, -1, -(1 << 63)))
    yield "names_with_control_bytes", capture(event(), threads=thread(comm=b"\x1b]0;x\x07\r\n\xff", cwd=b"\x1b[2J"))
    yield "a_directory_of_64_kB", capture(event(), threads=thread(cwd=b"/x" * 32767))
    yield "descriptor_longer_than_its_list", capture(block(FDS, struct.pack("<q", 1) + fd(3, 1, b"", length=0x10000)))
    yield "descriptor_of_type_255", capture(block(FDS, struct.pack("<q", 1) + fd(3, 255, s16(b"x"))), event())
    yield "descriptor_of_a_cut_tuple", capture(block(FDS, struct.pack("<q", 1) + fd(3, 4, bytes(7))), event())
    yield "descriptors_of_nobody", capture(block(FDS, struct.pack("<q", 99) + fd(3, 1, s16(b"/x"))), event(tid=99))
    yield "event_longer_than_its_block", capture(event(length=0x7fffffff))
    yield "event_of_length_0", capture(event(length=0))
    yield "event_with_4_billion_parameters", capture(event(count=0xffffffff))
    yield "parameter_longer_than_its_event", capture(event(lens=[8, 0xffff]))
    yield "large_parameter_of_4_GiB", capture(event(number=LARGE, lens=[8, 0xffffffff]))
    yield "event_of_type_65535", capture(event(kind=0xffff), event())
    yield "event_that_is_a_row", capture(event(kind=65281), event())
    yield "numbers_of_every_width", capture(event(params=(b"", b"\1")), event(7, (b"\1\2\3", b"")),
                                            event(7, (b"\xff" * 8,)))
    yield "times_at_the_ends", capture(*(event(ts=t) for t in (0, 1, (1 << 64) - 1, 1 << 63, 5)))
    yield "clones_of_themselves", capture(*(clone(c) for c in (1, 0, -1, -4096, 1 << 62, 1)), event())
    yield "ten_thousand_clones", capture(*(clone(i + 2, parent=i + 1) for i in range(10000)))
    yield "threads_of_a_thread_that_ends", capture(clone(2, 1 << 13), event(187, ()), event(186, (bytes(8),)),
                                                   event(tid=2))
    yield "close_of_what_is_not_open", capture(event(4, (struct.pack("<q", 77),)), event(5, (bytes(8),)))
    yield "descriptor_numbers_at_the_ends", capture(
        *(event(5, (bytes(8), struct.pack("<q", n))) for n in (-1, -(1 << 63), (1 << 63) - 1)))
    yield "poll_list_that_lies", capture(event(80, (struct.pack("<H", 0xffff) + bytes(10), bytes(8))))
    yield "sockaddr_that_ends_early", capture(event(22, (struct.pack("<q", 3), b"\2\x7f\0")),
                                              event(23, (bytes(8), b"\12\1")))
    yield "container_of_broken_json", capture(event(324, (b'{"container":{"id":"\\u00', )),
                                              event(324, (b"{" * 60000,)))
    yield "gzip_that_ends_early", gzip.compress(whole)[:-9]
    yield "gzip_of_a_bomb", gzip.compress(capture() + struct.pack("<II", 0x7777, 1 << 31) + bytes(64 << 20))
    yield "gzip_of_gzip", gzip.compress(gzip.compress(whole))
    yield "zlib_and_not_gzip", zlib.compress(whole)
