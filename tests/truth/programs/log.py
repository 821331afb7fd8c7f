# SPDX-License-Identifier: GPL-2.0-or-later
"""The truth of a Python program: one file per process in the folder $TRUTH, a JSON object per line."""
import json
import os
import socket
import threading
import time

SO_COOKIE = 57
LOCK = threading.Lock()


class Log:
    """Made in the process that it speaks of, after a fork."""

    def __init__(self):
        self.file = open(os.path.join(os.environ["TRUTH"], f"{os.getpid()}"), "a", encoding="utf-8")
        with open("/proc/self/stat", encoding="utf-8") as f:
            self.start = int(f.read().rpartition(")")[2].split()[19])
        with open("/proc/self/comm", encoding="utf-8") as f:
            self.comm = f.read().strip()

    def write(self, **row):
        with LOCK:
            self.file.write(json.dumps({"pid": os.getpid(), "start": self.start, "comm": self.comm, **row}) + "\n")
            self.file.flush()

    def end(self, role, s, peer=None, **more):
        """One end of a connection, and since when this process has it at the latest."""
        at = time.monotonic_ns()
        cookie = int.from_bytes(s.getsockopt(socket.SOL_SOCKET, SO_COOKIE, 8), "little")
        self.write(role=role, cookie=cookie, local=s.getsockname(), peer=peer or s.getpeername(), at=at,
                   **more)
