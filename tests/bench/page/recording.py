#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde ui over a recording of a gigabyte: how long until it answers with a part, and until all of it is read; the
part that it says is never less than before.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [os.path.join(ROOT, "tests", name) for name in ("bench", "e2e")]
import veth  # noqa: E402  found by the line above

RATE = 400_000      # calls a second, of which some may be lost: it is the bytes that count


def record(args, path):
    """Adds calls until the file is large enough."""
    sonde = veth.start([f"{args.build}/sonde", "syscalls", "syscall.name=getppid", "--agent=no", "-v", "-o",
                        f"rec:{path}"], "ready")
    while os.path.getsize(path) < args.megabytes << 20:
        subprocess.run([f"{args.build}/tests/bench/bench_sys_produce", "0", "2", str(RATE)], check=True,
                       stdout=subprocess.DEVNULL)
    veth.stop(sonde)


def measure(path):
    """(seconds to the first answer with rows, to the end, parts that were said, events)."""
    from ui_client import Ui    # pylint: disable=import-outside-toplevel  it reads SONDE when it is loaded
    began, first, parts = time.monotonic(), None, []
    with Ui("-r", path) as ui:
        while True:
            body = json.loads(ui.ask("/api/v1/view/syscalls?series=calls")[2])
            first = first or (time.monotonic() - began if body.get("rows") else None)
            if "reading" not in body:
                break
            parts.append(body["read"])
        whole, meta = time.monotonic() - began, ui.get("meta")
    return first, whole, parts, meta["events"] + meta["gone"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--megabytes", type=int, default=1024)
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    os.environ["SONDE"] = f"{args.build}/sonde"
    with tempfile.TemporaryDirectory(prefix="sonde-page-") as folder:
        os.chmod(folder, 0o755)     # the reader has no rights
        path = os.path.join(folder, "large.rec")
        record(args, path)
        first, whole, parts, events = measure(path)
    print(f"figure\trecording of {args.megabytes} MB\t{events / 1e6:.1f}\tM events")
    print(f"ratio\tuntil a part is shown, s\t{first:.2f}\t<=\t2.00")
    print(f"ratio\tuntil all is read, s\t{whole:.1f}\t<=\t40.0")
    print(f"check\tparts are said, and grow\t{'right' if parts and parts == sorted(parts) else 'WRONG'}")
    print(f"note\t{len(parts)} answers meanwhile; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs", flush=True)


if __name__ == "__main__":
    main()
