# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes random lengths to a TCP connection and reads them at the other end; prints "w OFFSET LENGTH" and "r OFFSET
LENGTH" of each call. Arguments: number of writes, seed.
"""
import os
import random
import socket
import sys

writes, rng = int(sys.argv[1]), random.Random(int(sys.argv[2]))
listener = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listener.getsockname())
server, _ = listener.accept()
sent = received = 0
lines = []
for i in range(writes):
    data = bytes(rng.randrange(1, 30000 if i % 10 == 0 else 300))
    n = (client.send, lambda d: os.write(client.fileno(), d), lambda d: client.sendmsg([d[:7], d[7:]]))[i % 3](data)
    lines.append(f"w {sent} {n}")
    sent += n
    if i % 50 == 0:
        server.recv(3, socket.MSG_PEEK)
    if i % 3 == 0 or sent - received > 60000:
        n = len(server.recv(rng.randrange(1, 60000)) if i % 2 else os.read(server.fileno(), 40000))
        lines.append(f"r {received} {n}")
        received += n
client.shutdown(socket.SHUT_WR)
while n := len(server.recv(5000)):
    lines.append(f"r {received} {n}")
    received += n
print("\n".join(lines))
