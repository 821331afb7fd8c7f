#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""HTTP over veth, wrk to nginx: with `sonde flows` (medium), with `sonde monitor` unfiltered, with `tcpdump -w`, with
programs that do nothing, each at the server's interface, against untraced. Requests a second, and the CPU time that
one request takes of client and server (the kernel's work for their packets, and so the watching programs, is in it)
and of the watcher.

Two clients with a server each take turns (twins.py), one of the two pairs is watched; "nothing" watches neither and
says what the measurement itself is worth. The time that the kernel counts in the programs themselves is taken in a
run of its own, as counting slows every packet.
Clients and servers have one CPU each where there are two; the watcher may run anywhere.
"""
import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from counted import counted_programs, programs_of
from twins import Row, Watcher, cpu_s
from veth import Veth

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
        listen {address}:80 backlog=4096;
        location / {{ return 200 "{body}"; }}
        location /close {{ keepalive_timeout 0; return 200 "{body}"; }}
    }}
    server {{
        listen 127.0.0.1:81;
        location /status {{ stub_status; }}
    }}
}}
"""


class Place:
    """wrk and, at the far end of a veth pair, nginx. A twin: it works between go() and pause()."""

    def __init__(self, number, folder):
        self.folder = os.path.join(folder, str(number))
        os.mkdir(self.folder)
        self.net = Veth(f"h{number}", f"10.98.{number}")
        conf = os.path.join(self.folder, "nginx.conf")
        with open(conf, "w", encoding="ascii") as f:
            f.write(NGINX.format(dir=self.folder, address=self.net.ips[1], body="x" * 512))
        self.server = subprocess.Popen(self.net.words(1, "nginx", "-c", conf, cpu=os.cpu_count() - 1),
                                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.worker = self.wait_for_worker()
        self.client = None
        self.status = self.net.socket(1)
        self.status.connect(("127.0.0.1", 81))

    def wait_for_worker(self):
        while self.server.poll() is None:
            with open(f"/proc/{self.server.pid}/task/{self.server.pid}/children", encoding="ascii") as f:
                children = f.read().split()
            if children:
                return int(children[0])
        sys.exit("nginx did not start")

    def load(self, path):
        """From now on it is @path that is asked for, between go() and pause()."""
        self.unload()
        url = f"http://{self.net.ips[1]}{path}"
        self.client = subprocess.Popen(self.net.words(0, "wrk", "-t1", "-c32", "-d1h", url, cpu=0),
                                       stdout=subprocess.DEVNULL)
        while not self.requests():
            time.sleep(0.01)
        self.pause()

    def unload(self):
        if self.client:
            self.client.kill()
            self.client.wait()

    def go(self):
        self.client.send_signal(signal.SIGCONT)

    def pause(self):
        self.client.send_signal(signal.SIGSTOP)

    def requests(self):
        """So far, as the server counts them."""
        self.status.sendall(b"GET /status HTTP/1.1\r\nHost: x\r\n\r\n")
        text = b""
        while not (found := re.search(rb"requests\s+\d+ \d+ (\d+)\s+Reading", text)):
            text += self.status.recv(4096)
        return int(found[1])

    def counts(self):
        return self.requests(), cpu_s(self.worker) + cpu_s(self.client.pid)

    def close(self):
        self.unload()
        self.server.terminate()
        self.server.wait(10)
        self.net.close()


def watchers(build, place):
    """Name -> what starts it at @place; None = nothing is to be started."""
    sonde, empty = (os.path.join(build, name) for name in ("sonde", "tests/bench/bench_empty_tc"))
    dev = place.net.devs[1]
    inside = ["-i", dev, "--netns", place.net.names[1], "--agent=no", "-o", "null"]
    dump = place.net.words(1, "tcpdump", "-i", dev, "-w", os.path.join(place.folder, "out.pcap"))
    return {
        "nothing": None,
        "flows medium": lambda: Watcher([sonde, "flows", *inside], "ready"),
        "empty programs": lambda: Watcher(place.net.words(1, empty, dev), "ready"),
        "monitor unfiltered": lambda: Watcher([sonde, "monitor", *inside], "ready"),
        "tcpdump -w": lambda: Watcher(dump, "listening on"),
    }


def report(name, row, path):
    where = "" if path == "/" else ", a connection each"
    rate, least, most = row.figures(0)
    if name == "flows medium" and path == "/":
        print(f"ratio\t{name}: requests/s against untraced\t{rate:.3f}\t>=\t0.97")
    else:
        print(f"figure\t{name}{where}: requests/s against untraced\t{rate:.3f}\t")
    print(f"note\twith 95 %: {least:.3f} to {most:.3f}")
    cpu, least, most = row.figures(1)
    own = sum(row.own) / len(row.own)
    print(f"figure\t{name}{where}: CPU per request\t{cpu:.3f}\t")
    print(f"note\twith 95 %: {least:.3f} to {most:.3f}")
    print(f"figure\t{name}{where}: the watcher's own, of a request's\t{own:.3f}\t", flush=True)


def counted(build, place, name, seconds):
    """What the kernel counts of the watcher's programs: ns and runs of a request."""
    with counted_programs():
        watcher = watchers(build, place)[name]()
        before, requests = programs_of(watcher.child.pid), place.requests()
        place.go()
        time.sleep(seconds)
        place.pause()
        after, requests = programs_of(watcher.child.pid), place.requests() - requests
        watcher.stop()
    return [(b - a) / requests for a, b in zip(before, after)]


def report_programs(build, place, path):
    """Counting costs by itself as much as a short program: taken off as the empty ones say."""
    where = "" if path == "/" else ", a connection each"
    seconds, before = 2, place.counts()
    place.go()
    time.sleep(seconds)
    place.pause()
    requests, cpu = (b - a for a, b in zip(before, place.counts()))
    empty_ns, empty_runs = counted(build, place, "empty programs", seconds)
    ns, runs = counted(build, place, "flows medium", seconds)
    each = ns - runs * empty_ns / empty_runs
    print(f"figure\tuntraced{where}\t{requests / seconds:.0f}\trequests/s")
    print(f"figure\tuntraced{where}: CPU per request\t{cpu / requests * 1e6:.1f}\tus")
    print(f"figure\tempty programs{where}: a run, counting included\t{empty_ns / empty_runs:.0f}\tns")
    print(f"figure\tflows medium{where}: runs of its programs\t{runs:.2f}\ta request")
    print(f"figure\tflows medium{where}: time in them, counting included\t{ns:.0f}\tns a request")
    print(f"figure\tflows medium{where}: time in them beyond empty ones\t{each:.0f}\tns a request")
    share = each / cpu * requests / 1e9
    if path == "/":
        print(f"ratio\tflows medium: that, of a request's CPU\t{share:.4f}\t<=\t0.02", flush=True)
    else:
        print(f"figure\tflows medium{where}: that, of a request's CPU\t{share:.4f}\t", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--pairs", type=int, default=120, help="of turns, for each twin that is watched")
    parser.add_argument("--only", help="this watcher only")
    parser.add_argument("--path", help="/ (connections stay) or /close, not both")
    args = parser.parse_args()
    if subprocess.run(["sh", "-c", "command -v wrk nginx"], capture_output=True, check=False).returncode:
        print("note\twrk or nginx is not there (tools/setup.sh bench)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="sonde-http-") as folder, contextlib.ExitStack() as ends:
        os.chmod(folder, 0o755)
        places = []
        for number in range(2):
            places.append(Place(number, folder))
            ends.callback(places[-1].close)
        for path in [args.path] if args.path else ("/", "/close"):
            for place in places:
                place.load(path)
            for name in [args.only] if args.only else watchers(args.build, places[0]):
                pairs = args.pairs if path == "/" and name in ("nothing", "flows medium") else args.pairs // 4
                report(name, Row(places, lambda place, name=name: watchers(args.build, place)[name], pairs), path)
            report_programs(args.build, places[0], path)


if __name__ == "__main__":
    main()
