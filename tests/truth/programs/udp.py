# SPDX-License-Identifier: GPL-2.0-or-later
"""UDP servers that echo, and clients with a socket per flow.

    udp.py serve IP PORT SOCKETS STEERING       SOCKETS processes, each with a socket in one SO_REUSEPORT group;
                                                STEERING: hash, or cbpf (the first byte of a datagram chooses);
                                                prints "up"
    udp.py talk IP PORT FLOWS DATAGRAMS ANSWERED
"""
import ctypes
import os
import select
import socket
import struct
import sys

from log import Log

SO_ATTACH_REUSEPORT_CBPF = 51
LOAD_BYTE, MODULO, RETURN_A = 0x30, 0x94, 0x16      # BPF_LD|BPF_B|BPF_ABS, BPF_ALU|BPF_MOD|BPF_K, BPF_RET|BPF_A
ANSWER_S = 5
FIRST_PORT, PORTS = 10_000, 50_000


def steer_by_first_byte(s, sockets):
    code = b"".join(struct.pack("HBBI", *one) for one in ((LOAD_BYTE, 0, 0, 0), (MODULO, 0, 0, sockets),
                                                         (RETURN_A, 0, 0, 0)))
    memory = ctypes.create_string_buffer(code)
    s.setsockopt(socket.SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, struct.pack("HxxxxxxQ", 3, ctypes.addressof(memory)))


def answer(s):
    log, known = Log(), set()
    while True:
        data, peer = s.recvfrom(65536)
        if peer not in known:
            known.add(peer)
            log.end("server", s, peer)
        s.sendto(data, peer)


def worker(address, sockets, steering, bound):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind(address)
    if steering == "cbpf":
        steer_by_first_byte(s, sockets)
    os.write(bound, b".")
    answer(s)


def serve(address, sockets, steering):
    children = []
    read_end, write_end = os.pipe()
    for _ in range(sockets):
        children.append(os.fork())
        if not children[-1]:
            worker(address, sockets, steering, write_end)
        os.read(read_end, 1)    # one after the other: the order of binding is the order in the group
    print("up", flush=True)
    sys.stdin.read()
    for child in children:
        os.kill(child, 9)
        os.waitpid(child, 0)


def talk(address, flows, datagrams, answered):
    log = Log()
    for flow in range(flows):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("", FIRST_PORT + flow % PORTS))     # each its own: the kernel would give one again
            s.connect(address)
            log.end("client", s)
            for _ in range(datagrams):
                s.send(bytes([flow % 256]) + b"x" * (flow * 7 % 600))
                if answered and not select.select([s], [], [], ANSWER_S)[0]:
                    sys.exit(f"no answer to {s.getsockname()}")
                if answered:
                    s.recv(65536)


if __name__ == "__main__":
    ADDRESS, ARGS = (sys.argv[2], int(sys.argv[3])), sys.argv[4:]
    if sys.argv[1] == "serve":
        serve(ADDRESS, int(ARGS[0]), ARGS[1])
    else:
        talk(ADDRESS, *map(int, ARGS))
