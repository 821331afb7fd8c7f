# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that forks its workers behind one listening socket, and its clients.

    prefork.py serve IP PORT WORKERS            echoes; prints "up"; ends at end of input
    prefork.py talk IP PORT CONNECTIONS REQUESTS THREADS SEED
"""
import os
import random
import socket
import sys
import threading

from log import Log


def work(listener):
    log = Log()
    while True:
        s, _ = listener.accept()
        log.end("server", s)
        while data := s.recv(65536):
            s.sendall(data)
        s.close()


def serve(ip, port, workers):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((ip, port))
    listener.listen(512)
    Log().write(role="master", cookie=0)
    children = []
    for _ in range(workers):
        children.append(os.fork())
        if not children[-1]:
            work(listener)
    print("up", flush=True)
    sys.stdin.read()
    for child in children:
        os.kill(child, 9)
        os.waitpid(child, 0)


def one_connection(log, address, requests, rng):
    s = socket.create_connection(address)
    log.end("client", s)
    for _ in range(requests):
        data = b"x" * rng.randint(1, 1200)
        s.sendall(data)
        got = 0
        while got < len(data):
            got += len(s.recv(65536))
    s.shutdown(socket.SHUT_WR)
    s.recv(1)
    s.close()


def talk(address, connections, requests, threads, seed):
    log = Log()

    def some(number):
        rng = random.Random(f"{seed} {number}")
        for _ in range(number, connections, threads):
            one_connection(log, address, requests, rng)
    running = [threading.Thread(target=some, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


if __name__ == "__main__":
    ARGS = sys.argv[2:]
    if sys.argv[1] == "serve":
        serve(ARGS[0], int(ARGS[1]), int(ARGS[2]))
    else:
        talk((ARGS[0], int(ARGS[1])), *map(int, ARGS[2:6]))
