# SPDX-License-Identifier: GPL-2.0-or-later
"""A chain of services with faults, recorded by `sonde record` and judged by `sonde explain`.

A kind says which calls are slow and where; the truth is the sort of cause and the process that sonde must name first.
Nothing here is known to sonde: the programs have no mark but a header that it does not read.
"""
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "e2e"))
import helpers  # noqa: E402  the path above is needed first

CALLS, GAP_US = 400, 3000
SETS = ("net:kinds=3:snaplen=128", "cpu:frequency=99", "cpu:wall:min-block-time=20us:kernel-depth=24:depth=32", "sys",
        "call")
CPU_CGROUPS = "/sys/fs/cgroup/cpu"
MEMORY_CGROUPS = "/sys/fs/cgroup/memory"


def real_time(priority=1):
    """Before other load."""
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(priority))


class Chain:
    """client -> front -> back in a namespace of their own."""

    def __init__(self, program, folder, alone=True):
        self.alone = alone  # other load of the host is a fault of its own, and not the one that is tried
        self.ns, self.folder, self.pids = helpers.Netns(), folder, {}
        self.program = program
        port = self.start("back").stdout.readline().split()[1]
        self.ports = {"back": port}
        self.ports["front"] = self.start("front", port).stdout.readline().split()[1]
        self.client = self.start("client", self.ports["front"])
        assert self.client.stdout.readline() == "ready\n"

    def start(self, name, *words):
        path = shutil.copy(self.program, os.path.join(self.folder, name))
        child = self.ns.popen(path, name, *words, stdin=subprocess.PIPE, cwd=self.folder,
                              preexec_fn=real_time if self.alone else None)
        self.pids[name] = child.pid
        return child

    def call(self, *words):
        """Runs calls; the number of faulty ones."""
        self.client.stdin.write(" ".join(map(str, words)) + "\n")
        self.client.stdin.flush()
        return int(self.client.stdout.readline().split()[1])

    def close(self):
        self.ns.close()


# ---- faults from outside: context managers around the calls ----

HOG = """
import os, sys, time
os.sched_setaffinity(0, [int(sys.argv[1])])
print("ready", flush=True)
while True:
    while time.monotonic() % 0.2 < 0.05:
        pass
    time.sleep(0.2 - time.monotonic() % 0.2)
"""


@contextlib.contextmanager
def hogs(_chain, _rng, _where):
    """Threads that keep the CPUs from the chain, in pulses: the harness needs them as well."""
    children = [subprocess.Popen([sys.executable, "-c", HOG, str(cpu)], stdout=subprocess.PIPE,
                                 preexec_fn=lambda: real_time(2)) for cpu in sorted(os.sched_getaffinity(0))]
    try:
        for child in children:
            child.stdout.readline()
        yield
    finally:
        for child in children:
            child.kill()
            child.communicate()


@contextlib.contextmanager
def repeated(work):
    """work() again and again, beside the calls."""
    stop = threading.Event()

    def loop():
        while not stop.is_set():
            work()
    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextlib.contextmanager
def cgroup(root, pid, values):
    folder = os.path.join(root, f"{helpers.PREFIX}{os.getpid()}")
    os.mkdir(folder)
    try:
        for name, value in values:
            with open(os.path.join(folder, name), "w", encoding="ascii") as f:
                f.write(str(value))
        with open(os.path.join(folder, "cgroup.procs"), "w", encoding="ascii") as f:
            f.write(str(pid))
        yield
    finally:
        with open(os.path.join(root, "cgroup.procs"), "w", encoding="ascii") as f:
            f.write(str(pid))
        helpers.wait_until(lambda: not open(os.path.join(folder, "cgroup.procs"), encoding="ascii").read())
        os.rmdir(folder)


def quota(chain, _rng, where):
    return cgroup(CPU_CGROUPS, chain.pids[where], [("cpu.cfs_period_us", 100000), ("cpu.cfs_quota_us", 10000)])


def memory(chain, _rng, where):
    return cgroup(MEMORY_CGROUPS, chain.pids[where], [("memory.limit_in_bytes", 6 << 20)])


@contextlib.contextmanager
def stopped(chain, rng, where):
    def one():
        os.kill(chain.pids[where], signal.SIGSTOP)
        time.sleep(0.03 + rng.random() * 0.1)
        os.kill(chain.pids[where], signal.SIGCONT)
        time.sleep(0.3)
    with repeated(one):
        yield


@contextlib.contextmanager
def dropped(chain, rng, where):
    every = rng.choice((23, 31, 41))
    chain.ns.nft("add table ip t\nadd chain ip t c { type filter hook input priority 0; }\n"
                 f"add rule ip t c tcp dport {chain.ports[where]} meta length > 150 "
                 f"numgen inc mod {every} {every - 1} drop\n")
    yield


@contextlib.contextmanager
def shaped(chain, _rng, _where):
    chain.ns.run("tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "20mbit", "burst", "70k", "latency", "2s")
    yield


@contextlib.contextmanager
def resolver(chain, _rng, _where):
    """Answers at once, but leaves each third question out."""
    server = chain.ns.python_popen("""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 53))
print("ready", flush=True)
n = 0
while True:
    q, a = s.recvfrom(512)
    n += 1
    if n % 3:
        record = bytes.fromhex("c00c 0001 0001 00000001 0004 0a000001")
        s.sendto(q[:2] + bytes.fromhex("8180 0001 0001 0000 0000") + q[12:] + record, a)
""")
    assert server.stdout.readline() == "ready\n"
    yield


@contextlib.contextmanager
def healthy(_chain, _rng, _where):
    yield


class Kind:
    """@fault in the header of @part calls in a thousand, with an amount out of @amounts; @outside holds meanwhile.
    Right: one of @says in the first cause, at @at (default: the process of the fault)."""

    def __init__(self, fault, amounts, says, outside=healthy, part=None, where=("front", "back"), at=None,
                 calls=CALLS, alone=True):
        self.fault, self.amounts, self.says, self.outside, self.part = fault, amounts, says, outside, part
        self.where, self.at, self.calls, self.alone = where, at, calls, alone


KINDS = {
    "child": Kind("sleep", (10000, 40000), ("wait timer",), where=("back",)),
    "lock": Kind("lock", (5000, 30000), ("lock",)),
    "code": Kind("code", (5000, 30000), ("cpu",)),
    "disk": Kind("disk", (60, 200), ("disk",)),
    "page-fault": Kind("page-fault", (100, 400), ("page fault",)),
    "dns": Kind("dns", (20000, 60000), ("DNS",), resolver, part=120),
    "hogs": Kind("none", (0,), ("run queue",), hogs, at=("front", "back", "client", "all")),
    "quota": Kind("code", (3000,), ("throttled",), quota, part=500, alone=False),
    "stopped": Kind("none", (0,), ("stopped",), stopped),
    "dropped": Kind("none", (0,), ("retransmission",), dropped, at=("front", "client")),
    "shaped": Kind("big", (60000, 120000), ("network",), shaped, where=("back",), at=("front",), part=40),
    "reclaim": Kind("memory", (16, 40), ("memory reclaim",), memory, part=60),
    "accept": Kind("accept", (8000, 40000), ("accept queue",), where=("client",), at=("front",)),
    "healthy": Kind("none", (0,), (), part=0),
}


def record(chain, kind, rng, path):
    """The path of a recording of the calls, and how many were faulty."""
    where = rng.choice(kind.where)
    part = kind.part if kind.part is not None else rng.choice((30, 60, 100))
    amount = rng.randint(min(kind.amounts), max(kind.amounts))
    one = helpers.Sonde("record", "-p", ",".join(map(str, chain.pids.values())), "--netns", chain.ns.path, "-w", path,
                        "--set", ",".join(SETS), "--ring-size", "16M")
    try:
        chain.call(5, 1000, 0, 1, "none", "none", 0)
        with kind.outside(chain, rng, where):
            n = chain.call(kind.calls, GAP_US, part, rng.randint(1, 1 << 30), where, kind.fault, amount)
    finally:
        one.finish()
    return {"where": where, "part": part, "amount": amount, "faulty": n}


def explain(path):
    done = helpers.sh(helpers.BINARY, "explain", "-r", path, "--json", "rpc.name='POST /front/put'", check=False,
                      timeout=120)
    assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    return next((s for s in said if s["method"] == "POST /front/put"), None)


def judge(kind, truth, said):
    """(cause right, process right) of the first cause; of a healthy run: (silent, None)."""
    causes = [c["cause"] for c in said["causes"]] if said else []
    if not kind.says:
        return not causes, None
    if not causes:
        return False, False
    at = kind.at or (truth["where"],)
    return any(w in causes[0] for w in kind.says), causes[0].split()[0].rstrip(":") in at


def run(program, name, seed, folder):
    kind, rng = KINDS[name], random.Random(f"{name} {seed}")
    work = os.path.join(folder, f"{name}-{seed}")
    os.mkdir(work)
    chain = Chain(program, work, kind.alone)
    try:
        path = os.path.join(work, "all.rec")
        truth = record(chain, kind, rng, path)
    finally:
        chain.close()
    said = explain(path)
    return truth, said, judge(kind, truth, said)
