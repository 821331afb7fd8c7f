#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""bad_clients.py [--sonde FILE] [--connects N] [--sessions N]: what clients of the agent can do wrong.

1. While agents start (and end), processes of root and of an ordinary user connect as fast as they can: the ordinary
   user gets in never, and who gets in is greeted.
2. Random sessions, four verbs deep: whole, half, oversized and misplaced frames, descriptors nobody asked for, cut at
   every place. The agent answers another client all the time, and its descriptors are as many as at the start.

3. Forty clients with a filter each, which go down to the kernel as long as there are places: those that come late
   share a wider instance, and everybody gets at least what was asked for.

Prints one line of JSON; exit status 1 when something does not hold.
"""
import argparse
import json
import multiprocessing
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
from agent_client import CALL, HELLO, STOP, SUBSCRIBE, WELCOME, Client, frame, words  # noqa: E402  see above

ORDINARY = 65534


def start(sonde, run):
    return subprocess.Popen([sonde, "agent", "--socket-dir", run], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)


def wait_ready(run):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            client = Client(os.path.join(run, "read.sock"))
            client.hello()
            return client
        except (OSError, AssertionError, TypeError):
            time.sleep(0.01)
    raise SystemExit("the agent was not ready")


def racer(run, uid, n, out):
    """Connects @n times; counts how it ended, and greetings of those that got in."""
    if uid:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    counts = {"tried": 0, "in": 0, "greeted": 0, "refused": 0}
    i = 0
    while i < n:
        path = os.path.join(run, ("read.sock", "control.sock")[i & 1])
        if not uid and not os.path.exists(path):
            continue        # an ordinary user cannot even see that
        counts["tried"] += 1
        i += 1
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(20)
            try:
                s.connect(path)
            except OSError:
                continue
            counts["in"] += 1
            if i % 16 and not uid:
                continue        # comes and goes at once
            try:
                s.sendall(frame(HELLO, struct.pack("<HHI", 1, 0, 0) + b"racer\0"))
                data = s.recv(4096)
            except OSError:
                data = b""      # it was ending
            kind = struct.unpack_from("<IH", data)[1] if len(data) >= 8 else 0
            counts["greeted" if kind == WELCOME else "refused"] += 1
    out.put((uid, counts))


def race(sonde, run, connects):
    out = multiprocessing.Queue()
    racers = [multiprocessing.Process(target=racer, args=(run, uid, connects // 4, out))
              for uid in (0, 0, ORDINARY, ORDINARY)]
    for one in racers:
        one.start()
    starts = 0
    while any(one.is_alive() for one in racers) and out.qsize() < len(racers):
        child = start(sonde, run)
        starts += 1
        time.sleep(random.uniform(0.1, 4))
        child.send_signal(random.choice((signal.SIGTERM, signal.SIGKILL)))
        child.wait()
    totals = {0: {}, ORDINARY: {}}
    for _ in racers:
        uid, counts = out.get()
        for key, n in counts.items():
            totals[uid][key] = totals[uid].get(key, 0) + n
    for one in racers:
        one.join()
    return starts, totals


def random_frame(rng):
    texts = [["probe=net", "option=--interface=lo"], ["probe=sys", "option=--syscall=getppid"], ["probe=nothing"],
             ["probe=net", "option=--nothing=1"], ["pid=x", "probe=net"], ["where=((((", "probe=net"], []]
    pick = rng.randrange(10)
    if pick < 3:
        return frame(HELLO, struct.pack("<HHI", rng.choice((1, 1, 1, 0, 9)), 0, 0) + b"fuzz\0")
    if pick < 5:
        return frame(SUBSCRIBE, words(*rng.choice(texts)))
    if pick == 5:
        return frame(STOP)
    if pick < 8:
        verb = rng.choice(("status", "counters", "verbs", "attach", "detach", "capture", "dump", "x" * 3000))
        return frame(CALL, struct.pack("<II", rng.randrange(9), 0) + words(verb, *["a=b"] * rng.randrange(80)))
    if pick == 8:
        return struct.pack("<IHH", rng.choice((0, 7, 1 << 20, 1 << 31, 0xffffffff, 65537)), HELLO, 0) + bytes(16)
    return bytes(rng.randrange(256) for _ in range(rng.randrange(200)))


def session(path, rng):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(20)
        s.connect(path)
        data = b"".join(random_frame(rng) for _ in range(1 + rng.randrange(6)))
        if rng.random() < 0.7:
            data = frame(HELLO, struct.pack("<HHI", 1, 0, 0) + b"fuzz\0") + data
        cut = rng.randrange(len(data)) if rng.random() < 0.5 and data else len(data)
        try:
            if rng.random() < 0.2:
                socket.send_fds(s, [data[:cut] or b"\0"], [0, 1, 2] * rng.randrange(1, 80))
            else:
                for i in range(0, cut, step := rng.choice((1, 7, 4096))):
                    s.sendall(data[i:min(i + step, cut)])
            if rng.random() < 0.5:
                s.settimeout(0.05)
                s.recv(65536)
        except OSError:
            pass    # it was cut off, or had nothing to say


def many_filters(path, count=40):
    """How many instances served them, and whether each got its calls."""
    clients, instances = [], []
    for number in range(count):
        clients.append(Client(path, 60))
        clients[-1].hello()
        pid = (1 << 22) + number if number else os.getpid()
        instances += clients[-1].subscribe("probe=sys", "option=--syscall=getpgid", f"option=--push=proc.pid={pid}")
    for _ in range(50):
        os.getpgid(0)
    got = []
    for client, instance in zip(clients, instances):
        client.send(STOP)
        got.append(client.books()[0].get(instance, 0))
        client.close()
    alone = [n for n, instance in zip(got, instances) if instances.count(instance) == 1]
    shared = [n for n, instance in zip(got, instances) if instances.count(instance) > 1]
    return len(set(instances)), alone[0] >= 50 and not any(alone[1:]) and len(shared) > 1 and min(shared) >= 50


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--sonde", default=os.path.join(ROOT, "build", "sonde"))
    args.add_argument("--connects", type=int, default=100000)
    args.add_argument("--sessions", type=int, default=2000)
    args.add_argument("--seed", type=int, default=1)
    args = args.parse_args()
    folder = tempfile.mkdtemp(prefix="sd-bad-")
    os.chmod(folder, 0o755)
    run, rng = os.path.join(folder, "run"), random.Random(args.seed)
    try:
        starts, totals = race(args.sonde, run, args.connects)
        child = start(args.sonde, run)
        client = wait_ready(run)
        client.subscribe("probe=net", "option=--interface=lo", "probe=sys", "option=--syscall=getppid")
        client.send(STOP)
        client.books()      # what is opened once and kept, as the plain rings of sys, is there now
        before = len(os.listdir(f"/proc/{child.pid}/fd"))
        answered = 0
        for i in range(args.sessions):
            session(os.path.join(run, ("read.sock", "control.sock")[i & 1]), rng)
            if i % 100 == 0:
                answered += client.call("status")[0] == 0
        end = time.monotonic() + 60
        while len(os.listdir(f"/proc/{child.pid}/fd")) != before and time.monotonic() < end:
            time.sleep(0.1)
        after = len(os.listdir(f"/proc/{child.pid}/fd"))
        instances, widened = many_filters(os.path.join(run, "read.sock"))
        client.close()
        child.send_signal(signal.SIGTERM)
        status = child.wait(60)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    result = {"starts": starts, "root": totals[0], "ordinary": totals[ORDINARY], "sessions": args.sessions,
              "answered": answered, "fds_before": before, "fds_after": after, "instances": instances,
              "widened": widened, "exit": status}
    print(json.dumps(result))
    right = (totals[ORDINARY]["in"] == 0 and totals[0]["greeted"] > 0 and before == after and widened and
             status == 0 and
             answered == -(-args.sessions // 100))
    sys.exit(not right)


if __name__ == "__main__":
    main()
