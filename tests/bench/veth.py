# SPDX-License-Identifier: GPL-2.0-or-later
"""Two network namespaces joined by a veth pair, and programs that watch one of them: for benchmarks of traffic."""
import contextlib
import ctypes
import os
import re
import signal
import socket
import subprocess
import sys
import threading

END_S = 30      # from SIGINT to the end of a watcher


def sh(*words):
    subprocess.run(words, check=True, capture_output=True)


class Veth:
    """Ends 0 and 1 with the interfaces `<name>a` and `<name>b`, addresses NET.1 and NET.2."""

    def __init__(self, name, net):
        self.names = [f"sd-{name}-{os.getpid()}-{end}" for end in "ab"]
        self.devs = [name + end for end in "ab"]
        self.ips = [f"{net}.{end}" for end in (1, 2)]
        for ns in self.names:
            sh("ip", "netns", "add", ns)
        sh("ip", "link", "add", self.devs[0], "netns", self.names[0], "type", "veth", "peer", self.devs[1], "netns",
           self.names[1])
        for ns, dev, ip in zip(self.names, self.devs, self.ips):
            sh("ip", "-n", ns, "addr", "add", f"{ip}/24", "dev", dev)
            sh("ip", "-n", ns, "link", "set", dev, "up")
            sh("ip", "-n", ns, "link", "set", "lo", "up")

    def words(self, end, *words, cpu=None):
        """The command @words at that end, on that CPU."""
        pin = [] if cpu is None else ["taskset", "-c", str(cpu)]
        return ["nsenter", f"--net=/run/netns/{self.names[end]}", *pin, *words]

    def socket(self, end):
        """A TCP socket of that end."""
        libc = ctypes.CDLL(None, use_errno=True)
        with open("/proc/self/ns/net", "rb") as here, open(f"/run/netns/{self.names[end]}", "rb") as there:
            try:
                if libc.setns(there.fileno(), 0):
                    raise OSError(ctypes.get_errno(), "setns")
                return socket.socket()
            finally:
                libc.setns(here.fileno(), 0)

    def close(self):
        for ns in self.names:
            subprocess.run(["ip", "netns", "del", ns], check=False, capture_output=True)


def receive_sigint():
    """For this program and its children: a shell that runs a job in the background has them ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def start(words, ready):
    """The watcher @words, once it has printed what matches @ready."""
    receive_sigint()
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             text=True)
    for line in child.stderr:
        if re.search(ready, line):
            return child
    sys.exit(f"{words[0]} did not start")


@contextlib.contextmanager
def ending(child, limit_s=None):
    """Sends SIGINT; the body waits for the end. A child that takes longer is killed, and SystemExit says so."""
    killed, limit_s = [], limit_s or END_S

    def kill():
        killed.append(True)
        os.kill(child.pid, signal.SIGKILL)
    late = threading.Timer(limit_s, kill)
    os.kill(child.pid, signal.SIGINT)
    late.start()
    try:
        yield
    finally:
        late.cancel()
    if killed:
        sys.exit(f"{child.args[0]} did not end within {limit_s} s of SIGINT")


def stop(child, limit_s=None):
    """Its last words."""
    with ending(child, limit_s):
        rest = child.stderr.read()
        child.wait()
    return rest
