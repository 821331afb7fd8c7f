#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The live page of sonde ui in chromium, the overview and one page open beside many system calls a second: what is
lost is in the ledger, and the page shows that number; nothing complains, and the memory of the page is flat.

  page.py [--rate CALLS] [--seconds S] [--page PATH]

At up to 200,000 calls a second nothing may be lost. An hour is --seconds 3600 --rate 5000.
"""
import argparse
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LOSSLESS = 200_000          # calls a second
SAMPLES = 12                # of memory
GROWTH = 1.10               # of the script's memory, last third of the samples against the first
LOST = "Number((document.querySelector('span.lost')?.textContent || '').replace(/[^0-9]/g, ''))"


def load(args):
    """Calls of one producer per CPU; the number that they made, when they are done."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    tool = f"{args.build}/tests/bench/bench_sys_produce"
    return [subprocess.Popen([tool, str(cpu), str(args.seconds), str(args.rate // len(cpus))],
                             stdout=subprocess.PIPE, text=True) for cpu in cpus]


def script_bytes(page):
    """Of the page's script, with what it no longer needs collected."""
    page.call("HeapProfiler.collectGarbage")
    return page.call("Runtime.getHeapUsage")["usedSize"]


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) << 10


def watch(args, ui, pages):
    """Opens both windows, makes the calls; (made, samples of memory)."""
    for page, path in zip(pages, ("/", args.page)):
        page.open(f"http://127.0.0.1:{ui.port}{path}#t={ui.token}")
        page.wait("document.querySelector('main table') && document.querySelector('span.lost')")
    makers, samples, began = load(args), [], time.monotonic()
    for n in range(SAMPLES):
        time.sleep(max(0, began + (n + 1) * args.seconds / SAMPLES - time.monotonic()))
        samples.append((sum(map(script_bytes, pages)), resident(ui.child.pid)))
    return sum(int(m.communicate()[0]) for m in makers), samples


def lost_by(meta):
    return {cause["cause"]: cause["count"] for cause in meta["lost"] if cause["count"]}


def settled(ui, made):
    """Facts of the server once its reader has come to the last of the calls; the host makes others all the time."""
    deadline = time.monotonic() + 60
    while True:
        meta = ui.get("meta")
        row = next(row for row in meta["ledger"] if row["probe"] == "sys")
        if row["seen"] >= made or time.monotonic() > deadline:
            return meta, row
        time.sleep(1)


def shown(ui, page):
    """(lost by the ledger, by the page), equal once the page has asked again: the server may lose more meanwhile."""
    deadline = time.monotonic() + 60
    while True:
        lost, there = sum(lost_by(ui.get("meta")).values()), page.eval(LOST)
        if lost == there or time.monotonic() > deadline:
            return lost, there
        time.sleep(0.2)


class Report:
    """Lines of the long runs; exit status 1 when one does not hold."""

    def __init__(self):
        self.bad = 0

    def check(self, what, holds, said=""):
        self.bad += not holds
        print(f"{'ok' if holds else 'FAILED'}\t{what}\t{said}", flush=True)


def judge(args, ui, pages, made, samples):
    report = Report()
    meta, row = settled(ui, made)
    lost = sum(lost_by(meta).values())
    report.check("every call is in the ledger", row["seen"] >= made, f"made {made}, {row}")
    report.check("each in one column",
                 row["seen"] == row["delivered"] + row["filtered"] + row["sampled"] + row["lost"])
    if args.rate <= LOSSLESS:
        report.check("nothing is lost", lost == 0, str(lost_by(meta)))
    for page, path in zip(pages, ("/", args.page)):
        lost, there = shown(ui, page)
        report.check(f"{path} shows every loss", lost == there, f"{lost} {lost_by(meta)}")
        report.check(f"{path} has no complaint", page.problems == [], str(page.problems[:3]))
    third = SAMPLES // 3
    first, last = (sum(s[0] for s in part) / third for part in (samples[:third], samples[-third:]))
    report.check("memory of the scripts is flat", last <= first * GROWTH,
                 f"{first / 1e6:.1f} MB, then {last / 1e6:.1f} MB")
    print(f"-\tserver's memory\t{samples[0][1] >> 20} MiB, then {samples[-1][1] >> 20} MiB")
    print(f"-\tcalls\t{made / args.seconds:,.0f} a second for {args.seconds} s, load {os.getloadavg()[0]:.1f}")
    return report.bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--rate", type=int, default=200_000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--page", default="/syscalls")
    parser.add_argument("--set", default="sys", dest="probes")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    os.environ["SONDE"] = f"{args.build}/sonde"
    sys.path[:0] = [os.path.join(ROOT, "tests", name) for name in ("e2e", "ui")]
    import browser              # pylint: disable=import-outside-toplevel  below the path that is set above
    from ui_client import Ui    # pylint: disable=import-outside-toplevel  it reads SONDE when it is loaded
    chromium = browser.Browser()
    try:
        with Ui("--agent=no", "--set", args.probes) as ui:
            pages = [chromium.page(window=True) for _ in range(2)]
            sys.exit(1 if judge(args, ui, pages, *watch(args, ui, pages)) else 0)
    finally:
        chromium.close()


if __name__ == "__main__":
    main()
