#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long `sonde monitor` takes until all of 500 interfaces are watched, and until it has left them; 20 by links
alone for comparison. The interfaces are veth ends in a namespace of its own."""
import argparse
import os
import subprocess
import time

import veth

LINKS, FEW = 500, 20


class Ends:
    """A namespace with @n veth ends that are up."""

    def __init__(self, n):
        self.name = f"sd-attach-{os.getpid()}-{n}"
        veth.sh("ip", "netns", "add", self.name)
        pairs = "".join(f"link add p{i} type veth peer name q{i}\nlink set p{i} up\nlink set q{i} up\n"
                        for i in range(n // 2))
        try:
            subprocess.run(["ip", "-n", self.name, "-batch", "-"], input=pairs, text=True, check=True)
        except BaseException:
            self.close()
            raise

    def close(self):
        subprocess.run(["ip", "netns", "del", self.name], check=False)

    def watch(self, sonde, *words):
        """Seconds until @sonde is ready, and until it has ended."""
        began = time.monotonic()
        child = veth.start([sonde, "monitor", "--netns", self.name, *words], "ready")
        ready = time.monotonic()
        with veth.ending(child):
            asked = time.monotonic()
        return ready - began, time.monotonic() - asked


def measure(sonde, n, *words):
    ends = Ends(n)
    try:
        return ends.watch(sonde, *words)
    finally:
        ends.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    sonde = os.path.join(parser.parse_args().build, "sonde")
    links, _ = measure(sonde, FEW, "--attach", "tcx")
    many, left = measure(sonde, LINKS)
    print(f"figure\t{FEW} interfaces by links\t{links:.2f}\ts")
    print(f"figure\t{LINKS} interfaces\t{many:.2f}\ts")
    print(f"figure\t{LINKS} interfaces left\t{left:.2f}\ts")
    print(f"ratio\tseconds until {LINKS} interfaces are watched\t{many:.2f}\t<=\t2.00")


if __name__ == "__main__":
    main()
