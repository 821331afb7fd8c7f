# SPDX-License-Identifier: GPL-2.0-or-later
"""A listener that never accepts, and a client that fills its queue and then sends a SYN from each of many ports.

    overflow.py serve IP PORT BACKLOG           prints "up"; ends at end of input
    overflow.py fill IP PORT CONNECTIONS        holds them until end of input; prints "full"
    overflow.py knock IP PORT SYNS
"""
import errno
import socket
import sys

from log import Log


def serve(address, backlog):
    s = socket.socket()
    s.bind(address)
    s.listen(backlog)
    Log().end("listener", s, ("", 0))
    print("up", flush=True)
    sys.stdin.read()


def fill(address, connections):
    held = [socket.create_connection(address) for _ in range(connections)]
    print("full", flush=True)
    sys.stdin.read()
    return held


def knock(address, syns):
    log = Log()
    for _ in range(syns):
        with socket.socket() as s:
            s.setblocking(False)
            if s.connect_ex(address) != errno.EINPROGRESS:
                sys.exit("a connection was not refused silently")
            log.write(port=s.getsockname()[1])


if __name__ == "__main__":
    {"serve": serve, "fill": fill, "knock": knock}[sys.argv[1]]((sys.argv[2], int(sys.argv[3])), int(sys.argv[4]))
