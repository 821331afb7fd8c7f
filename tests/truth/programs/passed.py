# SPDX-License-Identifier: GPL-2.0-or-later
"""A server whose processes answer the first request of a connection and leave the others to the next user of the
socket: a child, another process that gets it by SCM_RIGHTS or takes it by pidfd_getfd(2), itself. prefork.py has the
client.

    passed.py serve IP PORT             prints "up"; ends at end of input

The log has a row for each user of a connection: until `before` it had not read, from `after` on it had.
"""
import ctypes
import os
import socket
import sys
import time

from log import Log

ACCEPTORS = 4       # a lost packet holds up one of them
WAYS = ("self", "child", "scm", "pidfd")
PIDFD_OPEN, PIDFD_GETFD = 434, 438
libc = ctypes.CDLL(None, use_errno=True)


def call(number, *words):
    ret = libc.syscall(number, *words)
    if ret < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}")
    return ret


def answer(log, s, way, requests=None):
    """Requests to the end of the connection, or that number of them."""
    before, after = time.monotonic_ns(), 0
    while requests != 0 and (data := s.recv(65536)):
        if not after:
            after = time.monotonic_ns()
            log.end("server", s, way=way, before=before, after=after)
        s.sendall(data)
        requests = requests and requests - 1


def receive(channel):
    log = Log()
    while True:
        _, (fd, *_), _, _ = socket.recv_fds(channel, 1, 1)
        with socket.socket(fileno=fd) as s:
            channel.recv(1)
            answer(log, s, "scm")


def take(channel, giver):
    log, pidfd = Log(), call(PIDFD_OPEN, giver, 0)
    while number := channel.recv(16):
        with socket.socket(fileno=call(PIDFD_GETFD, pidfd, int(number), 0)) as s:
            channel.send(b"x")
            channel.recv(1)
            answer(log, s, "pidfd")


def inherit(s, channel):
    channel.recv(1)
    answer(Log(), s, "child")


def fork(function, *words):
    pid = os.fork()
    if not pid:
        function(*words)
        os._exit(0)
    return pid


def accept(listener, receiver, taker):
    log, (heir, theirs) = Log(), socket.socketpair()
    for number in range(1 << 30):
        s, _ = listener.accept()
        way = WAYS[number % len(WAYS)]
        answer(log, s, "acceptor", 1)
        if way == "self":
            answer(log, s, way)
            s.close()
            continue
        child = fork(inherit, s, theirs) if way == "child" else None
        if way == "scm":
            socket.send_fds(receiver, [b"x"], [s.fileno()])
        elif way == "pidfd":
            taker.send(b"%d" % s.fileno())
            taker.recv(1)
        s.close()       # the next user closes the connection, not this process: it begins when told so
        {"child": heir, "scm": receiver, "pidfd": taker}[way].send(b"x")
        if child:
            os.waitpid(child, 0)


def serve(ip, port):
    listener, children = socket.create_server((ip, port), backlog=512), []
    for _ in range(ACCEPTORS):
        receiver, taker = (socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2))
        acceptor = fork(accept, listener, receiver[0], taker[0])
        children += [acceptor, fork(receive, receiver[1]), fork(take, taker[1], acceptor)]
    print("up", flush=True)
    sys.stdin.read()
    for child in children:
        os.kill(child, 9)
        os.waitpid(child, 0)


if __name__ == "__main__":
    serve(sys.argv[2], int(sys.argv[3]))
