# SPDX-License-Identifier: GPL-2.0-or-later
"""Datagrams of UDP through a packet socket, as scapy and DHCP clients send.

    raw.py DEVICE TO-MAC FROM-IP TO-IP COUNT
"""
import socket
import struct
import sys

from log import Log

SO_COOKIE, FIRST_PORT, TO_PORT = 57, 20_000, 9


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    total = (total & 0xffff) + (total >> 16)
    return 0xffff - (total & 0xffff) - (total >> 16)


def frame(source_mac, target_mac, source, target, port):
    payload = b"truth!"
    udp = struct.pack(">HHHH", port, TO_PORT, 8 + len(payload), 0) + payload
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), port, 0, 64, 17, 0, socket.inet_aton(source),
                       socket.inet_aton(target))
    head = head[:10] + struct.pack(">H", checksum(head)) + head[12:]
    return target_mac + source_mac + b"\x08\x00" + head + udp


def main(device, mac, source, target, count):
    log = Log()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind((device, 0))
        own = s.getsockname()[4]
        cookie = int.from_bytes(s.getsockopt(socket.SOL_SOCKET, SO_COOKIE, 8), "little")
        log.write(role="raw", cookie=cookie)
        for number in range(int(count)):
            s.send(frame(own, bytes.fromhex(mac.replace(":", "")), source, target, FIRST_PORT + number))


if __name__ == "__main__":
    main(*sys.argv[1:6])
