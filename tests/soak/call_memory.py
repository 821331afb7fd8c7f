# SPDX-License-Identifier: GPL-2.0-or-later
"""For tests/soak/calls.py: connections that stay open, each with calls, then with a request that never ends."""
import multiprocessing
import select
import socket

CONNECTIONS = 65536     # as many as the probe keeps
LIMIT_KIB = 64 << 10
ADDRESSES = 4           # of a server: each has its own client ports
SHARES = 8
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"


def serve(listener):
    poll, conns = select.epoll(), {}
    poll.register(listener, select.EPOLLIN)
    while True:
        for fd, _ in poll.poll():
            if fd == listener.fileno():
                conn = listener.accept()[0]
                conns[conn.fileno()] = conn
                poll.register(conn, select.EPOLLIN)
                continue
            data = conns[fd].recv(4096)
            if data.endswith(b"\r\n\r\n"):
                conns[fd].send(ANSWER)
            elif not data:
                conns.pop(fd).close()


def ask(port, n, steps):
    """By the words of @steps: a call on each connection, which the first opens; or a head that does not end."""
    conns = []
    while True:
        word = steps.recv()
        for i in range(n):
            if len(conns) <= i:
                conns.append(socket.create_connection((f"127.0.0.{1 + i % ADDRESSES}", port)))
            if word == "call":
                conns[i].send(b"GET /connections/%d HTTP/1.1\r\nHost: here\r\nAccept: */*\r\n\r\n" % i)
                assert conns[i].recv(4096) == ANSWER
            else:
                conns[i].send(b"GET /connections/%d HTTP/1.1\r\nCookie: " % i + b"x" * 900)
        steps.send(word)


class Many:
    """Servers, @pids, and a client for each; a process may not have files for all connections."""

    def __init__(self):
        self.children, self.steps, self.pids = [], [], []
        for _ in range(SHARES):
            with socket.create_server(("0.0.0.0", 0), backlog=4096) as listener:
                server = self.start(serve, listener)
                ours, theirs = multiprocessing.Pipe()
                self.start(ask, listener.getsockname()[1], CONNECTIONS // SHARES, theirs)
            self.pids.append(server.pid)
            self.steps.append(ours)

    def start(self, function, *args):
        self.children.append(multiprocessing.Process(target=function, args=args, daemon=True))
        self.children[-1].start()
        return self.children[-1]

    def step(self, word):
        for one in self.steps:
            one.send(word)
        for one in self.steps:
            assert one.recv() == word

    def close(self):
        for child in self.children:
            child.kill()
            child.join()


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("RssAnon"))
