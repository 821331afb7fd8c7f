#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""User CPU time per event of a replay in each format, over the same 700,000 read() calls, against sysdig's time to
print the same calls, each entered and returned.
"""
import argparse
import os
import subprocess
import tempfile

CALLS = 700000
ROUNDS = 3
# format, options, the bound of its ratio to sysdig -r
FORMATS = [
    ("decoding", ["-o", "null"], 0.08),
    ("rec", ["-o", "rec:/dev/null"], 0.08),
    ("text", ["-o", "text:/dev/null"], 0.16),
    ("strace", ["--format", "strace", "-o", "text:/dev/null"], 0.14),
    ("scap", ["-o", "scap:/dev/null"], 0.17),
    ("sysdig", ["--format", "sysdig", "-o", "text:/dev/null"], 0.33),
    ("json", ["-o", "json:/dev/null"], 0.28),
]


def record(sonde, output):
    """Every call in one recording: the ring has room for all of them."""
    load = ["dd", "if=/dev/zero", "of=/dev/null", "bs=64", f"count={CALLS}", "status=none"]
    watch = [sonde, "syscalls", "--agent=no", "-q", "--ring-size", "256M", "-o", output, "syscall.name=read", "--"]
    subprocess.run(watch + load, check=True)


def user_us(command):
    """User CPU time per call, in microseconds."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = status
    assert status == 0, command
    return usage.ru_utime * 1e6 / CALLS


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", required=True)
    sonde = f"{parser.parse_args().build}/sonde"
    with tempfile.TemporaryDirectory() as folder:
        rec, scap = f"{folder}/reads.rec", f"{folder}/reads.scap"
        record(sonde, f"rec:{rec}")
        record(sonde, f"scap:{scap}")
        rounds = [{name: user_us(words) for name, words in
                   [("sysdig -r", ["sysdig", "-r", scap])] +
                   [(name, [sonde, "syscalls", "-r", rec, *options]) for name, options, _ in FORMATS]}
                  for _ in range(ROUNDS)]
    least = {name: min(times[name] for times in rounds) for name in rounds[0]}
    for name, us in least.items():
        print(f"figure\t{name}: user CPU time\t{us:.3f}\tus a call")
    for name, _, bound in FORMATS:
        print(f"ratio\t{name}, of sysdig -r\t{least[name] / least['sysdig -r']:.2f}\t<=\t{bound:.2f}")


if __name__ == "__main__":
    main()
