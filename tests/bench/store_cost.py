#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Records packets, flows, samples, waits, system calls and RPCs of a mixed load for some seconds, and has
bench_store_cost write and read them as a store."""
import argparse
import os
import subprocess
import sys
import tempfile

SECONDS = 8
LOAD = """
import os, socket, subprocess, time
end = time.monotonic() + %d
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
while time.monotonic() < end:
    subprocess.run(["ls", "-R", "/etc"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(200):
        with socket.create_connection(server.getsockname()) as one, server.accept()[0] as other:
            one.send(b"x" * 100)
            other.recv(200)
    sum(range(10 ** 6))
""" % SECONDS


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, "mixed.rec")
        subprocess.run([os.path.join(args.build, "sonde"), "--agent=no", "record", "-q", "-o", f"rec:{recording}",
                        "--set", "net,net:flows,cpu,cpu:off-cpu,sys,rpc", "--", sys.executable, "-c", LOAD],
                       check=True, stderr=subprocess.DEVNULL)
        return subprocess.run([os.path.join(args.build, "tests/bench/bench_store_cost"), recording],
                              check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
