# SPDX-License-Identifier: GPL-2.0-or-later
"""The README's five lines from a slow service to a throttled interface, as they stand, on one that is throttled."""
import os
import re
import subprocess

import helpers

SERVER = """
import http.server

open("/proc/self/comm", "w").write("storage")

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *words):
        pass

server = http.server.HTTPServer(("10.9.0.2", 8000), Handler)
print("ready", flush=True)
server.serve_forever()
"""
# Small requests, and every twentieth larger than the interface's queue; until the standard input ends.
CLIENT = """
import http.client, select, sys

open("/proc/self/comm", "w").write("uploads")
conn, n = http.client.HTTPConnection("10.9.0.2", 8000), 0
while not select.select([sys.stdin], [], [], 0.002)[0]:
    n += 1
    conn.request("POST", "/upload", bytes(200 if n % 20 else 200_000))
    conn.getresponse().read()
print(n)
"""


def five_lines():
    with open(os.path.join(helpers.ROOT, "README.md"), encoding="utf-8") as f:
        block = re.search(r"```\n(sonde record -w slow .*?)```", f.read(), re.S).group(1)
    return block.splitlines()


def run_line(ns, line, folder):
    """Standard output of the line in a shell of the namespace."""
    env = {**os.environ, "PATH": os.path.dirname(helpers.BINARY) + ":" + os.environ["PATH"], "NO_COLOR": "1"}
    done = ns.run("sh", "-c", line, cwd=folder, env=env, timeout=120, check=False)
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    return done.stdout


def test_five_lines_find_the_throttled_interface(netns, tmp_path):
    here, there = netns(), netns()
    helpers.sh("ip", "link", "add", "eth0", "netns", here.name, "type", "veth", "peer", "eth0", "netns", there.name)
    for ns, ip in ((here, "10.9.0.1/24"), (there, "10.9.0.2/24")):
        ns.run("ip", "addr", "add", ip, "dev", "eth0")
        ns.run("ip", "link", "set", "eth0", "up")
    here.run("tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", "10mbit", "burst", "32k", "latency", "30ms")
    server = there.python_popen(SERVER)
    assert server.stdout.readline() == "ready\n"
    client = here.python_popen(CLIENT, stdin=subprocess.PIPE)
    record, *rest = five_lines()
    assert len(rest) == 4
    run_line(here, record, tmp_path)
    calls, errors = client.communicate("", timeout=60)
    assert int(calls) > 60, errors
    explained, traced, dropped, queue = [run_line(here, line, tmp_path) for line in rest]
    cause = r"^ +\d+\.\d+ ms .* uploads calls POST /upload: (retransmission|network)$"
    assert re.search(cause, explained, re.M), explained
    assert re.search(r"POST /upload  \d+\.\d+ ms  200 .*\n", traced) and "drop QDISC_DROP" in traced, traced
    assert re.search(r"^.* xx drop \(QDISC_DROP\) at \w+ eth0: 10\.9\.0\.1:\d+ -> 10\.9\.0\.2:8000 ", dropped, re.M)
    assert re.search(r"qdisc tbf .*rate 10Mbit.*\n.*dropped [1-9]", queue)
