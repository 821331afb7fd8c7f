#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""TCP request/response over veth, one byte each way: with the flight recorder of `sonde capture --keep` armed, with
programs that do nothing, with `sonde monitor -o pcapng`, with `tcpdump -w`, each at the server's interface, against
unwatched. Round trips a second, and the CPU time that one takes of client and server, what its packets cost included.

Two clients with a server each take turns (twins.py), one of the two pairs is watched; "nothing" watches neither and
says what the measurement itself is worth. All four share one CPU: left alone, the scheduler now pairs and now parts
them, and that alone changes the rate threefold. The watcher may run anywhere. What those that write files wrote is
counted too: a capture that lost half is not cheaper.
"""
import argparse
import contextlib
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import time

from twins import Row, Watcher, cpu_s
from veth import Veth

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PORT = "5201"
# Of two packets a round trip, those of the handshake and of the last one apart.
WHOLE = 0.99


class Place:
    """A client and, at the far end of a veth pair, its server. A twin: it works between go() and pause()."""

    def __init__(self, build, number, folder):
        self.folder = os.path.join(folder, str(number))
        os.mkdir(self.folder)
        self.net = Veth(f"r{number}", f"10.99.{number}")
        program = os.path.join(build, "tests", "bench", "tcp_rr")
        self.server = subprocess.Popen(self.net.words(1, program, "server", PORT, cpu=0), stdout=subprocess.PIPE)
        if not self.server.stdout.readline():
            sys.exit("the server did not start")
        path = os.path.join(self.folder, "trips")
        self.client = subprocess.Popen(self.net.words(0, program, "client", self.net.ips[1], PORT, path, cpu=0))
        self.wait(lambda: os.path.exists(path) and os.path.getsize(path))
        with open(path, "rb") as f:
            self.trips = memoryview(mmap.mmap(f.fileno(), 8, prot=mmap.PROT_READ)).cast("Q")
        self.wait(lambda: self.trips[0])
        self.pause()

    def wait(self, fact):
        while not fact():
            if self.client.poll() is not None:
                sys.exit("the client did not start")
            time.sleep(0.01)

    def go(self):
        self.client.send_signal(signal.SIGCONT)

    def pause(self):
        self.client.send_signal(signal.SIGSTOP)

    def counts(self):
        return self.trips[0], cpu_s(self.server.pid) + cpu_s(self.client.pid)

    def close(self):
        for child in (self.client, self.server):
            child.kill()
            child.wait()
        self.net.close()


class Writer(Watcher):
    """A watcher that writes packets to a file."""

    shares = {}     # of its name: of the packets that there were, those in the file

    def __init__(self, name, words, ready, place, path):
        super().__init__(words, ready)
        self.name, self.place, self.path, self.before = name, place, path, place.trips[0]

    def stop(self):
        super().stop()
        out = subprocess.run(["tcpdump", "-nn", "-r", self.path], capture_output=True, text=True, check=False).stdout
        share = out.count("\n") / (2 * (self.place.trips[0] - self.before))
        self.shares.setdefault(self.name, []).append(share)


def watchers(build, place):
    """Name -> what starts it at @place; None = nothing is to be started."""
    sonde, empty = (os.path.join(build, name) for name in ("sonde", "tests/bench/bench_empty_tc"))
    dev, out = place.net.devs[1], os.path.join(place.folder, "out")
    inside = ["-i", dev, "--netns", place.net.names[1], "--agent=no"]
    keep = [sonde, "capture", *inside, "--keep", "5s", "--on", "drop.reason=NO_SOCKET", "-w", out]
    monitor = [sonde, "monitor", *inside, "-o", f"pcapng:{out}", "tcp", "port", PORT]
    dump = place.net.words(1, "tcpdump", "-i", dev, "-w", out, "-U", "tcp", "port", PORT)
    return {
        "nothing": None,
        "recorder armed": lambda: Watcher(keep, "ready"),
        "empty programs": lambda: Watcher(place.net.words(1, empty, dev), "ready"),
        "monitor -o pcapng": lambda: Writer("monitor -o pcapng", monitor, "ready", place, out),
        "tcpdump -w": lambda: Writer("tcpdump -w", dump, "listening on", place, out),
    }


def report(name, row):
    rate, least, most = row.figures(0)
    if name == "recorder armed":
        print(f"ratio\t{name}: round trips/s against unwatched\t{rate:.3f}\t>=\t0.95")
    else:
        print(f"figure\t{name}: round trips/s against unwatched\t{rate:.3f}\t")
    print(f"note\twith 95 %: {least:.3f} to {most:.3f}")
    cpu, least, most = row.figures(1)
    own = sum(row.own) / len(row.own)
    print(f"figure\t{name}: CPU per round trip\t{cpu:.3f}\t")
    print(f"note\twith 95 %: {least:.3f} to {most:.3f}")
    print(f"figure\t{name}: the watcher's own, of a round trip's\t{own:.3f}\t")
    for share in Writer.shares.get(name, ()):
        print(f"check\t{name}: wrote {share:.4f} of the packets\t{'ok' if share >= WHOLE else 'WRONG'}")


def report_rate(place):
    before = place.counts()
    place.go()
    time.sleep(1)
    place.pause()
    trips, cpu = (b - a for a, b in zip(before, place.counts()))
    print(f"figure\tunwatched\t{trips}\tround trips/s")
    print(f"figure\tunwatched: CPU per round trip\t{cpu / trips * 1e6:.2f}\tus", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--pairs", type=int, default=60, help="of turns, for each twin that is watched")
    parser.add_argument("--only", help="these watchers, with commas")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sonde-rr-") as folder, contextlib.ExitStack() as ends:
        os.chmod(folder, 0o755)
        places = []
        for number in range(2):
            places.append(Place(args.build, number, folder))
            ends.callback(places[-1].close)
        report_rate(places[0])
        for name in args.only.split(",") if args.only else watchers(args.build, places[0]):
            pairs = args.pairs if name in ("nothing", "recorder armed", "empty programs") else args.pairs // 4
            report(name, Row(places, lambda place, name=name: watchers(args.build, place)[name], pairs))


if __name__ == "__main__":
    main()
