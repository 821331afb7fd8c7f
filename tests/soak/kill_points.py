#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""kill_points.py [--sonde FILE] [--points N]: the agent is killed (SIGKILL) at N random moments: while it starts,
while it loads probes for a client, while it serves, while it stops. In its network namespace there are filters and a
pin that are not ours. What must hold at the end: none of the programs and maps that it ever held is left, no socket,
no filter of ours; what was not ours is byte for byte as before; every next start was ready.

Prints one line of JSON; exit status 1 when something does not hold.
"""
import argparse
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
from agent_client import SUBSCRIBE, Client, frame, words  # noqa: E402  the path above is needed first

READY_S = 60
PIN = f"/sys/fs/bpf/sd-kill-{os.getpid()}"
NS = f"sd-kill-{os.getpid()}"
RETURN_OK = "1,6 0 0 0"     # a classic program: ret #0


def sh(*command, check=True):
    return subprocess.run(command, check=check, capture_output=True, text=True).stdout


def inside(*command):
    return sh("ip", "netns", "exec", NS, *command)


def foreign():
    """What is not ours, as text."""
    texts = [inside("tc", "filter", "show", "dev", dev, way)
             for dev in ("lo", "sdk0") for way in ("ingress", "egress")]
    texts += [inside("tc", "qdisc", "show"), inside("ip", "-o", "link"), str(os.path.exists(PIN))]
    return "\n".join(texts)


def set_up():
    sh("ip", "netns", "add", NS)
    for command in ("ip link set lo up", "ip link add sdk0 type veth peer name sdk1", "ip link set sdk0 up",
                    "ip link set sdk1 up", "tc qdisc add dev lo clsact", "tc qdisc add dev sdk0 clsact"):
        inside(*command.split())
    for number in range(1, 6):
        inside("tc", "filter", "add", "dev", "sdk0", "ingress" if number % 2 else "egress", "prio", str(number * 10),
               "protocol", "all", "bpf", "da", "bytecode", RETURN_OK)
    inside("tc", "filter", "add", "dev", "lo", "ingress", "prio", "7", "protocol", "ip", "bpf", "da", "bytecode",
           RETURN_OK)
    sh("bpftool", "map", "create", PIN, "type", "array", "key", "4", "value", "4", "entries", "1", "name", "not_ours")


def held(pid):
    """Ids of the BPF programs and maps that a process has open."""
    ids = set()
    try:
        for fd in os.listdir(f"/proc/{pid}/fdinfo"):
            try:
                with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as f:
                    ids.update(tuple(line.split(":\t")) for line in f.read().splitlines()
                               if line.startswith(("prog_id:", "map_id:")))
            except OSError:
                pass
    except OSError:
        pass
    return ids


def left(ids):
    there = {("prog_id", str(one["id"])) for one in json.loads(sh("bpftool", "-j", "prog", "show"))}
    there |= {("map_id", str(one["id"])) for one in json.loads(sh("bpftool", "-j", "map", "show"))}
    return {(kind, number.strip()) for kind, number in ids} & there


def start(sonde, folder):
    return subprocess.Popen(["ip", "netns", "exec", NS, sonde, "agent", "--socket-dir", folder],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def connect(folder, child):
    end = time.monotonic() + READY_S
    while time.monotonic() < end and child.poll() is None:
        try:
            client = Client(os.path.join(folder, "read.sock"))
            client.hello()
            return client
        except (OSError, struct.error, TypeError):
            time.sleep(0.005)
    raise SystemExit("the agent was not ready again")


def one_point(sonde, folder, number, starts):
    """One life of the agent, and its end."""
    began = time.monotonic()
    child = start(sonde, folder)
    kind = number % 4
    if kind:
        client = connect(folder, child)
        starts.append(time.monotonic() - began)
        attach = "clsact" if number % 8 < 4 else "auto"
        asked = words("probe=net", "option=--interface=lo,sdk0", f"option=--attach={attach}")
        client.sock.sendall(frame(SUBSCRIBE, asked))
        if kind > 1:
            client.recv()
    if kind == 3:
        child.send_signal(signal.SIGTERM)
    time.sleep(random.uniform(0, 0.5 if kind < 2 else 0.1))
    child.send_signal(signal.SIGSTOP)
    ids = held(child.pid)
    child.kill()
    child.wait()
    return ids


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--sonde", default=os.path.join(ROOT, "build", "sonde"))
    args.add_argument("--points", type=int, default=200)
    args = args.parse_args()
    sonde, folder = os.path.abspath(args.sonde), tempfile.mkdtemp(prefix="sd-kill-")
    ids, starts, run = set(), [], os.path.join(folder, "run")
    try:
        set_up()
        before = foreign()
        for number in range(args.points):
            ids |= one_point(sonde, run, number, starts)
        child = start(sonde, run)
        client = connect(run, child)
        client.subscribe("probe=net", "option=--interface=lo,sdk0", "option=--attach=clsact")
        client.close()
        child.send_signal(signal.SIGTERM)
        status, after = child.wait(60), foreign()
        end = time.monotonic() + 30
        while left(ids) and time.monotonic() < end:
            time.sleep(0.2)
        starts.sort()
        result = {"points": args.points, "held": len(ids), "left": len(left(ids)), "foreign_same": after == before,
                  "files_left": os.listdir(run) if os.path.exists(run) else [], "last_exit": status,
                  "ready_s_median": round(starts[len(starts) // 2], 3), "ready_s_most": round(starts[-1], 3)}
    finally:
        sh("ip", "netns", "del", NS, check=False)
        if os.path.exists(PIN):
            os.unlink(PIN)
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(result))
    if result["left"] or not result["foreign_same"] or result["files_left"] or status:
        if after != before:
            print(before, "\n----\n", after, file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
