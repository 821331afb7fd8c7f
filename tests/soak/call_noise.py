# SPDX-License-Identifier: GPL-2.0-or-later
"""For tests/soak/calls.py: connections of local sockets that carry no calls: random and compressed bytes, records of
TLS, ssh, rsync, SMTP, and first bytes that look like a protocol's with random ones behind them, as many as they say
(200) or not."""
import multiprocessing
import os
import random
import socket
import sys
import zlib

TURNS = 3
SAID = 0xc8
# As tests/e2e/rpc/test_rpc_sockets.py.
FIRST = [
    b"", b"SSH-2.0-OpenSSH_9.2p1\r\n", b"\x16\x03\x01\x00\xc8", b"\x17\x03\x03\x00\xc8", b"@RSYNCD: 31.0\n",
    b"220 mail ESMTP\r\n", b"\x00\x00\x00\xc8", b"\xc8\x00\x00\x00", b"get key\r\n", b"stats\r\n",
    b"\x80\x00\x00\x01", b"AMQP\0\0\x09\x01", b"\x01\x01\x00\x01\x00\x08\x00\x00\x00\x01",
    b"\x00\x00\x00\xc8\x00\x03\x00\x01\x00\x00\x00\x01\xff\xff", b"\x04\x00\x00\x01\x07\x00\x00\x00\xc3",
    b"PUB a 100\r\n", b"INFO {", b"*1\r\n$4\r\nPING\r\n", b"\x1f\x8b\x08\0\0\0\0\0\0\3", b"\x28\xb5\x2f\xfd",
]
SSH = b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"


def pieces(rng):
    """Random bytes; the same with a length in front as ssh's packets and TLS' records have; compressed text."""
    data = rng.randbytes(rng.choice((SAID, rng.randrange(20, 300))))
    kind = rng.randrange(4)
    if kind == 0:
        return data
    if kind == 1:
        return len(data).to_bytes(4, "big") + data
    if kind == 2:
        return b"\x17\x03\x03" + len(data).to_bytes(2, "big") + data
    return zlib.compress(data.hex().encode())


def connections(n, seed):
    rng = random.Random(seed)
    for i in range(n):
        a, b = socket.socketpair()
        with a, b:
            for turn in range(TURNS):
                a.sendall((b"" if turn else FIRST[i % len(FIRST)]) + pieces(rng))
                b.recv(4096)
                b.sendall(SSH if not turn and i % 3 == 0 else pieces(rng))
                a.recv(4096)


def start(n, processes):
    """Processes that wait for go()."""
    begin = multiprocessing.Event()

    def work(i):
        begin.wait()
        connections(n // processes, os.getpid() + i)
    children = [multiprocessing.Process(target=work, args=(i,)) for i in range(processes)]
    for child in children:
        child.begin = begin
        child.start()
    return children


def go(children):
    children[0].begin.set()
    for child in children:
        child.join()
        if child.exitcode:
            sys.exit("the generator failed")
