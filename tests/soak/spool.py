#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows for a ClickHouse server that is away wait in the spool and come in their order. Needs root.
  spool.py [--sonde build/sonde] [--seconds 180] [--packets 5000] [--full-seconds 30] [--full-size 64M]
The server is killed, comes back after so many seconds beside so many packets a second (each is four rows: by default
an hour of 1,000 rows a second), and then the packets end. The same again with a spool that is too small: what is
missing is exactly what the ledger says is lost. Prints rows, the spool's size, the speed of the replay; exit status 1
if a row is there twice, missing and not said, out of order, late, or the spool is over its size."""
import argparse
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))

SPEED = 100_000     # rows a second, at least, of a replay that takes longer than a second
BLOCK_S = 5         # rows wait as long for their block
DRAINED_S = 300
LEDGER_BYTES = 65536    # its blocks are not counted as over the limit
UNITS = {"K": 10, "M": 20, "G": 30}
# as doc/FLEET.md has it
LEDGER = """SELECT tbl, sum(m), sum(d), sum(l) FROM (
SELECT tbl, max(made) AS m, max(delivered) AS d, max(lost_queue + lost_spool + lost_refused + lost_unreached) AS l
FROM ledger GROUP BY host, run, of_run, tbl) GROUP BY tbl"""


def spooled(folder):
    """Bytes and blocks; a file may go meanwhile."""
    sizes = []
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                sizes.append(os.path.getsize(os.path.join(path, name)))
            except FileNotFoundError:
                pass
    return sum(sizes), len(sizes)


class Away:
    """A run of sonde into a database of its own, whose server goes and comes back."""

    def __init__(self, sonde, server, ns, folder, db):
        self.sonde, self.server, self.ns, self.db = sonde, server, ns, db
        self.spool, self.bad, self.one = os.path.join(folder, f"spool-{db}"), [], None

    def expect(self, right, what):
        if not right and what not in self.bad:
            self.bad.append(what)

    def rows(self):
        return int(self.server.rows(f"SELECT sum(rows) FROM system.parts WHERE active AND database = '{self.db}' AND "
                                    "table NOT IN ('run', 'ledger')", self.db)[0][0] or 0)

    def start(self, limit):
        subprocess.run([self.sonde, "clickhouse", "init", self.server.url(self.db)], check=True,
                       stdout=subprocess.DEVNULL)
        self.one = subprocess.Popen([
            self.sonde, "--agent=no", "monitor", "-i", "lo", "--netns", self.ns.path, "-q", "-o",
            f"clickhouse:{self.server.url(self.db)}?spool={self.spool}&spool-size={limit}"])
        while not self.rows():
            if self.one.poll() is not None:
                raise SystemExit("sonde did not start")
            time.sleep(0.1)

    def most_in_spool(self, seconds):
        most, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.2)
            most = max(most, spooled(self.spool)[0])
        return most

    def run(self, seconds, limit, packets):
        traffic = self.ns.datagrams(packets)
        self.start(limit)
        self.server.kill()
        most = self.most_in_spool(seconds)
        traffic.terminate()
        traffic.wait()
        most = max(most, self.most_in_spool(BLOCK_S + 2))
        waiting = spooled(self.spool)[1]
        self.server.start()
        before = time.monotonic()
        first_s, had = self.drained()
        came, took = self.rows() - had, time.monotonic() - first_s
        self.one.terminate()
        self.one.wait()
        may = (int(limit[:-1]) << UNITS[limit[-1]]) + LEDGER_BYTES
        self.expect(most <= may, f"the spool had {most} bytes of {limit}")
        self.expect(not spooled(self.spool)[1], "blocks are left in the spool")
        self.expect(took < 1 or came / took >= SPEED, "the replay is slow")
        print(f"{self.db}: {seconds:.0f} s away, {waiting} blocks, at most {most / 2**20:.1f} MiB of {limit} in the "
              f"spool; the first comes {first_s - before:.1f} s after the server, {came} rows in {took:.1f} s "
              f"({came / took:.0f} a second)", flush=True)

    def drained(self):
        """Waits until nothing but a block of the ledger waits; (time, rows before) of the first that came."""
        had, first_s, end = self.rows(), 0, time.monotonic() + DRAINED_S
        while not first_s or spooled(self.spool)[1] > 1:
            if time.monotonic() > end:
                self.expect(False, "the spool does not drain")
                break
            first_s = first_s or (time.monotonic() if self.rows() > had else 0)
            for table in ("record", "net_trace") if self.db == "whole" else ():
                n, last = self.server.rows(f"SELECT count(), max(seq) + 1 FROM {table}", self.db)[0]
                self.expect(n in ("0", last), f"{table} is out of order: {n} rows up to number {last}")
            time.sleep(0.1)
        return first_s or time.monotonic(), had

    def judge(self):
        """Rows against their numbers, and both against the ledger."""
        holes = self.server.holes(self.db)
        ledger = {table: tuple(map(int, counts)) for table, *counts in self.server.rows(LEDGER, self.db)}
        rows, twice, missing = (sum(h[i] for h in holes.values()) for i in range(3))
        lost = sum(counts[2] for counts in ledger.values())
        print(f"{self.db}: {rows} rows, {twice} twice, {missing} missing; the ledger says {lost} lost", flush=True)
        self.expect(not twice, "rows are there twice")
        self.expect(bool(missing) == (self.db == "full"), f"{missing} rows are missing")
        for table in holes.keys() | ledger.keys():
            n, _, gaps = holes.get(table, (0, 0, 0))
            made, delivered, gone = ledger.get(table, (0, 0, 0))
            if table != "ledger":   # its last rows do not count themselves
                self.expect((made, delivered, gone) == (n + gaps, n, gaps),
                            f"{table}: {n} rows, {gaps} missing; the ledger says {made} made, {delivered} delivered, "
                            f"{gone} lost")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sonde", default=os.path.join(ROOT, "build", "sonde"))
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--packets", type=float, default=5000)
    parser.add_argument("--full-seconds", type=float, default=30)
    parser.add_argument("--full-size", default="64M")
    args = parser.parse_args()
    os.environ["SONDE"] = args.sonde
    import clickhouse_server
    import helpers
    ns, bad = helpers.Netns(), []
    with tempfile.TemporaryDirectory(prefix="sonde-spool-") as folder:
        server = clickhouse_server.Server(f"{folder}/server")
        try:
            for db, seconds, limit in (("whole", args.seconds, "1G"), ("full", args.full_seconds, args.full_size)):
                away = Away(args.sonde, server, ns, folder, db)
                try:
                    away.run(seconds, limit, args.packets)
                    away.judge()
                finally:
                    if away.one and away.one.poll() is None:
                        away.one.kill()
                        away.one.wait()
                bad += [f"{db}: {what}" for what in away.bad]
        finally:
            server.kill()
            ns.close()
    for text in bad:
        print(f"FAILED: {text}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
