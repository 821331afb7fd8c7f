#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Two hosts write to a ClickHouse server each; either server gives back what their agents recorded. Needs root.
  shards.py [--sonde build/sonde] [--rows 10000000] [--set net,sys,call:source=http]
A host is a network and a UTS namespace with an agent: a client of it writes packets, system calls and calls into a
recording and into the database at once, until the servers, shards of one cluster, have so many rows. Then the events
that `-r clickhouse://` of one server reads of a host, half of them from the other server, are compared as JSON with
those of the recording. Prints rows, events and bytes; exit status 1 if an event differs, or a row is there twice or
missing."""
import argparse
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))

READY_S = 60
ENDED = 128 + signal.SIGTERM      # of a run that had no end of its own
LINES = 100_000     # compared at a time
HOSTS = "web1", "web2"
ROWS = "SELECT sum(rows) FROM system.parts WHERE active AND database = 'fleet'"
LOAD = """
import http.client, http.server, os, socket, threading
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(404 if self.path.endswith("7") else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = http.client.HTTPConnection("127.0.0.1", 8000)
receiver, sender = (socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) for _ in range(2))
receiver.bind(("::1", 0))
sender.connect(receiver.getsockname())
for n in range(1 << 62):
    for size in range(1, 200, 20):
        sender.send(b"x" * size)
        receiver.recv(200)
        os.close(os.open("/etc/hosts", os.O_RDONLY))
    if n % 10 == 0:
        client.request("GET", "/page/%d" % n)
        client.getresponse().read()
"""


class Host:
    """A host's namespaces, agent, load, and the run of sonde that writes its events to two places."""

    def __init__(self, name, server, folder, probes):
        import helpers
        self.name, self.server, self.ns = name, server, helpers.Netns()
        self.recording, sockets = f"{folder}/{name}.rec", f"{folder}/run-{name}"
        self.children, sonde = [], helpers.BINARY
        self.start("agent", sonde, "agent", "--socket-dir", sockets)
        end = time.monotonic() + READY_S
        while not os.path.exists(f"{sockets}/control.sock"):
            if time.monotonic() > end:
                raise SystemExit(f"the agent of {name} does not start")
            time.sleep(0.1)
        self.start("load", "nsenter", f"--net={self.ns.path}", "/usr/bin/python3", "-c", LOAD)
        self.start("record", sonde, f"--agent={sockets}/control.sock", "record", "--set", probes, "--netns",
                   self.ns.path, "-q", "-o", f"rec:{self.recording}", "-o",
                   f"clickhouse:{server.url('fleet')}?spool={folder}/spool-{name}&spool-size=4G")

    def start(self, what, *words):
        """With the host's name; the last one started ends first."""
        inside = ("unshare", "--uts", "sh", "-c", f'hostname {self.name}; exec "$@"', "sh", *words)
        self.children.insert(0, (what, subprocess.Popen(inside)))

    def close(self):
        """The run that records, the load, the agent; [what did not end well]."""
        bad = []
        for what, child in self.children:
            child.terminate()
            if child.wait() not in (0, -signal.SIGTERM if what == "load" else ENDED):
                bad.append(f"{what} of {self.name} ended with {child.returncode}")
        self.children = []
        self.ns.close()
        return bad


def events(sonde, source):
    return subprocess.Popen([sonde, "record", "-q", "-r", source, "--json"], stdout=subprocess.PIPE)


def compare(sonde, host, base):
    """(events, bytes of JSON, events that differ) of what a server gives back and of the recording."""
    made, back = events(sonde, host.recording), events(sonde, f"clickhouse://{base}/fleet_all?host={host.name}")
    count = size = differ = 0
    while True:
        ours, theirs = (list(itertools.islice(one.stdout, LINES)) for one in (made, back))
        if not ours and not theirs:
            break
        count, size = count + len(ours), size + sum(map(len, ours))
        if ours != theirs:
            differ += sum(a != b for a, b in itertools.zip_longest(ours, theirs))
    return count, size, differ + (made.wait() != 0) + (back.wait() != 0)


def run(args, folder, servers):
    hosts, bad = [], []
    try:
        for name, server in zip(HOSTS, servers):
            subprocess.run([args.sonde, "clickhouse", "init", server.url("fleet"), "--cluster", "both"], check=True,
                           stdout=subprocess.DEVNULL)
            hosts.append(Host(name, server, folder, args.set))
        rows = 0
        while rows < args.rows:
            time.sleep(1)
            rows = sum(int(one.rows(ROWS, "fleet")[0][0] or 0) for one in servers)
            for host in hosts:
                for what, child in host.children:
                    if child.poll() is not None:
                        raise SystemExit(f"{what} of {host.name} ended")
    finally:
        for host in hosts:
            bad += host.close()
    for host in hosts:
        kinds = {table: counts for table, counts in host.server.holes("fleet").items() if table != "ledger"}
        total, twice, missing = (sum(counts[i] for counts in kinds.values()) for i in range(3))
        print(f"{host.name}: {total} rows, {twice} twice, {missing} missing: " +
              ", ".join(f"{table} {counts[0]}" for table, counts in sorted(kinds.items())), flush=True)
        bad += [f"rows of {host.name} are there twice or missing"] if twice or missing else []
        for server in servers:
            count, size, differ = compare(args.sonde, host, server.base)
            print(f"{host.name} by {server.base}: {count} events, {size / 1e9:.2f} GB of JSON, {differ} differ",
                  flush=True)
            bad += [f"{differ} events of {host.name} differ"] if differ or not count else []
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sonde", default=os.path.join(ROOT, "build", "sonde"))
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--set", default="net,sys,call:source=http")
    args = parser.parse_args()
    os.environ["SONDE"] = args.sonde
    import clickhouse_server
    with tempfile.TemporaryDirectory(prefix="sonde-shards-") as folder:
        servers = clickhouse_server.cluster(f"{folder}/servers", "both", ["127.0.0.1", "127.0.0.2"])
        try:
            bad = run(args, folder, servers)
        finally:
            for one in servers:
                one.kill()
    for text in bad:
        print(f"FAILED: {text}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
