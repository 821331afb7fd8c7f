# SPDX-License-Identifier: GPL-2.0-or-later
"""UDP servers that echo, and clients with a socket per flow.

    udp.py serve IP PORT SOCKETS STEERING       SOCKETS processes, each with a socket in one SO_REUSEPORT group;
                                                STEERING: hash, or the first byte of a datagram chooses: cbpf, ebpf;
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
SO_ATTACH_REUSEPORT_EBPF = 52
LOAD_BYTE, MODULO, RETURN_A = 0x30, 0x94, 0x16      # BPF_LD|BPF_B|BPF_ABS, BPF_ALU|BPF_MOD|BPF_K, BPF_RET|BPF_A
SYS_BPF = {"x86_64": 321, "aarch64": 280}
MAP_CREATE, MAP_UPDATE, PROG_LOAD = 0, 2, 5
MAP_REUSEPORT_SOCKARRAY, PROG_SK_REUSEPORT, SK_REUSEPORT_SELECT = 20, 21, 39
SK_SELECT_REUSEPORT, SK_PASS = 82, 1                # a helper, its answer
ANSWER_S = 5
libc = ctypes.CDLL(None, use_errno=True)
FIRST_PORT, PORTS = 10_000, 50_000


def steer_by_first_byte(s, sockets):
    code = b"".join(struct.pack("HBBI", *one) for one in ((LOAD_BYTE, 0, 0, 0), (MODULO, 0, 0, sockets),
                                                         (RETURN_A, 0, 0, 0)))
    memory = ctypes.create_string_buffer(code)
    s.setsockopt(socket.SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, struct.pack("HxxxxxxQ", 3, ctypes.addressof(memory)))


def bpf(command, attributes):
    memory = ctypes.create_string_buffer(attributes)
    fd = libc.syscall(SYS_BPF[os.uname().machine], command, memory, len(attributes))
    if fd < 0:
        raise OSError(ctypes.get_errno(), f"bpf command {command}")
    return fd


def insn(code, dst=0, src=0, off=0, imm=0):
    return struct.pack("=BBhi", code, src << 4 | dst, off, imm)


class Chooser:
    """A program of type sk_reuseport: the first byte of a datagram is the index of a socket in its map."""

    def __init__(self, sockets):
        self.map = bpf(MAP_CREATE, struct.pack("=IIIII", MAP_REUSEPORT_SOCKARRAY, 4, 8, sockets, 0))
        code = b"".join((
            insn(0x79, 2, 1, 0), insn(0x79, 3, 1, 8),                   # r2 = data: the UDP header; r3 = data_end
            insn(0xbf, 4, 2), insn(0x07, 4, imm=9), insn(0x2d, 4, 3, 9),    # shorter: the kernel chooses
            insn(0x71, 4, 2, 8), insn(0x97, 4, imm=sockets), insn(0x63, 10, 4, -4),
            insn(0x18, 2, 1, imm=self.map), insn(0),                    # r2 = the map
            insn(0xbf, 3, 10), insn(0x07, 3, imm=-4), insn(0xb7, 4), insn(0x85, imm=SK_SELECT_REUSEPORT),
            insn(0xb7, 0, imm=SK_PASS), insn(0x95)))
        text, gpl = ctypes.create_string_buffer(code), ctypes.create_string_buffer(b"GPL")
        self.program = bpf(PROG_LOAD, struct.pack(
            "=IIQQIIQII16sII", PROG_SK_REUSEPORT, len(code) // 8, ctypes.addressof(text), ctypes.addressof(gpl),
            0, 0, 0, 0, 0, b"chooser", 0, SK_REUSEPORT_SELECT))

    def add(self, index, s):
        key, value = ctypes.c_uint32(index), ctypes.c_uint64(s.fileno())
        bpf(MAP_UPDATE, struct.pack("=IIQQQ", self.map, 0, ctypes.addressof(key), ctypes.addressof(value), 0))
        s.setsockopt(socket.SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF, self.program)


def answer(s):
    log, known = Log(), set()
    while True:
        data, peer = s.recvfrom(65536)
        if peer not in known:
            known.add(peer)
            log.end("server", s, peer)
        s.sendto(data, peer)


def worker(address, sockets, steering, index, bound):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind(address)
    if steering == "cbpf":
        steer_by_first_byte(s, sockets)
    elif steering != "hash":
        steering.add(index, s)
    os.write(bound, b".")
    answer(s)


def serve(address, sockets, steering):
    children = []
    read_end, write_end = os.pipe()
    if steering == "ebpf":
        steering = Chooser(sockets)
    for index in range(sockets):
        children.append(os.fork())
        if not children[-1]:
            worker(address, sockets, steering, index, write_end)
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
