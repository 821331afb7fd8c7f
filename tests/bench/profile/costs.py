# SPDX-License-Identifier: GPL-2.0-or-later
"""What a profiler costs: its own CPU time and memory, what its BPF programs take, how long its user waits."""
import json
import re
import subprocess

import tools

CPU_S, CPU_WINDOW_S, PSS_MB, END_S, BPF_US, FIRST_MS = 1.0, 30.0, 60, 0.5, 10.0, 100
STATS = "/proc/sys/kernel/bpf_stats_enabled"


class BpfMeter:
    """Time in the BPF programs of one process, by program, as the kernel counts it."""

    def __init__(self):
        with open(STATS, encoding="ascii") as f:
            self.before = f.read()
        with open(STATS, "w", encoding="ascii") as f:
            f.write("1")
        self.found = {}

    def read(self, process):
        ids = tools.workloads.bpf_ids(process.child.pid, "prog_id")
        done = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, text=True, check=False)
        for prog in json.loads(done.stdout) if done.returncode == 0 else []:
            if prog["id"] in ids and prog.get("run_cnt"):
                self.found[f"{prog.get('name')} ({prog['type']})"] = (prog["run_time_ns"], prog["run_cnt"])

    def close(self):
        with open(STATS, "w", encoding="ascii") as f:
            f.write(self.before)
        return self.found

    @staticmethod
    def per_sample_us(found):
        """Of the programs that run at each sample."""
        rows = [row for name, row in found.items() if name.endswith("(perf_event)")]
        count = sum(n for _, n in rows)
        return sum(ns for ns, _ in rows) / count / 1000 if count else None


def lost(said):
    """Samples that were lost, by the ledger that sonde prints with -v."""
    return sum(int(n) for n in re.findall(r"cpu: seen .* lost (\d+)", said))


def bounds(report, r, seconds_factor):
    name = r.tool.name
    if r.tool.hz == 999:
        report.bound(f"{name}: CPU seconds per 30 s", r.cpu_s * seconds_factor, "<=", CPU_S, "s")
    report.bound(f"{name}: first sample after start", r.first_ms, "<=", FIRST_MS, "ms")
    report.bound(f"{name}: peak PSS of all its processes", r.pss_kb / 1024, "<=", PSS_MB, "MB")
    report.bound(f"{name}: end of window to exit", r.end_s, "<=", END_S, "s")
    bpf_us = BpfMeter.per_sample_us(r.bpf or {})
    if r.tool.hz == 999:
        report.bound(f"{name}: BPF time per sample", bpf_us, "<=", BPF_US, "us")
    else:       # between two samples others have the caches: what bpftrace pays says how much of it that is
        report.line(f"  {name}: BPF time per sample {bpf_us or 0:.2f} us")
    for prog, (ns, count) in sorted((r.bpf or {}).items()):
        report.line(f"    {prog:40} {count:9} runs {ns / count / 1000:8.2f} us each")


def bpf_ratio(ours, theirs):
    """As text; "" for a tool without programs of BPF."""
    a, b = (BpfMeter.per_sample_us(r.bpf or {}) for r in (ours, theirs))
    return f", BPF per sample {a / b:.2f} ({b:.2f} us)" if a and b else ""


def ratios(report, results):
    """sonde's CPU seconds over those of the peers at the same rate."""
    for r in results:
        for s in results:
            if isinstance(s.tool, tools.Sonde) and not isinstance(r.tool, tools.Sonde) and s.tool.hz == r.tool.hz:
                total = r.cpu_s + r.after_cpu_s
                report.line(f"  {s.tool.name} / {r.tool.name}: CPU {s.cpu_s / total if total else 0:.2f}, "
                            f"peak PSS {s.pss_kb / r.pss_kb if r.pss_kb else 0:.2f}, "
                            f"end to result {s.end_s / r.end_s if r.end_s else 0:.2f}"
                            f"{bpf_ratio(s, r)}")


def table(report, results, seconds):
    report.line(f"  {'cost':18}{'samples':>9}{'lost':>6}{'CPU s':>9}{'+ script':>9}{'PSS MB':>8}{'RSS MB':>8}"
                f"{'data MB':>9}{'end s':>7}")
    for r in results:
        gone = lost(r.tool.said()) if isinstance(r.tool, tools.Sonde) else r.lost
        report.line(f"  {r.tool.name:18}{sum(s.count for s in r.stacks):9}{gone:6}{r.cpu_s:9.2f}{r.after_cpu_s:9.2f}"
                    f"{r.pss_kb / 1024:8.0f}{r.rss_kb / 1024:8.0f}{r.data_bytes / 1e6:9.2f}{r.end_s:7.2f}")
    report.line()
    for r in results:
        if isinstance(r.tool, tools.Sonde):
            bounds(report, r, CPU_WINDOW_S / seconds)
    ratios(report, results)
