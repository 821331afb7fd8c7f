#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The ends of tests/soak/flow_truth.py: `serve PORT FORM` answers, `talk` makes the connections that stand on
stdin as JSON, one per line, and prints what it knows of each. Both know nothing of sonde."""
import json
import os
import socket
import struct
import sys
import threading

HEAD = 32   # a request: its length, the length of the answer, and how the server goes on
LINGER_0 = struct.pack("ii", 1, 0)
V4_INSIDE_V6 = "::ffff:"


def end_text(address):
    """(ip, port) of a socket's address."""
    ip, port = address[:2]
    return [ip[len(V4_INSIDE_V6):] if ip.startswith(V4_INSIDE_V6) else ip, port]


def receive(s, n):
    data = b""
    while len(data) < n:
        more = s.recv(n - len(data))
        if not more:
            break
        data += more
    return data


def answer_to(address, length):
    """What the server saw as its peer, filled up to @length bytes."""
    return json.dumps(end_text(address)).encode().ljust(length)


# ---- serve ----

def serve_one(c, address, kept):
    request, length, manner = receive(c, HEAD).decode().split()
    receive(c, int(request) - HEAD)
    c.sendall(answer_to(address, int(length)))
    if manner == "keep":
        kept.append(c)
        return
    c.recv(1)   # until the client has what it wanted: it says so by one byte, or by its end
    if manner == "reset":
        c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_0)
    c.close()


def serve_udp(s):
    while True:
        data, address = s.recvfrom(65536)
        length = int(data[:HEAD].split()[1])
        if length:
            s.sendto(answer_to(address, length), address)


def serve_tcp(s):
    kept = []
    while True:
        c, address = s.accept()
        try:
            serve_one(c, address, kept)
        except OSError:     # reset by the client, as it was told to
            c.close()


def bound(family, kind, port):
    s = socket.socket(family, kind)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if sys.argv[3] == "dual" else 1)
    s.bind(("", port))
    if kind == socket.SOCK_STREAM:
        s.listen(500)
    return s


def serve():
    port, form = int(sys.argv[2]), sys.argv[3]
    for family in (socket.AF_INET6,) if form == "dual" else (socket.AF_INET, socket.AF_INET6):
        for kind, work in ((socket.SOCK_STREAM, serve_tcp), (socket.SOCK_DGRAM, serve_udp)):
            threading.Thread(target=work, args=(bound(family, kind, port),), daemon=True).start()
    print("up", flush=True)
    threading.Event().wait()


# ---- talk ----

def tcp_exchange(s, spec):
    """Request and answer; what the server saw."""
    s.sendall(f"{spec['request']} {spec['answer']} {spec['manner']}".encode().ljust(HEAD))
    if spec["request"] > HEAD:
        s.sendall(b"x" * (spec["request"] - HEAD))
    peer = json.loads(receive(s, spec["answer"]))
    sent = spec["request"]
    if spec["manner"] == "reset":
        s.sendall(b"!")
        sent += 1
        try:
            s.recv(1)
        except ConnectionResetError:
            pass
    elif spec["kind"] == "client-reset":
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_0)
    return peer, sent


def client_socket(spec, kind):
    """Bound to the port of @spec."""
    s = socket.socket(socket.AF_INET6 if ":" in spec["ip"] else socket.AF_INET, kind)
    if spec.get("sport"):   # it was there before
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("", spec["bind"]))
    return s


def talk_tcp(spec, kept):
    s = client_socket(spec, socket.SOCK_STREAM)
    said = {}
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if spec["kind"].startswith("half-open"):
        s.setblocking(False)
        s.connect_ex((spec["ip"], spec["port"]))
        said["local"] = end_text(s.getsockname())
        s.close()   # the SYN is out; it is not to be repeated
        return said
    if spec["kind"] == "refused":
        assert s.connect_ex((spec["ip"], spec["port"])) != 0
        return {"local": [None, spec["bind"]]}
    s.connect((spec["ip"], spec["port"]))
    said["local"] = end_text(s.getsockname())
    said["peer"], said["sent"] = tcp_exchange(s, spec)
    said["received"] = spec["answer"]
    if spec["manner"] == "keep":
        kept.append(s)
    else:
        s.close()
    return said


def talk_udp(spec):
    s = client_socket(spec, socket.SOCK_DGRAM)
    s.connect((spec["ip"], spec["port"]))
    said = {"local": end_text(s.getsockname())}
    for _ in range(spec["times"]):
        s.send(f"{spec['request']} {spec['answer']} udp".encode().ljust(spec["request"]))
        if spec["answer"]:
            said["peer"] = json.loads(s.recv(65536))
    s.close()
    return said


def talk():
    kept = []
    for line in sys.stdin:
        if line == "\n":
            break
        spec = json.loads(line)
        said = talk_udp(spec) if spec["proto"] == "udp" else talk_tcp(spec, kept)
        print(json.dumps({**spec, **said, "pid": os.getpid()}))
    print("done", flush=True)
    sys.stdin.readline()    # the connections that stay open do so until all is counted
    os._exit(0)


if __name__ == "__main__":
    {"serve": serve, "talk": talk}[sys.argv[1]]()
