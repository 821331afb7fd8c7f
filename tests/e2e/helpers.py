# SPDX-License-Identifier: GPL-2.0-or-later
"""What the live tests share: network namespaces, links between them, and a running sonde.

Names of namespaces and devices begin with sd-e2e-<pid of the test run>, so that runs beside each other do not
meet and what a killed run left can be told apart and removed.
"""
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.path.abspath(os.environ.get("SONDE", os.path.join(ROOT, "build", "sonde")))
PREFIX = "sd-e2e-"
READY = re.compile(r"\b(ready|watching)\b")
TIMEOUT_S = 10
READY_S = 40    # programs are verified at every start, and the machine may be busy

_numbers = itertools.count()


def sh(*words, check=True, timeout=TIMEOUT_S, **options):
    """Runs a command without a shell; text in and out."""
    return subprocess.run(words, check=check, timeout=timeout, text=True, capture_output=True, **options)


def need(program):
    """In front of what compares with @program: where it is not installed, the test counts as skipped."""
    if not shutil.which(program):
        import pytest       # which has no part in runs of the truth gate
        pytest.skip(f"{program} is not installed")


def wait_until(condition, timeout=READY_S):
    """Returns once condition() is true; for facts that no event announces."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"not within {timeout} s"
        time.sleep(0.01)


def cgroup_root():
    """Where cgroup2 is mounted; None = nowhere."""
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        return next((line.split()[4] for line in mounts if " - cgroup2 " in line), None)


DATAGRAMS = """
import socket, sys, time
rate = float(sys.argv[1])
r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
r.bind(("127.0.0.1", 0))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(r.getsockname())
begin, i = time.monotonic(), 0
while True:
    s.send(b"x")
    r.recv(1)
    i += 1
    ahead = begin + i / rate - time.monotonic()
    if ahead > 0.002:
        time.sleep(ahead)
"""


class Netns:
    """A network namespace with a name of its own; loopback is up."""

    def __init__(self):
        self.name = f"{PREFIX}{os.getpid()}-{next(_numbers)}"
        sh("ip", "netns", "add", self.name)
        self.children = []
        try:
            self.run("ip", "link", "set", "lo", "up")
        except BaseException:
            self.close()
            raise

    @property
    def path(self):
        return f"/run/netns/{self.name}"

    @property
    def inode(self):
        return os.stat(self.path).st_ino

    def _inside(self, words):
        # nsenter and not `ip netns exec`: the latter mounts a sysfs, which takes time and hides the host's.
        return ("nsenter", f"--net={self.path}", *words)

    def run(self, *words, **options):
        return sh(*self._inside(words), **options)

    def popen(self, *words, **options):
        """A process inside; ended when the test ends."""
        options = {"text": True, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        child = subprocess.Popen(self._inside(words), **options)
        self.children.append(child)
        return child

    def python(self, code, **options):
        """A Python program inside, for sockets: returns its output. The pid in events is that of the program."""
        return self.run("/usr/bin/python3", "-c", code, **options)

    def python_popen(self, code, *words, **options):
        return self.popen("/usr/bin/python3", "-c", code, *words, **options)

    def datagrams(self, rate):
        """A process that sends so many datagrams a second over the loopback and receives each; the caller ends it."""
        return self.python_popen(DATAGRAMS, str(rate), stdout=None, stderr=None)

    def sysctl(self, key, value):
        self.run("sysctl", "-q", "-w", f"{key}={value}")

    def nft(self, rules):
        self.run("nft", "-f", "-", input=rules)

    def link_index(self, device):
        return int(json.loads(self.run("ip", "-j", "link", "show", device).stdout)[0]["ifindex"])

    def mac(self, device):
        return json.loads(self.run("ip", "-j", "link", "show", device).stdout)[0]["address"]

    def close(self):
        for child in self.children:
            stop_process(child)
        sh("ip", "netns", "del", self.name, check=False)


class Link:
    """A veth pair between two namespaces: a.dev and b.dev with an IPv4 and an IPv6 address each."""

    def __init__(self, a, b, number=None):
        n = next(_numbers) if number is None else number
        self.a, self.b = a, b
        self.a_dev, self.b_dev = f"sda{n}", f"sdb{n}"
        self.a_ip, self.b_ip = f"10.{100 + n // 250 % 100}.{n % 250}.1", f"10.{100 + n // 250 % 100}.{n % 250}.2"
        self.a_ip6, self.b_ip6 = f"fd00:{n:x}::1", f"fd00:{n:x}::2"
        sh("ip", "link", "add", self.a_dev, "netns", a.name, "type", "veth", "peer", self.b_dev, "netns", b.name)
        for ns, dev, ip, ip6 in ((a, self.a_dev, self.a_ip, self.a_ip6), (b, self.b_dev, self.b_ip, self.b_ip6)):
            # No link-local address: nothing that was not asked for (router solicitations) comes in between.
            ns.run("ip", "link", "set", dev, "addrgenmode", "none")
            ns.run("ip", "addr", "add", f"{ip}/24", "dev", dev)
            ns.run("ip", "addr", "add", f"{ip6}/64", "dev", dev, "nodad")
            ns.run("ip", "link", "set", dev, "up")
        # A first exchange, so that neighbour discovery is no part of the test; a veth's carrier may take a moment.
        for ip in (self.b_ip, self.b_ip6):
            for _ in range(10):
                if a.run("ping", "-q", "-c", "1", "-W", "1", ip, check=False).returncode == 0:
                    break
                time.sleep(0.1)
            else:
                raise AssertionError(f"{ip} does not answer over {self.a_dev}")


class Routed:
    """Three namespaces in a row, the middle one forwards: left.a - left.b = router = right.a - right.b. @make makes
    a namespace."""

    def __init__(self, make):
        self.client, self.router, self.server = client, router, server = make(), make(), make()
        self.left, self.right = left, right = Link(client, router), Link(router, server)
        router.sysctl("net.ipv4.ip_forward", 1)
        router.sysctl("net.ipv6.conf.all.forwarding", 1)
        client.run("ip", "route", "add", "default", "via", left.b_ip)
        client.run("ip", "-6", "route", "add", "default", "via", left.b_ip6)
        server.run("ip", "route", "add", "default", "via", right.a_ip)
        server.run("ip", "-6", "route", "add", "default", "via", right.a_ip6)


class Sonde:
    """A running `sonde ...`, with the JSON objects that it printed so far."""

    def __init__(self, *words, netns=None, wait=True, env=None, preexec=None, before=(), fds=()):
        command = [*before, BINARY, *words]
        if netns is not None:
            command = ["nsenter", f"--net={netns.path}", *command]
        self.lines, self.events, self.bad_lines, self.err_lines = [], [], [], []
        self.changed = threading.Condition()
        self.is_ready = False
        self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True, errors="backslashreplace",
                                      env=dict(os.environ, NO_COLOR="1", **(env or {})), preexec_fn=preexec,
                                      pass_fds=fds)
        self.threads = [threading.Thread(target=self._read_out, daemon=True),
                        threading.Thread(target=self._read_err, daemon=True)]
        for thread in self.threads:
            thread.start()
        if wait:
            self.wait_ready()

    @property
    def pid(self):
        return self.child.pid

    @property
    def stderr(self):
        return "\n".join(self.err_lines)

    def _read_out(self):
        for line in self.child.stdout:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                if line.startswith("{"):
                    try:
                        self.events.append(json.loads(line))
                    except ValueError:
                        self.bad_lines.append(line)
                self.changed.notify_all()

    def _read_err(self):
        for line in self.child.stderr:
            with self.changed:
                self.err_lines.append(line.rstrip("\n"))
                self.is_ready = self.is_ready or bool(READY.search(line))
                self.changed.notify_all()

    def wait_ready(self, timeout=READY_S):
        deadline = time.monotonic() + timeout
        with self.changed:
            while not self.is_ready:
                left = deadline - time.monotonic()
                if left <= 0 or self.child.poll() is not None:
                    break
                self.changed.wait(min(left, 0.2))
        if not self.is_ready:
            self.stop()
            raise AssertionError(f"sonde was not ready within {timeout} s:\n{self.stderr}")

    def wait_for(self, wanted, count=1, timeout=TIMEOUT_S):
        """The first @count events for which wanted(event) is true; fails with what was seen."""
        deadline = time.monotonic() + timeout
        with self.changed:
            while True:
                found = [ev for ev in self.events if wanted(ev)]
                if len(found) >= count:
                    return found[:count]
                left = deadline - time.monotonic()
                if left <= 0 or (self.child.poll() is not None and not self.threads[0].is_alive()):
                    tail = "\n".join(json.dumps(ev) for ev in self.events[-20:])
                    raise AssertionError(f"{len(found)} of {count} events within {timeout} s; last ones:\n{tail}\n"
                                         f"stderr:\n{self.stderr}")
                self.changed.wait(min(left, 0.2))

    def wait_for_line(self, wanted, timeout=TIMEOUT_S):
        """The first line of standard output for which wanted(line) is true."""
        deadline = time.monotonic() + timeout
        with self.changed:
            while True:
                for line in self.lines:
                    if wanted(line):
                        return line
                left = deadline - time.monotonic()
                if left <= 0 or (self.child.poll() is not None and not self.threads[0].is_alive()):
                    tail = "\n".join(self.lines[-20:])
                    raise AssertionError(f"no such line within {timeout} s; last ones:\n{tail}\n"
                                         f"stderr:\n{self.stderr}")
                self.changed.wait(min(left, 0.2))

    def stop(self, sig=signal.SIGINT, timeout=TIMEOUT_S):
        """Ends it; the exit status. After this, events and lines are complete."""
        if self.child.poll() is None:
            self.child.send_signal(sig)
        try:
            status = self.child.wait(timeout)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
            raise AssertionError(f"sonde did not end within {timeout} s of signal {sig}:\n{self.stderr}") from None
        for thread in self.threads:
            thread.join(timeout)
        return status

    def finish(self, sig=signal.SIGINT, status=None, timeout=TIMEOUT_S):
        """Stops it and insists on a clean end: 128 + signal (or @status) and nothing but JSON lines."""
        got = self.stop(sig, timeout)
        want = 128 + sig if status is None else status
        assert got == want, f"exit status {got}, expected {want}:\n{self.stderr}"
        assert not self.bad_lines, f"lines that are no JSON: {self.bad_lines[:3]}"
        return self.events


def stop_process(child):
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(3)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    for stream in (child.stdout, child.stderr, child.stdin):
        if stream:
            stream.close()


def remove_leftovers():
    """Namespaces of test runs that are gone."""
    for name in os.listdir("/run/netns") if os.path.isdir("/run/netns") else []:
        match = re.fullmatch(PREFIX + r"(\d+)-\d+", name)
        if match and not os.path.exists(f"/proc/{match.group(1)}"):
            sh("ip", "netns", "del", name, check=False)
