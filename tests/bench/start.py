#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a start costs: CPU time of each command until it is ready, which is the verifier's for the most part, against
that of `sonde monitor`. A branch too many in a program that loops can take a second."""
import argparse
import os
import statistics

import veth
from twins import cpu_s

ROUNDS = 5
# command: bound of its ratio to monitor, which is the unit
COMMANDS = {
    "monitor": None, "flows": 1.2, "syscalls": 1, "rpc --source http": 2.5, "rpc --source go": 1,
    "record --set full": 4,
}


def start(sonde, words):
    """CPU seconds until it is ready."""
    child = veth.start([sonde, *words.split(), "--agent=no", "-o", "null"], "ready")
    with veth.ending(child):
        return cpu_s(child.pid)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", required=True)
    sonde = os.path.join(parser.parse_args().build, "sonde")
    took = {words: [] for words in COMMANDS}
    for _ in range(ROUNDS):
        for words, seconds in took.items():
            seconds.append(start(sonde, words))
    monitor = statistics.median(took["monitor"])
    for words, bound in COMMANDS.items():
        value = statistics.median(took[words])
        print(f"figure\t{words}: CPU time until it is ready\t{value:.2f}\ts")
        if bound:
            print(f"ratio\t{words}: against monitor\t{value / monitor:.2f}\t<=\t{bound:.2f}")


if __name__ == "__main__":
    main()
