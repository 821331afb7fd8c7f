# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde rpc: calls over OpenSSL, by threads and by event loops. Each request carries its client's port."""
import asyncio
import collections
import os
import ssl
import subprocess
import sys
import threading
import socket

import pytest

import helpers

DATA = os.path.join(os.path.dirname(__file__), "..", "data", "tls")
CONNECTIONS = int(os.environ.get("SONDE_TLS_CONNECTIONS", "32"))
CALLS = int(os.environ.get("SONDE_TLS_CALLS", "20"))     # of a connection
AT_ONCE = 16

# A connection reads whole answers: "200 OK" to a path that ends in an even number, else "404 Not Found".
CLIENT = """
import asyncio, socket, ssl, sys, threading
how, port, connections, calls, at_once = eval(sys.stdin.read())
context = ssl._create_unverified_context()
todo = list(range(connections))

def request(me, i):
    return b"GET /%d/%d HTTP/1.1\\r\\nHost: here\\r\\n\\r\\n" % (me, i)

def thread():
    while True:
        try:
            todo.pop()
        except IndexError:
            return
        with socket.create_connection(("127.0.0.1", port)) as plain, context.wrap_socket(plain) as s:
            for i in range(calls):
                s.sendall(request(s.getsockname()[1], i))
                got = b""
                while not got.endswith(b"end"):
                    got += s.recv(65536)

async def task():
    while todo:
        todo.pop()
        r, w = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        for i in range(calls):
            w.write(request(w.get_extra_info("sockname")[1], i))
            await r.readuntil(b"end")
        w.close()

async def tasks():
    await asyncio.gather(*[task() for _ in range(at_once)])

if how == "loop":
    asyncio.run(tasks())
else:
    threads = [threading.Thread(target=thread) for _ in range(at_once)]
    [t.start() for t in threads]
    [t.join() for t in threads]
"""

SERVER = """
import asyncio, socket, ssl, sys, threading
how, data = eval(sys.stdin.readline())
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(data + "/cert.pem", data + "/key.pem")

def answer(request):
    even = int(request.split()[1].split(b"/")[2]) % 2 == 0
    return b"HTTP/1.1 %s\\r\\nContent-Length: 3003\\r\\n\\r\\n" % (b"200 OK" if even else b"404 Not Found") + \\
        b"x" * 3000 + b"end"

def serve(plain):
    with plain, context.wrap_socket(plain, server_side=True) as s:
        while True:
            got = b""
            while not got.endswith(b"\\r\\n\\r\\n"):
                more = s.recv(65536)
                if not more:
                    return
                got += more
            s.sendall(answer(got))

async def handle(r, w):
    try:
        while True:
            w.write(answer(await r.readuntil(b"\\r\\n\\r\\n")))
            await w.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        w.close()

async def loop():
    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

if how == "loop":
    asyncio.run(loop())
listener = socket.create_server(("127.0.0.1", 0), backlog=100)
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


@pytest.fixture
def server():
    made = []

    def make(how):
        child = subprocess.Popen([sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 text=True)
        made.append(child)
        child.stdin.write(repr((how, DATA)) + "\n")
        child.stdin.flush()
        return child.pid, int(child.stdout.readline())
    yield make
    for child in made:
        child.kill()
        child.wait()
        child.stdin.close()
        child.stdout.close()


def run_client(how, port, connections=CONNECTIONS, calls=CALLS, timeout=100):
    child = subprocess.Popen([sys.executable, "-c", CLIENT], stdin=subprocess.PIPE, text=True)
    child.communicate(repr((how, port, connections, calls, AT_ONCE)), timeout=timeout)
    assert child.returncode == 0
    return child.pid


def calls_of(child, pids):
    return [ev for ev in child.events if ev["type"] == "rpc.call" and ev["proc"]["pid"] in pids]


@pytest.mark.parametrize("serves, asks", [("threads", "threads"), ("loop", "loop"), ("threads", "loop")])
def test_each_call_once_on_its_connection(sonde, server, serves, asks):
    served_by, port = server(serves)
    child = sonde("rpc", "--json", "--source", "socket", "--port", str(port))
    asked_by = run_client(asks, port)
    both = {served_by, asked_by}
    n = CONNECTIONS * CALLS
    helpers.wait_until(lambda: len(calls_of(child, both)) >= 2 * n)
    child.finish()
    seen = calls_of(child, both)
    assert all(ev["path"].split("/")[1] == str(ev["conn"]["sport"]) for ev in seen)    # none on a wrong connection
    once = collections.Counter((ev["side"], ev["proc"]["pid"], ev["path"]) for ev in seen)
    assert len(once) == 2 * n and set(once.values()) == {1}
    for ev in seen:
        assert ev["http_status"] == (200 if int(ev["path"].split("/")[2]) % 2 == 0 else 404) and ev["end"] == "done"
        assert ev["conn"]["dport"] == port and ev["source"] == "openssl"
        how = serves if ev["side"] == "server" else asks
        assert ev["tls_by"] in (("random", "kept") if how == "loop" else ("nested", "kept"))
    assert collections.Counter(ev["side"] for ev in seen) == {"client": n, "server": n}
