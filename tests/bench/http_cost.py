#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""HTTP over veth, wrk to nginx: untraced, with `sonde flows` (medium), with `sonde monitor` unfiltered, with
`tcpdump -w`, each at the server's interface. Requests a second, and the CPU time that one request takes of client and
server (the kernel's work for their packets, and so the watching programs, is in it) and of the watcher.

Rounds are interleaved and each is compared with the untraced one before it; the figure is the median of the ratios.
On a busy machine these move by far more than the programs cost; the time that the kernel counts in the programs
themselves, as a share of an untraced request's CPU time, does not, and has the bound.
Client and server have one CPU each where there are two; the watcher may run anywhere.
"""
import argparse
import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NGINX = """
daemon off;
worker_processes 1;
pid {dir}/pid;
error_log /dev/null crit;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {dir}; proxy_temp_path {dir}; fastcgi_temp_path {dir}; uwsgi_temp_path {dir};
    scgi_temp_path {dir};
    keepalive_requests 10000000;
    server {{
        listen 10.98.0.2:80 backlog=4096;
        location / {{ return 200 "{body}"; }}
        location /close {{ keepalive_timeout 0; return 200 "{body}"; }}
    }}
}}
"""


def sh(*words):
    subprocess.run(words, check=True, capture_output=True)


class Place:
    """Two namespaces joined by a veth pair, nginx in the second."""

    def __init__(self, folder):
        self.names = [f"sd-http-{os.getpid()}-{end}" for end in "ab"]
        for name in self.names:
            sh("ip", "netns", "add", name)
        sh("ip", "link", "add", "hta", "netns", self.names[0], "type", "veth", "peer", "htb", "netns", self.names[1])
        for name, dev, ip in zip(self.names, ("hta", "htb"), ("10.98.0.1", "10.98.0.2")):
            sh("ip", "-n", name, "addr", "add", f"{ip}/24", "dev", dev)
            sh("ip", "-n", name, "link", "set", dev, "up")
            sh("ip", "-n", name, "link", "set", "lo", "up")
        conf = os.path.join(folder, "nginx.conf")
        with open(conf, "w", encoding="ascii") as f:
            f.write(NGINX.format(dir=folder, body="x" * 512))
        self.server = subprocess.Popen(self.words(1, "taskset", "-c", str(os.cpu_count() - 1), "nginx", "-c", conf),
                                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.worker = self.wait_for_worker()

    def wait_for_worker(self):
        while self.server.poll() is None:
            with open(f"/proc/{self.server.pid}/task/{self.server.pid}/children", encoding="ascii") as f:
                children = f.read().split()
            if children:
                return int(children[0])
        sys.exit("nginx did not start")

    def words(self, end, *words):
        return ["nsenter", f"--net=/run/netns/{self.names[end]}", *words]

    def close(self):
        self.server.terminate()
        self.server.wait(10)
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def cpu_s(pid):
    """Seconds on a CPU so far, to the nanosecond."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total / 1e9


def programs():
    """Id and time so far of the BPF programs that there are: ns on CPUs."""
    out = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, text=True, check=True).stdout
    return {p["id"]: p.get("run_time_ns", 0) for p in json.loads(out) if p["type"] == "sched_cls"}


def start(words, ready):
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             text=True)
    for line in child.stderr:
        if re.search(ready, line):
            return child
    sys.exit(f"{words[0]} did not start")


def stop(child):
    child.send_signal(signal.SIGINT)
    child.stderr.read()
    child.wait(30)


def load(place, seconds, path):
    """(requests a second, CPU seconds per request of wrk and nginx, requests); again when nothing came of it."""
    while True:
        try:
            return load_once(place, seconds, path)
        except ZeroDivisionError:
            pass


def load_once(place, seconds, path):
    before = cpu_s(place.worker)
    children = os.times()
    out = subprocess.run(place.words(0, "taskset", "-c", "0", "wrk", "-t1", "-c32", f"-d{seconds}s",
                                     f"http://10.98.0.2{path}"), capture_output=True, text=True, check=True).stdout
    after = os.times()
    requests = int(re.search(r"(\d+) requests in", out)[1])
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1])
    client = after.children_user + after.children_system - children.children_user - children.children_system
    return rate, (client + cpu_s(place.worker) - before) / requests, requests


def watchers(sonde, place, folder):
    """Name, words, what says that it is ready."""
    inside = ["-i", "htb", "--netns", place.names[1], "--local"]
    return [
        ("untraced", None, None),
        ("flows medium", [sonde, "flows", *inside, "-o", "null"], "ready"),
        ("monitor unfiltered", [sonde, "monitor", *inside, "-o", "null"], "ready"),
        ("tcpdump -w", place.words(1, "tcpdump", "-i", "htb", "-w", os.path.join(folder, "out.pcap")),
         "listening on"),
    ]


def measure(place, words, ready, seconds, path):
    others = programs()
    child = start(words, ready) if words else None
    own = cpu_s(child.pid) if child else 0
    rate, each, requests = load(place, seconds, path)
    own = cpu_s(child.pid) - own if child else 0
    ran = sum(ns for number, ns in programs().items() if number not in others) / 1e9
    if child:
        stop(child)
    return rate, each, own / requests, ran / requests


@contextlib.contextmanager
def counted_programs():
    """The kernel takes the time of BPF programs meanwhile."""
    path = "/proc/sys/kernel/bpf_stats_enabled"
    with open(path, encoding="ascii") as f:
        before = f.read()
    with open(path, "w", encoding="ascii") as f:
        f.write("1")
    try:
        yield
    finally:
        with open(path, "w", encoding="ascii") as f:
            f.write(before)


def report(name, rounds, path):
    rates = [r[name][0] / r["untraced"][0] for r in rounds]
    costs = [r[name][1] / r["untraced"][1] for r in rounds]
    whole = [(r[name][1] + r[name][2]) / r["untraced"][1] for r in rounds]
    ran = statistics.median(r[name][3] / r["untraced"][1] for r in rounds)
    where = "" if path == "/" else ", a connection each"
    print(f"figure\t{name}{where}: requests/s against untraced\t{statistics.median(rates):.3f}\t")
    print(f"figure\t{name}{where}: CPU per request with the watcher's\t{statistics.median(whole):.3f}\t")
    print(f"figure\t{name}{where}: CPU per request\t{statistics.median(costs):.3f}\t")
    if name == "flows medium":
        each = statistics.median(r[name][3] for r in rounds) * 1e9
        print(f"figure\t{name}{where}: time in its programs\t{each:.0f}\tns a request")
        print(f"ratio\t{name}{where}: that, of a request's CPU\t{ran:.4f}\t<=\t{0.03 if path == '/' else 0.1}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--only", help="this watcher only")
    args = parser.parse_args()
    if subprocess.run(["sh", "-c", "command -v wrk nginx"], capture_output=True, check=False).returncode:
        print("note\twrk or nginx is not there (tools/setup.sh bench)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="sonde-http-") as folder, counted_programs():
        os.chmod(folder, 0o755)
        place = Place(folder)
        try:
            rows = [row for row in watchers(os.path.join(args.build, "sonde"), place, folder)
                    if row[0] == "untraced" or not args.only or row[0] == args.only]
            for path in ("/", "/close"):
                rounds = []
                for _ in range(args.rounds):
                    rounds.append({name: measure(place, words, ready, args.seconds, path)
                                   for name, words, ready in rows})
                untraced = statistics.median(r["untraced"][0] for r in rounds)
                print(f"figure\tuntraced, {path}\t{untraced:.0f}\trequests/s", flush=True)
                for name, words, _ in rows:
                    if words:
                        report(name, rounds, path)
        finally:
            place.close()


if __name__ == "__main__":
    main()
