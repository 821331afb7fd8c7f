#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde top on a terminal: stopped by Ctrl-S for ten seconds beside 100,000 calls a second, of which none may be
lost; and at 160 x 50, ten pictures a second of fifty busy processes, the bytes and the CPU time of a picture.
"""
import argparse
import os
import re
import subprocess
import sys
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))

MAKER = "bench_sys_produ"       # its name as the kernel cuts it
COMMANDS = {"top files": ("top", "files", f"proc.name={MAKER}"),
            "syscalls --top": ("syscalls", "--top", "--where", f"proc.name={MAKER}")}
LOAD = """
import os, sys, time
open("/proc/self/comm", "w").write("load" + sys.argv[1])
while True:
    for _ in range(20):
        os.getppid()
        os.stat("/")
    time.sleep(0.05)
"""
WATCH_S, INTERVAL_S = 10, 0.1


def ledger_of(err):
    line = re.search(r"sys: (seen .*)", err)
    assert line, err
    return {name: int(n) for name, n in re.findall(r"(\w+) (\d+)", line[1])}


def stopped(args, name):
    """Its terminal accepts nothing while the calls are made; keys ask for pictures meanwhile."""
    from terminal import Terminal   # pylint: disable=import-outside-toplevel  it reads SONDE
    one = Terminal(*COMMANDS[name], "--agent=no", "-v")
    one.read_until(rb"sonde (top|syscalls)")
    one.flow(termios.TCOOFF)
    os.write(one.master, b"jk")
    made = int(subprocess.run([f"{args.build}/tests/bench/bench_sys_produce", str(args.cpu), str(args.seconds),
                               str(args.rate)], stdout=subprocess.PIPE, check=True, text=True).stdout)
    _, err = one.end()
    ledger = ledger_of(err)
    print(f"figure\t{name}, Ctrl-S for {args.seconds} s: made\t{made / args.seconds / 1000:.0f}\tk/s")
    print(f"check\t{name}: every call is in the ledger\t{'right' if ledger['seen'] >= made else 'WRONG'}")
    print(f"ratio\t{name}: lost of {ledger['seen']}\t{ledger['lost']}\t<=\t0", flush=True)


def cpu_by_thread(pid):
    """{thread: seconds}; the process's first thread reads, another draws."""
    ticks, spent = os.sysconf("SC_CLK_TCK"), {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/stat", encoding="ascii") as f:
            words = f.read().rsplit(")", 1)[1].split()
        spent[int(tid)] = sum(map(int, words[11:13])) / ticks
    return spent


def pictures():
    from screens import Screen      # pylint: disable=import-outside-toplevel  it reads SONDE
    loads = [subprocess.Popen(["/usr/bin/python3", "-c", LOAD, str(i)]) for i in range(50)]
    try:
        one = Screen("top", "--agent=no", "--interval", f"{INTERVAL_S * 1000:.0f}ms", size=(50, 160))
        one.wait(r"\d+ .*python3 -c")
        one.watch(1)
        had, clears, began, cpu = one.bytes, one.clears, time.monotonic(), cpu_by_thread(one.child.pid)
        one.watch(WATCH_S)
        frames = (time.monotonic() - began) / INTERVAL_S
        spent = {tid: s - cpu.get(tid, 0) for tid, s in cpu_by_thread(one.child.pid).items()}
        wide = max(map(len, one.lines()))
        reader = spent.pop(one.child.pid)
        one.end(b"q")
    finally:
        for child in loads:
            child.kill()
            child.wait()
    print(f"ratio\t160 x 50: bytes of a picture\t{(one.bytes - had) / frames:.0f}\t<=\t3072")
    print(f"ratio\t160 x 50: CPU time of a picture, ms\t{sum(spent.values()) * 1000 / frames:.2f}\t<=\t1.50")
    print(f"figure\t160 x 50: the reader beside it\t{reader * 1000 / frames:.2f}\tms a picture")
    print(f"check\t160 x 50: no line wraps, nothing is cleared\t"
          f"{'right' if wide <= 160 and one.clears == clears else 'WRONG'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rate", type=int, default=100_000)
    parser.add_argument("--cpu", type=int, default=0, help="of the program that makes the calls")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    os.environ["SONDE"] = f"{args.build}/sonde"
    for name in COMMANDS:
        stopped(args, name)
    pictures()
    print(f"note\tload {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs", flush=True)


if __name__ == "__main__":
    main()
