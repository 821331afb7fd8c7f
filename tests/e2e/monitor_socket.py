# SPDX-License-Identifier: GPL-2.0-or-later
"""A Cilium agent's monitor socket: sends notifications as one gob stream, as the agent does."""
import json
import os
import socket
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.path.join(ROOT, "tests", "data", "cilium")
# the definition of Payload{Data, CPU, Lost, Type}, as gob writes it when its number is 64
PAYLOAD_TYPE = bytes.fromhex("377f03010107") + b"Payload" + bytes.fromhex("01ff8000010401044461746101") + \
    bytes.fromhex("0a0001034350550104000104") + b"Lost" + bytes.fromhex("010600") + \
    bytes.fromhex("010454797065010400") + bytes.fromhex("0000")


def uint(n):
    if n < 128:
        return bytes([n])
    raw = n.to_bytes((n.bit_length() + 7) // 8, "big")
    return bytes([256 - len(raw)]) + raw


def message(data, cpu=0, lost=0, kind=9):
    """One value; members that are zero are left out."""
    body, last = b"\xff\x80", -1
    for at, value in enumerate((uint(len(data)) + data if data else b"", uint(cpu * 2) if cpu else b"",
                                uint(lost) if lost else b"", uint(kind * 2) if kind else b"")):
        if value:
            body += uint(at - last) + value
            last = at
    body += b"\0"
    return uint(len(body)) + body


def vectors():
    """Notifications with what the real client prints of them, by their names."""
    found = {}
    for name in ("vectors", "vectors-2"):
        with open(os.path.join(DATA, f"{name}.jsonl"), encoding="utf-8") as f:
            found.update({row["name"]: row for row in map(json.loads, f) if "hex" in row})
    return found


class Agent:
    """Serves one client; `read` is set once it has read everything and connects again."""

    def __init__(self, path, messages):
        self.path, self.read = str(path), threading.Event()
        self.stream = PAYLOAD_TYPE + b"".join(messages)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        client, _ = self.listener.accept()
        with client:
            client.sendall(self.stream)
        again, _ = self.listener.accept()
        self.read.set()
        with again:
            again.recv(1)
