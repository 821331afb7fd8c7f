# SPDX-License-Identifier: GPL-2.0-or-later
"""A TCP stream of writes and reads of random lengths. The log has their lengths, in order, and the cookie.

    stream.py receive IP PORT SEED              one connection; prints "up"
    stream.py send IP PORT WRITES SEED
"""
import random
import socket
import sys

from log import Log


def receive(address, seed):
    rng = random.Random(seed)
    with socket.socket() as listener:
        listener.bind(address)
        listener.listen()
        print("up", flush=True)
        s, _ = listener.accept()
    log, sizes = Log(), []
    log.end("server", s)
    while data := s.recv(rng.randint(1000, 200_000)):
        sizes.append(len(data))
    log.write(role="sizes", sizes=sizes)


def send(address, writes, seed):
    rng, sizes, data = random.Random(seed), [], b"x" * 60_000
    s = socket.create_connection(address)
    log = Log()
    log.end("client", s)
    for _ in range(writes):
        sizes.append(s.send(memoryview(data)[:rng.randint(4, len(data))]))
    s.shutdown(socket.SHUT_WR)
    s.recv(1)
    log.write(role="sizes", sizes=sizes)


if __name__ == "__main__":
    ADDRESS, ARGS = (sys.argv[2], int(sys.argv[3])), [int(word) for word in sys.argv[4:]]
    if sys.argv[1] == "receive":
        receive(ADDRESS, *ARGS)
    else:
        send(ADDRESS, *ARGS)
