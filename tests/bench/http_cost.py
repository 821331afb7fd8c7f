#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""HTTP over veth, wrk to nginx: untraced, with `sonde flows` (medium), with `sonde monitor` unfiltered, with
`tcpdump -w`, with programs that do nothing, each at the server's interface. Requests a second, and the CPU time that
one request takes of client and server (the kernel's work for their packets, and so the watching programs, is in it)
and of the watcher.

Rounds are interleaved and each is compared with the untraced one before it; the figure is the median of the ratios.
On a busy machine these move by more than the programs cost; the time that the kernel counts in the programs
themselves moves less. It is taken in a run of its own, as counting slows every packet.
Client and server have one CPU each where there are two; the watcher may run anywhere.
"""
import argparse
import contextlib
import os
import re
import statistics
import subprocess
import sys
import tempfile

from veth import Veth, start, stop

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


class Place:
    """nginx at the far end of a veth pair."""

    def __init__(self, folder):
        self.net = Veth("ht", "10.98.0")
        conf = os.path.join(folder, "nginx.conf")
        with open(conf, "w", encoding="ascii") as f:
            f.write(NGINX.format(dir=folder, body="x" * 512))
        self.server = subprocess.Popen(self.net.words(1, "nginx", "-c", conf, cpu=os.cpu_count() - 1),
                                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.worker = self.wait_for_worker()

    def wait_for_worker(self):
        while self.server.poll() is None:
            with open(f"/proc/{self.server.pid}/task/{self.server.pid}/children", encoding="ascii") as f:
                children = f.read().split()
            if children:
                return int(children[0])
        sys.exit("nginx did not start")

    def close(self):
        self.server.terminate()
        self.server.wait(10)
        self.net.close()


def cpu_s(pid):
    """Seconds on a CPU so far, to the nanosecond."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total / 1e9


def programs(pid):
    """What the kernel has counted of the BPF programs that a process holds: ns on CPUs, runs."""
    folder, ns, runs = f"/proc/{pid}/fdinfo", {}, {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="ascii", errors="replace") as f:
            info = dict(line.split(":", 1) for line in f if ":" in line)
        if "prog_id" in info and "run_cnt" in info:     # links have the id alone
            number = int(info["prog_id"])
            ns[number], runs[number] = int(info["run_time_ns"]), int(info["run_cnt"])
    return sum(ns.values()), sum(runs.values())


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
    out = subprocess.run(place.net.words(0, "wrk", "-t1", "-c32", f"-d{seconds}s", f"http://10.98.0.2{path}", cpu=0),
                         capture_output=True, text=True, check=True).stdout
    after = os.times()
    requests = int(re.search(r"(\d+) requests in", out)[1])
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1])
    client = after.children_user + after.children_system - children.children_user - children.children_system
    return rate, (client + cpu_s(place.worker) - before) / requests, requests


class Watcher:
    """A process that watches."""

    def __init__(self, words, ready):
        self.child = start(words, ready)

    def cpu_s(self):
        return cpu_s(self.child.pid)

    def stop(self):
        stop(self.child)


def watchers(build, place, folder):
    """Name -> what starts it; None = nothing is to be started."""
    sonde, empty = (os.path.join(build, name) for name in ("sonde", "tests/bench/bench_empty_tc"))
    inside = ["-i", "htb", "--netns", place.net.names[1], "--local", "-o", "null"]
    dump = place.net.words(1, "tcpdump", "-i", "htb", "-w", os.path.join(folder, "out.pcap"))
    return {
        "untraced": None,
        "flows medium": lambda: Watcher([sonde, "flows", *inside], "ready"),
        "empty programs": lambda: Watcher(place.net.words(1, empty, "htb"), "ready"),
        "monitor unfiltered": lambda: Watcher([sonde, "monitor", *inside], "ready"),
        "tcpdump -w": lambda: Watcher(dump, "listening on"),
    }


def measure(place, watcher, seconds, path):
    """Requests a second; CPU seconds of a request, of wrk and nginx and of the watcher."""
    one = watcher() if watcher else None
    own = one.cpu_s() if one else 0
    rate, each, requests = load(place, seconds, path)
    own = one.cpu_s() - own if one else 0
    if one:
        one.stop()
    return rate, each, own / requests


def counted(place, watcher, seconds, path):
    """What the kernel counts of the watcher's programs: ns and runs of a request."""
    with counted_programs():
        one = watcher()
        before = programs(one.child.pid)
        requests = load(place, seconds, path)[2]
        after = programs(one.child.pid)
        one.stop()
    return [(b - a) / requests for a, b in zip(before, after)]


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
    where = "" if path == "/" else ", a connection each"
    rate, cpu, whole = (statistics.median(of(r[name]) / of(r["untraced"]) for r in rounds)
                        for of in (lambda m: m[0], lambda m: m[1], lambda m: m[1] + m[2]))
    if name == "flows medium" and path == "/":
        print(f"ratio\t{name}: requests/s against untraced\t{rate:.3f}\t>=\t0.97")
    else:
        print(f"figure\t{name}{where}: requests/s against untraced\t{rate:.3f}\t")
    print(f"figure\t{name}{where}: CPU per request with the watcher's\t{whole:.3f}\t")
    print(f"figure\t{name}{where}: CPU per request\t{cpu:.3f}\t", flush=True)


def report_programs(place, rows, seconds, path, request_s):
    """Counting costs by itself as much as a short program: taken off as the empty ones say."""
    where = "" if path == "/" else ", a connection each"
    empty_ns, empty_runs = counted(place, rows["empty programs"], seconds, path)
    ns, runs = counted(place, rows["flows medium"], seconds, path)
    each = ns - runs * empty_ns / empty_runs
    print(f"figure\tempty programs{where}: a run, counting included\t{empty_ns / empty_runs:.0f}\tns")
    print(f"figure\tflows medium{where}: runs of its programs\t{runs:.2f}\ta request")
    print(f"figure\tflows medium{where}: time in them, counting included\t{ns:.0f}\tns a request")
    print(f"figure\tflows medium{where}: time in them beyond empty ones\t{each:.0f}\tns a request")
    print(f"ratio\tflows medium{where}: that, of a request's CPU\t{each / request_s / 1e9:.4f}\t<=\t"
          f"{0.02 if path == '/' else 0.1}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--only", help="this watcher only")
    parser.add_argument("--path", help="/ (connections stay) or /close, not both")
    args = parser.parse_args()
    if subprocess.run(["sh", "-c", "command -v wrk nginx"], capture_output=True, check=False).returncode:
        print("note\twrk or nginx is not there (tools/setup.sh bench)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="sonde-http-") as folder:
        os.chmod(folder, 0o755)
        place = Place(folder)
        try:
            rows = watchers(args.build, place, folder)
            names = [name for name in rows if name == "untraced" or not args.only or name == args.only]
            for path in [args.path] if args.path else ("/", "/close"):
                rounds = [{name: measure(place, rows[name], args.seconds, path) for name in names}
                          for _ in range(args.rounds)]
                rate, request_s = (statistics.median(r["untraced"][i] for r in rounds) for i in (0, 1))
                print(f"figure\tuntraced, {path}\t{rate:.0f}\trequests/s", flush=True)
                for name in names[1:]:
                    report(name, rounds, path)
                if "flows medium" in names:
                    report_programs(place, rows, args.seconds, path, request_s)
        finally:
            place.close()


if __name__ == "__main__":
    main()
