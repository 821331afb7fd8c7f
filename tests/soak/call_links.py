# SPDX-License-Identifier: GPL-2.0-or-later
"""For tests/soak/calls.py: a server that makes two calls for each that it serves, GET /N/a and GET /N/b for GET /N:
the paths say which call caused which.

threads: a thread for each connection. loop: all on one thread. header: the same, and X-Request-Id is passed on.
"""
import collections
import subprocess
import sys

import call_clients as clients

BACK = """
import socket, threading
listener = socket.create_server(("127.0.0.1", 0), backlog=200)
print(listener.getsockname()[1], flush=True)

def serve(conn):
    with conn, conn.makefile("rb") as lines:
        while lines.readline():
            while lines.readline() not in (b"\\r\\n", b""):
                pass
            conn.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")

while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""
THREADS = """
import socket, sys, threading
back = int(sys.argv[1])
listener = socket.create_server(("127.0.0.1", 0), backlog=200)
print(listener.getsockname()[1], flush=True)

def serve(conn):
    with conn, conn.makefile("rb") as lines, socket.create_connection(("127.0.0.1", back)) as out, \\
            out.makefile("rb") as answers:
        while request := lines.readline():
            while lines.readline() not in (b"\\r\\n", b""):
                pass
            for end in b"a", b"b":
                out.sendall(b"GET %s/%s HTTP/1.1\\r\\nHost: back\\r\\n\\r\\n" % (request.split()[1], end))
                while answers.readline() not in (b"\\r\\n", b""):
                    pass
                answers.read(2)
            conn.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")

while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""
LOOP = """
import asyncio, sys
back, header = int(sys.argv[1]), sys.argv[2] == "header"

async def serve(r, w):
    answers, out = await asyncio.open_connection("127.0.0.1", back)
    try:
        while True:
            request = await r.readuntil(b"\\r\\n\\r\\n")
            path = request.split()[1]
            more = b"X-Request-Id: %s\\r\\n" % path[1:] if header else b""
            for end in b"a", b"b":
                out.write(b"GET %s/%s HTTP/1.1\\r\\nHost: back\\r\\n%s\\r\\n" % (path, end, more))
                await answers.readuntil(b"\\r\\n\\r\\nok")
            w.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
    except (asyncio.IncompleteReadError, ConnectionError):
        w.close()
        out.close()

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=200)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


class Servers:
    def __init__(self, how):
        self.children = []
        self.back = self._start(BACK)
        self.front = self._start(THREADS if how == "threads" else LOOP, str(self.back), how)
        self.pid = self.children[-1].pid

    def _start(self, program, *words):
        self.children.append(subprocess.Popen([sys.executable, "-c", program, *words], stdout=subprocess.PIPE,
                                              text=True))
        return int(self.children[-1].stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.kill()
            child.wait()
            child.stdout.close()


class Asker(clients.Http):
    def send(self, _rng):
        path = f"/{self.unique()}"
        self.asked.append(("GET", path))
        self.sock.sendall(f"GET {path} HTTP/1.1\r\nHost: front\r\nX-Request-Id: {path[1:]}\r\n\r\n".encode())


def judge(calls, pair):
    """right, wrong, none: parents of the calls that the server made; unshown: the parent was lost on the way."""
    mine = [ev for ev in calls if ev["proc"]["pid"] == pair.pid]
    served = {ev["call_id"]: ev["path"] for ev in mine if ev["side"] == "server"}
    counts = collections.Counter(seen=0, wrong=0)
    for ev in mine:
        if ev["side"] == "client":
            counts["seen"] += 1
            path, parent = ev["path"].rpartition("/")[0], ev.get("parent")
            counts["without" if not parent else "unshown" if parent not in served else
                   "right by " + ev["link"] if served[parent] == path else "wrong"] += 1
    return counts
