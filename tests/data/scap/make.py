#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the capture that tests read (session.scap): a session in which something of every kind happens.

usage: make.py OUT
The layout is that of the format's readers; independent of our writer on purpose.
"""
import socket
import struct
import sys

NOW = 1700000000 * 10 ** 9
TID = 4242


def u32(v):
    return struct.pack("<I", v)


def i64(v):
    return struct.pack("<q", v)


def u64(v):
    return struct.pack("<Q", v)


def block(number, body):
    body += bytes(-len(body) % 4)
    total = len(body) + 12
    return struct.pack("<II", number, total) + body + u32(total)


def s16(text):
    return struct.pack("<H", len(text)) + text


def entry(body):
    return u32(len(body) + 4) + body


def thread(tid, pid, ptid, comm, exepath, args, cwd):
    body = struct.pack("<qqqqq", tid, pid, ptid, 1, 0) + s16(comm) + s16(comm) + s16(exepath) + s16(args) + s16(cwd)
    body += struct.pack("<QIIIIIIQQ", 1024, 0, 1000, 1000, 2000, 200, 0, 1, 2) + s16(b"A=1\0HOME=/srv/alice\0")
    body += struct.pack("<qq", tid, pid) + s16(b"cpu=/docker/" + b"3ad7b26ded6d" * 5 + b"cafe\0") + s16(b"/")
    return entry(body + struct.pack("<QIiB", 0, 0, -1, 1))


def fd(number, inode, kind, payload):
    return entry(struct.pack("<qQB", number, inode, kind) + payload)


class Events:
    def __init__(self):
        self.ts, self.out = NOW, b""

    def add(self, kind, params, tid=TID, cpu=0, large=False):
        self.ts += 1000
        lens = b"".join(struct.pack("<I" if large else "<H", len(p)) for p in params)
        data = b"".join(params)
        head = struct.pack("<QqIHI", self.ts, tid, 26 + len(lens) + len(data), kind, len(params))
        self.out += block(0x221 if large else 0x216, struct.pack("<H", cpu) + head + lens + data)

    def call(self, enter, enter_params, exit_params, **more):
        self.add(enter, enter_params, **more)
        self.add(enter + 1, exit_params, **more)


def ip4(text):
    return socket.inet_aton(text)


def ip6(text):
    return socket.inet_pton(socket.AF_INET6, text)


def port(number):
    return struct.pack("<H", number)


def process(tid, parent, comm, args):
    return [comm + b"\0", args, i64(tid), i64(tid), i64(parent), b"/srv/alice\0", i64(1024), u64(1), u64(2), u32(1000),
            u32(100), u32(0), comm + b"\0", b"cpu=/\0", u32(0), u32(1000), u32(1000), i64(tid), i64(tid)]


def tables():
    out = struct.pack("<IIIHHQI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 2, 2 ** 64 - 1, 28)
    out += block(0x201, struct.pack("<IQQ128sQQQQ", 2, 8 << 30, 32768, b"testhost", NOW - 10 ** 12, 0, 0, 0))
    iface = struct.pack("<HH", 1, 4) + ip4("192.168.1.5") + ip4("255.255.255.0") + ip4("192.168.1.255") + u64(1000)
    iface += b"eth0"
    out += block(0x219, u32(len(iface)) + iface)
    user = entry(struct.pack("<BII", 0, 1000, 1000) + s16(b"alice") + s16(b"/srv/alice") + s16(b"/bin/bash"))
    out += block(0x220, user + entry(struct.pack("<BI", 1, 1000) + s16(b"alice")))
    out += block(0x215, thread(1, 1, 0, b"init", b"/sbin/init", b"", b"/") +
                 thread(TID, TID, 1, b"demo", b"/usr/bin/demo", b"--x\0-y\0", b"/srv/alice/"))
    fds = fd(0, 11, 16, u32(1) + s16(b"/etc/passwd") + u32(0x801))
    fds += fd(5, 12, 3, ip4("192.168.1.5") + ip4("93.184.216.34") + struct.pack("<HHB", 51000, 443, 2))
    fds += fd(6, 13, 8, u64(0xffff0001) + u64(0xffff0002) + s16(b"/run/x.sock")) + fd(7, 14, 7, s16(b"pipe:[14]"))
    fds += fd(8, 15, 5, ip4("0.0.0.0") + struct.pack("<HB", 8080, 2))
    return out + block(0x218, i64(TID) + fds)


def files(e):
    e.call(306, [i64(-100), b"notes\0", u32(4097), u32(0)],
           [i64(9), i64(-100), b"notes\0", u32(4097), u32(0), u32(0x801)])
    e.call(6, [i64(9), u32(128)], [i64(5), b"hello"])
    e.call(6, [i64(0), u32(128)], [i64(-11), b""])
    e.call(124, [i64(9)], [i64(10)])
    e.call(94, [], [i64(0), b"../bob\0"])
    e.call(2, [], [i64(-2), b"missing\0", u32(1), u32(0)])
    e.call(4, [i64(9)], [i64(0)])
    e.call(6, [i64(9), u32(1)], [i64(-9), b""])
    e.call(60, [], [i64(0), i64(11), i64(12), u64(77)])
    e.call(8, [i64(12), u32(3)], [i64(3), b"a\nb"])


def sockets(e):
    e.call(18, [u32(2), u32(1), u32(6)], [i64(13)])
    e.call(22, [i64(13), b"\2" + ip4("10.0.0.1") + port(80)],
           [i64(-115), b"\2" + ip4("192.168.1.5") + port(40000) + ip4("10.0.0.1") + port(80)])
    e.call(8, [i64(13), u32(3)], [i64(3), b"GET"])
    e.call(246, [], [i64(14), b"\2" + ip4("10.9.9.9") + port(50000) + ip4("192.168.1.5") + port(8080), b"\0", u32(0),
                     u32(5)])
    e.call(18, [u32(10), u32(2), u32(0)], [i64(15)])
    e.call(30, [i64(15), u32(4), b"\x0a" + ip6("::") + port(33333) + ip6("fd00::1") + port(53)], [i64(4), b"dns?"])
    e.call(80, [struct.pack("<H", 2) + struct.pack("<qH", 13, 1) + struct.pack("<qH", 99, 1), i64(1000)],
           [i64(1), struct.pack("<H", 1) + struct.pack("<qH", 13, 1)])


def processes(e):
    e.call(222, [], [i64(4243)] + process(TID, 1, b"demo", b"--x\0"))
    e.add(223, [i64(0)] + process(4243, TID, b"demo", b"--x\0"), tid=4243, cpu=1)
    e.add(292, [b"ls\0"], tid=4243, cpu=1)
    e.add(293, [i64(0), b"ls\0", b"-l\0/tmp\0", i64(4243), i64(4243), i64(TID), b"\0", u64(1024), u64(0), u64(30),
                u32(500), u32(4), u32(0), b"ls\0", b"cpu=/\0", b"B=2\0", struct.pack("<i", 0), i64(4243),
                struct.pack("<i", -1), struct.pack("<i", 0)], tid=4243, cpu=1)
    e.add(198, [u32(1000)], tid=4243)
    e.add(199, [i64(0)], tid=4243)
    e.add(186, [i64(0), i64(0), b"\0", b"\0"], tid=4243, cpu=1)
    e.call(0, [struct.pack("<H", 99), struct.pack("<H", 24)], [struct.pack("<H", 99)])
    e.add(324, [b'{"container":{"id":"3ad7b26ded6d","name":"web","image":"nginx","Mounts":[{"name":"no"}]}}\0'],
          large=True)
    e.add(6, [i64(0), u32(16)], tid=7777)
    e.add(7, [i64(2), b"ab"], tid=7777)


def main(path):
    e = Events()
    files(e)
    sockets(e)
    processes(e)
    with open(path, "wb") as f:
        f.write(tables() + e.out)


if __name__ == "__main__":
    main(sys.argv[1])
