# SPDX-License-Identifier: GPL-2.0-or-later
"""Every command says the same whether it loads probes itself or reads them from an agent: the same load, watched by
both at once, gives the same lines. Left out of the comparison is what is measured twice (times, latencies), and
where in a stream something stands."""
import json
import os
import re
import subprocess

import pytest

import helpers
from test_rpc import calls, gotree, program     # noqa: F401  calls is a fixture

COMM = f"se{os.getpid() % 1000000}"
UDP = 20000 + os.getpid() % 20000
TCP = UDP + 1
LOAD = f"""
import os, socket
open("/proc/self/comm", "w").write("{COMM}")
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    for _ in range(3):
        s.sendto(b"x", ("127.0.0.1", {UDP}))
listener = socket.create_server(("127.0.0.1", {TCP}))
client = socket.create_connection(("127.0.0.1", {TCP}))
server, _ = listener.accept()
client.sendall(b"y" * 100)
server.recv(1000)
client.close(); server.recv(10); server.close(); listener.close()
for _ in range(5):
    os.getppid()
for path in "/dev/null", "/no such file":
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError:
        pass
"""
PACKETS = f"udp port {UDP} or tcp port {TCP} or icmp".split()
MEASURED = {"ts_ns", "time", "seq", "instance", "cpu", "latency", "latency_ns", "interval", "duration", "duration_ns",
            "handshake", "handshake_ns", "rtt", "srtt", "first_ns", "last_ns", "start_ns", "end_ns", "netns_name",
            "id"}
# name: words, and which lines are of the load
COMMANDS = {
    "monitor": (["monitor", "-i", "lo", "-v", *PACKETS], lambda line: f":{UDP}" in line or f":{TCP}" in line),
    "monitor --json": (["monitor", "-i", "lo", "--json", *PACKETS], lambda line: f'port":{UDP}' in line),
    "monitor cilium": (["monitor", "-i", "lo", "--format", "cilium", *PACKETS], lambda line: f":{UDP}" in line),
    "capture": (["capture", "-i", "lo", *PACKETS], lambda line: f":{UDP}" in line or f":{TCP}" in line),
    "flows": (["flows", "--json", "--where", f"proc.name={COMM}"], lambda line: '"net.flow"' in line),
    "counters": (["counters", "--json", "-i", "lo"], lambda line: '"net.count"' in line),
    "syscalls": (["syscalls", f"proc.name={COMM} and syscall.name in (connect, sendto, getppid)"],
                 lambda line: COMM in line),
    "syscalls where": (["syscalls", "--where", f"proc.name={COMM} and evt.failed=true"],
                       lambda line: COMM in line),
    "syscalls fd": (["syscalls", "--json", "--where", f"proc.name={COMM}", "fd.name=/dev/null"],
                    lambda line: COMM in line),
    "syscalls strace": (["syscalls", f"proc.name={COMM} and syscall.name in (openat, connect)", "--format", "strace"],
                        lambda line: "no such" in line or "connect" in line),
    "syscalls -c": (["syscalls", f"proc.name={COMM} and syscall.name in (connect, sendto, getppid)", "-c"],
                    lambda line: line),
}


def strip(value):
    if isinstance(value, dict):
        return {key: strip(one) for key, one in value.items() if key not in MEASURED}
    return value


def plain(line, name):
    if line.startswith("{"):
        return json.dumps(strip(json.loads(line)), sort_keys=True)
    if name == "syscalls -c":       # name, calls, errors; the rest is time
        return " ".join(word for word in line.split() if re.fullmatch(r"[1-9]\d*|[a-z_]+", word))
    line = re.sub(r"\d\d:\d\d:\d\d\.\d+|<\d+\.\d+>", "", line)
    return re.sub(r"\b\d+(\.\d+)? ?(ns|us|ms|s)\b", "", line)


def pair(sonde, ns, sock, words):
    ways = f"--agent={sock}", "--agent=no"
    return [sonde(words[0], way, *words[1:], netns=ns, wait=False) for way in ways]


@pytest.mark.parametrize("names", [list(COMMANDS)[:6], list(COMMANDS)[6:]], ids=["packets", "calls"])
def test_lines_are_the_same(netns, sonde, tmp_path, names):
    ns = netns()
    sonde("agent", "--socket-dir", str(tmp_path / "run"), netns=ns)
    pairs = {name: pair(sonde, ns, tmp_path / "run" / "read.sock", COMMANDS[name][0]) for name in names}
    for both in pairs.values():
        for one in both:
            one.wait_ready()
    ns.python(LOAD)
    elsewhere = re.compile(rf'"netns":(?!{os.stat(ns.path).st_ino}\b)')     # drops are counted in all namespaces
    for name, both in pairs.items():
        wanted = COMMANDS[name][1]
        for one in both:
            one.finish(timeout=60)
        there, here = (sorted(plain(line, name) for line in one.lines if wanted(line) and not elsewhere.search(line))
                       for one in both)
        assert there and there == here, name


def shares(text):
    """
    Stacks that hold more than a twentieth of the samples, from main() on. Frames before are of the C library: they
    have names where any process with the same library sees its debug file, as in a chroot beside a host that has it.
    """
    lines = [re.sub(r".*;main;", "main;", line).rsplit(" ", 1) for line in text if ";main;" in line]
    total = sum(int(n) for _, n in lines)
    return total, {stack: int(n) / total for stack, n in lines if int(n) > total / 20}


def test_profiles_are_the_same(sonde, tmp_path):
    """The same stacks, with the same share of what each saw."""
    source, hot = os.path.join(helpers.ROOT, "tests", "workloads", "split.c"), str(tmp_path / "hot")
    helpers.sh("cc", "-O1", "-o", hot, source)
    sonde("agent", "--socket-dir", str(tmp_path / "run"))
    with subprocess.Popen([hot, "60"], stdout=subprocess.DEVNULL) as load:
        try:
            words = "-F", "499", "-p", str(load.pid), "-o", "folded", "--stacks", "user", "--duration", "2s"
            both = [subprocess.Popen([helpers.BINARY, "profile", way, *words], stdout=subprocess.PIPE, text=True)
                    for way in (f"--agent={tmp_path}/run/read.sock", "--agent=no")]
            (there, theirs), (here, ours) = (shares(one.communicate(timeout=60)[0].splitlines()) for one in both)
        finally:
            load.kill()
    assert there > 100 and here > 100, (there, here)
    assert theirs.keys() == ours.keys() and len(ours) >= 3, (theirs, ours)
    assert all(abs(theirs[stack] - ours[stack]) < 0.15 for stack in ours), (theirs, ours)


def test_calls_are_the_same(sonde, calls, tmp_path):    # noqa: F811
    """Calls of a Go program."""
    sonde("agent", "--socket-dir", str(tmp_path / "run"))
    one = calls(program(gotree.SUITES[0]))
    sock = tmp_path / "run" / "read.sock"
    rpcs = pair(sonde, None, sock, ["rpc", "--pid", str(one.pid), "--json"])
    for child in rpcs:
        child.wait_ready()
    one.run("run", "unary", 3)
    for child in rpcs:
        child.wait_for(lambda ev: ev["type"].startswith("rpc."), 3)
    one.quit()
    seen = []
    for child in rpcs:
        child.finish(timeout=60)
        seen.append(sorted((ev["type"], ev.get("method"), ev.get("path"), ev.get("status"), ev["proc"]["pid"])
                           for ev in child.events if ev["type"].startswith("rpc.")))
    assert seen[0] and seen[0] == seen[1]
