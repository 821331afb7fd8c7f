# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients of real servers that print the process id of who serves the connection. The log has each connection of the
client with that number.

    clients.py PROTOCOL IP PORT CONNECTIONS REQUESTS        PROTOCOL: http, fastcgi, postgres, dns
"""
import re
import socket
import struct
import sys

from log import Log

WAIT_S = 20


def receive(s, length):
    data = b""
    while len(data) < length:
        more = s.recv(length - len(data))
        if not more:
            sys.exit("the server closed the connection")
        data += more
    return data


def http(s, _turn):
    """The body is the process id."""
    s.sendall(b"GET / HTTP/1.1\r\nHost: truth\r\n\r\n")
    head = b""
    while b"\r\n\r\n" not in head:
        head += receive(s, 1)
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return int(receive(s, int(length[1])).split()[0])


def fastcgi(s, _turn):
    """A PHP script prints getmypid()."""
    def record(kind, body):
        return struct.pack(">BBHHBB", 1, kind, 1, len(body), 0, 0) + body
    params = {"SCRIPT_FILENAME": "/truth/pid.php", "REQUEST_METHOD": "GET", "SCRIPT_NAME": "/pid.php"}
    pairs = b"".join(struct.pack(">BB", len(k), len(v)) + k.encode() + v.encode() for k, v in params.items())
    keep = struct.pack(">HB5x", 1, 1)
    s.sendall(record(1, keep) + record(4, pairs) + record(4, b"") + record(5, b""))
    out = b""
    while True:
        _, kind, _, length, padding, _ = struct.unpack(">BBHHBB", receive(s, 8))
        body = receive(s, length + padding)[:length]
        out += body if kind == 6 else b""
        if kind == 3:
            return int(out.rpartition(b"\r\n\r\n")[2])


def message(s):
    kind, length = struct.unpack(">cI", receive(s, 5))
    return kind, receive(s, length - 4)


def postgres(s, turn):
    """The server names the process of the session itself when it begins."""
    pid = None
    if turn == 0:
        words = b"user\0postgres\0database\0postgres\0\0"
        s.sendall(struct.pack(">II", 8 + len(words), 196608) + words)
    else:
        query = b"select pg_backend_pid()\0"
        s.sendall(b"Q" + struct.pack(">I", 4 + len(query)) + query)
    while True:
        kind, body = message(s)
        if kind == b"K":
            pid = struct.unpack(">I", body[:4])[0]
        elif kind == b"D":
            pid = int(body[6:])
        elif kind == b"E":
            sys.exit(body.decode(errors="replace"))
        elif kind == b"Z":
            return pid


def dns(s, turn):
    """One datagram each way; the process is the server's only one."""
    s.send(struct.pack(">HHHHHH", turn + 1, 0x100, 1, 0, 0, 0) + b"\5truth\4test\0" + struct.pack(">HH", 1, 1))
    answer = s.recv(512)
    if struct.unpack(">HH", answer[:4])[1] & 15:
        sys.exit("no answer to the DNS question")
    return 0


def main(protocol, ip, port, connections, requests):
    log = Log()
    for _ in range(connections):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM if protocol is dns else socket.SOCK_STREAM) as s:
            s.settimeout(WAIT_S)
            s.connect((ip, port))
            log.end("client", s)
            pids = {protocol(s, turn) for turn in range(requests)}
            log.write(role="served", local=s.getsockname(), peer=s.getpeername(), servers=sorted(pids))


if __name__ == "__main__":
    main({"http": http, "fastcgi": fastcgi, "postgres": postgres, "dns": dns}[sys.argv[1]], sys.argv[2],
         *map(int, sys.argv[3:6]))
