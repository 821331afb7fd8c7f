# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets of every kind that the dialect of tcpdump dissects, made by hand: write(path) makes a capture of them, and
with cut=True one in which each packet was cut somewhere.
"""
import random
import struct

SRC, DST = b"\x0a\x01\x02\x03", b"\x0a\x01\x02\x04"
BACK = {"src": DST, "dst": SRC}


def checksum(data):
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def pseudo(proto, segment, src, dst):
    return checksum(src + dst + struct.pack(">HH", proto, len(segment)) + segment)


def ip4(proto, payload, src=SRC, dst=DST, tos=0, flags=0x4000, options=b"", bad=0):
    head = bytearray(struct.pack(">BBHHHBBH4s4s", 0x45 + len(options) // 4, tos, 20 + len(options) + len(payload), 7,
                                 flags, 64, proto, 0, src, dst) + options)
    head[10:12] = struct.pack(">H", checksum(bytes(head)) ^ bad)
    return bytes(head) + payload


def ethernet(payload, ethertype=0x800, vlan=None):
    tag = b"" if vlan is None else struct.pack(">HH", 0x8100, vlan)
    return b"\2\0\0\0\0\2\2\0\0\0\0\1" + tag + struct.pack(">H", ethertype) + payload


def tcp(sport, dport, seq, ack, flags, data=b"", options=b"", urgent=0, src=SRC, dst=DST):
    options += b"\1" * (-len(options) % 4)
    segment = bytearray(struct.pack(">HHIIHHHH", sport, dport, seq, ack, (5 + len(options) // 4) << 12 | flags, 1000,
                                    0, urgent) + options + data)
    segment[16:18] = struct.pack(">H", pseudo(6, bytes(segment), src, dst))
    return ethernet(ip4(6, bytes(segment), src, dst))


def udp(sport, dport, data, verified=True):
    segment = bytearray(struct.pack(">HHHH", sport, dport, 8 + len(data), 0) + data)
    if verified:
        segment[6:8] = struct.pack(">H", pseudo(17, bytes(segment), SRC, DST))
    return bytes(segment)


def icmp(kind, code, rest, data):
    message = bytearray(struct.pack(">BBHI", kind, code, 0, rest) + data)
    message[2:4] = struct.pack(">H", checksum(bytes(message)))
    return ethernet(ip4(1, bytes(message)))


def igmp(kind, code, group, rest=b""):
    message = bytearray(struct.pack(">BBH", kind, code, 0) + group + rest)
    message[2:4] = struct.pack(">H", checksum(bytes(message)))
    return ethernet(ip4(2, bytes(message), dst=b"\xe0\0\0\x16", options=b"\x94\4\0\0"))


def arp(sender, target, kind=2):
    return ethernet(b"\0\1\x08\0\6\4\0" + bytes([kind]) + sender + SRC + target + DST, 0x806)


def name(text):
    return b"".join(bytes([len(x)]) + x.encode() for x in text.split(".") if x) + b"\0"


def dns(number, flags, question=None, *sections):
    """@question: name, type, and the class unless it is 1; a section is a list of (name, type, class, ttl, data)."""
    sections += ((),) * (3 - len(sections))
    message = struct.pack(">HHHHHH", number, flags, 1 if question else 0, *map(len, sections))
    if question:
        message += name(question[0]) + struct.pack(">HH", *question[1:], *(1,)[len(question) - 2:])
    for section in sections:
        for owner, kind, kind_class, ttl, data in section:
            message += name(owner) + struct.pack(">HHIH", kind, kind_class, ttl, len(data)) + data
    return message


def query(*args):
    return ethernet(ip4(17, udp(4000, 53, dns(*args))))


def answer(*args):
    return ethernet(ip4(17, udp(53, 4000, dns(*args))))


def mdns(*args):
    return ethernet(ip4(17, udp(5353, 5353, dns(*args))))


SOA = name("a.org") + name("b.org") + struct.pack(">5I", 1, 2, 3, 4, 5)
INNER = ip4(17, udp(5, 6, b"abcdefgh"))
PACKETS = [
    tcp(1000, 2000, 100, 0, 2, options=b"\2\4\5\xb4\4\2\1\3\3\7"), tcp(2000, 1000, 500, 101, 0x12, **BACK),
    tcp(1000, 2000, 101, 501, 0x10), tcp(2000, 1000, 501, 101, 0x18, b"data", **BACK),
    tcp(1000, 2000, 101, 505, 0x10, options=b"\1\1\5\x0a" + struct.pack(">II", 600, 700)),
    tcp(1000, 2000, 101, 505, 0x38, b"x" * 10, urgent=5), tcp(1000, 2000, 101, 505, 0xd0),
    tcp(1000, 2000, 101, 505, 0), tcp(1000, 2000, 111, 505, 0x14), tcp(1, 25, 1, 1, 0x18, b"EHLO x\r\n"),
    tcp(1, 80, 1, 1, 0x18, b"\x00\x01binary\xff"),
    tcp(1, 80, 1, 1, 0x18, b"POST /a/b?c=d HTTP/1.0\r\nA: b\r\n\r\n{\"x\":1}\n"),
    tcp(1, 80, 900, 1, 0x18, b"continuation of a body without any header"),
    ethernet(ip4(17, udp(5, 6, b"abc"))), ethernet(ip4(17, udp(5, 6, b"abc", verified=False))),
    ethernet(ip4(17, udp(5, 6, b""))) + b"\0" * 18, ethernet(ip4(17, udp(5, 6, b"abc"), tos=3, flags=0, bad=1)),
    ethernet(ip4(17, udp(5, 6, b"abc"), tos=0xb9, options=b"\x94\4\0\0")),
    ethernet(ip4(17, udp(5, 6, b"abc")), vlan=0x2005), ethernet(ip4(4, ip4(17, udp(5, 6, b"abc")))),
    ethernet(ip4(200, b"zzzz")), ethernet(b"\1\2\3\4\5\6", 0x9999),
    *(icmp(kind, code, rest, INNER[:28]) for kind, code, rest in (
        (3, 0, 0), (3, 1, 0), (3, 2, 0), (3, 3, 0), (3, 4, 1400), (3, 9, 0), (3, 10, 0), (3, 13, 0), (11, 0, 0),
        (11, 1, 0), (5, 1, 0x0a010263))),
    icmp(3, 3, 0, tcp(5, 6, 1, 2, 2)[14:][:28]), icmp(13, 0, 0x10002, b"\0" * 12), icmp(42, 0, 0, b"x"),
    query(1, 0x100, ("example.org", 1)),
    query(2, 0x100, ("example.org", 28), (), (), [("", 41, 1232, 0x8000, b"")]), query(3, 0x110, ("a.b", 15)),
    query(4, 0, ("x", 16)), query(5, 0x100, ("x.y", 65)), query(6, 0x100, ("4.3.2.1.in-addr.arpa", 12)),
    query(6, 0x2800, ("z.q", 6)),
    answer(1, 0x8180, ("example.org", 1), [("example.org", 1, 1, 300, b"\1\2\3\4"),
                                           ("example.org", 1, 1, 300, b"\5\6\7\x08")]),
    answer(1, 0x8580, ("example.org", 5), [("example.org", 5, 1, 300, name("other.org"))]),
    answer(1, 0x8183, ("nx.org", 1), (), [("org", 6, 1, 300, SOA)]),
    answer(1, 0x8180, ("m.org", 15), [("m.org", 15, 1, 300, struct.pack(">H", 10) + name("mx.m.org"))], (),
           [("mx.m.org", 1, 1, 60, b"\1\1\1\1"), ("", 41, 4096, 0, b"")]),
    answer(1, 0x8182, ("m.org", 15)), answer(1, 0x8100, ("m.org", 1)),
    answer(1, 0x8380, ("t.org", 16), [("t.org", 16, 1, 1, b"\5hello\3abc")]),
    answer(1, 0x8180, ("s.org", 33), [("_x._tcp.s.org", 33, 1, 1, struct.pack(">HHH", 1, 2, 80) + name("h.s.org"))]),
    answer(1, 0x8180, ("p", 12), [("p", 12, 1, 9, name("host.x"))]),
    answer(1, 0x8180, ("e.org", 28), [("e.org", 28, 1, 300, b"\x20\1\x0d\xb8" + b"\0" * 11 + b"\1")]),
    answer(1, 0x8180, ("n.org", 2), [("n.org", 2, 1, 300, name("ns1.n.org"))]),
    answer(1, 0x8180, ("h.org", 65), [("h.org", 65, 1, 300, b"\0\1\0")]),
    query(7, 0, ("q.org", 1, 5)), answer(1, 0x8180, ("q.org", 1), [("q.org", 1, 0x8001, 300, b"\1\2\3\4")]),
    ethernet(ip4(17, udp(53, 4000, b"\0\1\x81\x80\0\1"))),
    mdns(0, 0, ("_http._tcp.local", 12)), mdns(0, 0, ("_http._tcp.local", 12, 0x8001)),
    mdns(0, 0, ("a.local", 255, 0x8003), [("a.local", 1, 1, 120, b"\1\2\3\4")]),
    mdns(0, 0x8400, None, [("_http._tcp.local", 12, 1, 4500, name("a._http._tcp.local")),
                           ("a.local", 1, 0x8001, 120, b"\1\2\3\4")], (),
         [("a._http._tcp.local", 33, 0x8001, 120, struct.pack(">HHH", 0, 0, 80) + name("a.local"))]),
    mdns(0, 0x8400, None, [("a.local", 1, 0x8003, 120, b"\1\2\3\4"), ("", 41, 0x85a0, 0, b"")]),
    ethernet(ip4(17, udp(5353, 5353, b"\0\0\x84\0\0"))), ethernet(ip4(17, udp(5353, 4000, b"x" * 60))),
    ethernet(b"\0\1\x08\0\6\4\0\1" + b"\2\0\0\0\0\1" + b"\x0a\0\0\1" + b"\2\0\0\0\0\2" +
             b"\x0a\0\0\2", 0x806),
    ethernet(ip4(1, b"later", flags=0x10)), ethernet(ip4(17, b"later", flags=0x2010)), ethernet(ip4(115, b"l2tp")),
    igmp(0x11, 0, bytes(4)), igmp(0x11, 100, bytes(4)), igmp(0x11, 50, b"\xe1\1\1\1"),
    igmp(0x12, 0, b"\xe1\1\1\2"),
    igmp(0x16, 0, b"\xe1\1\1\3"), igmp(0x17, 0, b"\xe1\1\1\3"), igmp(0x16, 0, b"\xe1\1\1\3", b"more"),
    igmp(0x17, 0, b"\xe1\1\1\3", b"mo"), igmp(0x11, 70, b"\xe1\1\1\3", b"mo"),
    igmp(0x12, 0, b"\xe1\1\1\3", b"mo"),
    igmp(0x22, 0, b"\0\0\0\2", b"\4\0\0\x09\xe1\1\1\1"), igmp(0x77, 0, bytes(4)),
    igmp(0x11, 100, bytes(4), b"\2\x7d\0\0"),
    igmp(0x11, 30, b"\xe1\1\1\1", b"\2\x7d\0\2" + SRC + DST), igmp(0x11, 0xff, bytes(4), b"\2\x7d\0\0"),
    igmp(0x11, 0x8f, b"\xe1\1\1\1", b"\2\x7d\0\7"),
    igmp(0x22, 0, b"\0\0\0\3", b"\4\0\0\0\xe1\1\1\1" + b"\1\0\0\1\xe1\1\1\2" + SRC +
         b"\x63\0\0\0\xe1\1\1\3"),
    arp(b"\0\0\x0c\1\2\3", bytes(6)), arp(b"\2\0\0\0\0\2", b"\xff" * 6),
    arp(b"\x08\0\7\1\2\3", b"\0\x90\x69\1\2\3", kind=1),
]


def write(path, cut=False):
    lengths = random.Random(1)
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1))
        for i, packet in enumerate(PACKETS):
            kept = packet[:lengths.randrange(14, len(packet) + 1)] if cut else packet
            f.write(struct.pack("<IIII", 1700000000 + i, i * 7, len(kept), len(packet)) + kept)
