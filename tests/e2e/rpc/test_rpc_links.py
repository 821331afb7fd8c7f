# SPDX-License-Identifier: GPL-2.0-or-later
"""The parent of a call at sockets: the only call that its thread serves, as long as no record was lost meanwhile."""
import signal
import socket
import subprocess
import sys

import pytest

from test_rpc_sockets import run_client, server  # noqa: F401  a fixture

ENOUGH = 4000   # calls whose records do not fit into the ring buffer
# A server of one thread, which asks another one for each call, as soon as a line says so.
FRONT = """
import socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
client, _ = listener.accept()
while client.recv(4096):
    print("asked", flush=True)
    sys.stdin.readline()
    with socket.create_connection(eval(sys.argv[1])) as s:
        s.sendall(b"GET /7 HTTP/1.1\\r\\nHost: behind\\r\\n\\r\\n")
        s.recv(4096)
    client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
"""


@pytest.fixture
def behind(server):  # noqa: F811
    return server()


@pytest.fixture
def front(behind):
    child = subprocess.Popen([sys.executable, "-c", FRONT, repr(behind.address)], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    yield child
    child.kill()
    child.communicate()


def test_a_loss_ends_what_a_thread_is_known_to_serve(sonde, front, behind):
    """The end of that call may be among what was lost."""
    port = int(front.stdout.readline())
    one = sonde("rpc", "--json", "--source", "socket", "--ring-size", "256K")
    with socket.create_connection(("127.0.0.1", port)) as client:
        for lose in (False, True, False):
            client.sendall(b"GET /asked HTTP/1.1\r\nHost: front\r\n\r\n")
            assert front.stdout.readline() == "asked\n"
            if lose:
                one.child.send_signal(signal.SIGSTOP)
                run_client(behind, ENOUGH, ["/5"])
                one.child.send_signal(signal.SIGCONT)
                last = run_client(behind, 1, ["/9"])
                one.wait_for(lambda ev: ev["type"] == "rpc.call" and ev["proc"]["pid"] == last)
            front.stdin.write("go\n")
            front.stdin.flush()
            assert client.recv(4096)
    ours = [ev for ev in one.finish() if ev["type"] == "rpc.call" and ev["proc"]["pid"] == front.pid]
    served = [ev["call_id"] for ev in ours if ev["side"] == "server"]
    assert len(served) == 3 and [ev["type"] for ev in one.events].count("sonde.lost")
    assert [ev.get("parent") for ev in ours if ev["side"] == "client"] == [served[0], None, served[2]]
