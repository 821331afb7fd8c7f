# SPDX-License-Identifier: GPL-2.0-or-later
"""Profilers, run alike: start, window, SIGINT, what follows; what that cost and what came out.

CPU seconds are those of the tool and of its children as the kernel accounts them (what BPF programs take in a
sample's interrupt is charged to whoever was interrupted, for every tool alike).

Peak memory: PSS is the largest sum over the processes that were there together, pages that a forked worker shares
with its maker counted once; it is looked at every 20 ms. RSS is the largest sum of the peaks of each, shared pages
counted in every one of them: an upper bound.
"""
import mmap
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

import judge

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "workloads"))
import workloads  # noqa: E402  found by the line above

POLL_S = 0.02
END_S = 120     # what perf script may take


def field_kb(path, name):
    try:
        with open(path, encoding="ascii", errors="replace") as f:
            return next((int(line.split()[1]) for line in f if line.startswith(name)), 0)
    except OSError:
        return 0


def memory_kb(pid):
    """Of a tree of processes: (PSS now, sum of their peaks of RSS)."""
    tree = workloads.descendants(pid)
    return (sum(field_kb(f"/proc/{one}/smaps_rollup", "Pss:") for one in tree),
            sum(field_kb(f"/proc/{one}/status", "VmHWM:") for one in tree))


class Process:
    """A running command, its cost when it has ended."""

    def __init__(self, words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=None, preexec=None):
        self.pss_kb, self.rss_kb, self.cpu_s, self.status = 0, 0, 0.0, None
        times = mmap.mmap(-1, 16)	# shared with the child: its exec is the start, not the making of a process

        def begin():
            if preexec:
                preexec()
            struct.pack_into("dd", times, 0, time.clock_gettime(time.CLOCK_MONOTONIC),
                             time.clock_gettime(time.CLOCK_BOOTTIME))

        signal.signal(signal.SIGINT, signal.default_int_handler)    # a shell has its background jobs ignore it
        self.child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                                      env=dict(os.environ, **(env or {})), preexec_fn=begin)
        self.start_s, self.start_boot_s = struct.unpack_from("dd", times)

    def _ended(self):
        pid, status, usage = os.wait4(self.child.pid, os.WNOHANG)
        if not pid:
            return False
        self.status = self.child.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_s = usage.ru_utime + usage.ru_stime
        return True

    def wait(self, seconds):
        """True when it ended within @seconds."""
        deadline = time.monotonic() + seconds
        while self.status is None and not self._ended():
            if time.monotonic() >= deadline:
                return False
            if not self._is_parent_still():
                pss_kb, rss_kb = memory_kb(self.child.pid)
                self.pss_kb, self.rss_kb = max(self.pss_kb, pss_kb), max(self.rss_kb, rss_kb)
            time.sleep(POLL_S)
        return True

    def _is_parent_still(self):
        """Between fork and exec it has this program's memory, which is not its own."""
        try:
            return os.readlink(f"/proc/{self.child.pid}/exe") == os.readlink("/proc/self/exe")
        except OSError:
            return True

    def stop(self, sig=signal.SIGINT, limit=END_S):
        """Seconds from the signal to the end."""
        began = time.monotonic()
        if self.status is None:
            self.child.send_signal(sig)
            if not self.wait(limit):
                self.child.kill()
                self.wait(10)
        return time.monotonic() - began


class Result:
    """Of one tool in one window."""

    def __init__(self, tool):
        self.tool, self.stacks, self.note = tool, [], ""
        self.cpu_s = self.after_cpu_s = self.end_s = 0.0
        self.pss_kb = self.rss_kb = self.data_bytes = self.lost = 0
        self.first_ms = None
        self.status = None


class Tool:
    """What all have: a name, a rate, a folder for their files."""
    label = ""

    def __init__(self, hz, folder):
        self.hz, self.folder = hz, folder
        self.name = f"{self.label} {hz} Hz"
        self.out = os.path.join(folder, f"{self.label.replace(' ', '-')}-{hz}")
        self.err = self.out + ".err"

    def words(self):
        raise NotImplementedError

    def env(self):
        return {}

    def missing(self):
        """Why it cannot run, or None."""
        return None

    def after(self, result):
        """Whatever turns what it wrote into stacks."""

    def run(self, seconds, during=None):
        """One window. @during(process) runs in the middle of it."""
        result = Result(self)
        with open(self.out + ".txt", "wb") as out, open(self.err, "wb") as err:
            process = Process(self.words(), out, err, self.env(), lambda: os.nice(-10))
            half = not process.wait(seconds / 2)
            if half and during:
                during(process)
            process.wait(max(0, seconds - (time.clock_gettime(time.CLOCK_MONOTONIC) - process.start_s)))
            result.end_s = process.stop()
        result.cpu_s, result.status = process.cpu_s, process.status
        result.pss_kb, result.rss_kb = process.pss_kb, process.rss_kb
        result.start_boot_s = process.start_boot_s
        self.after(result)
        return result

    def said(self):
        with open(self.err, encoding="utf-8", errors="replace") as f:
            return f.read()


class Sonde(Tool):
    label = "sonde"

    def __init__(self, hz, folder, binary, extra=()):
        super().__init__(hz, folder)
        self.binary, self.extra = binary, extra

    def words(self):
        rate = [] if "off-cpu" in self.extra else ["-F", str(self.hz)]
        return [self.binary, "compat", "profile-bpfcc", *rate, "-a", "-v", *self.extra,
                "-o", f"folded:{self.out}.folded"]

    def after(self, result):
        path = self.out + ".folded"
        result.data_bytes = os.path.getsize(path) if os.path.exists(path) else 0
        with open(path, encoding="utf-8", errors="backslashreplace") as f:
            result.stacks = judge.from_folded(f)


class Perf(Tool):
    """perf record, then perf script; both are what a user waits and pays for."""
    label = "perf -g"
    graph = ("-g",)
    program = "perf"

    def missing(self):
        return None if shutil.which(self.program) else f"{self.program} is not installed"

    def words(self):
        # -N: the cache of programs of perf 6.1 breaks off when one of them goes away meanwhile
        return [self.program, "record", "-q", "-a", "-N", "-e", "cpu-clock", "-F", str(self.hz), *self.graph,
                "-k", "CLOCK_MONOTONIC", "-o", self.out + ".data"]

    def after(self, result):
        data = self.out + ".data"
        result.data_bytes = os.path.getsize(data)
        with open(self.out + ".script", "wb") as out:
            script = Process([self.program, "script", "--no-inline", "-i", data, "-F", "comm,pid,tid,ip,sym,dso"],
                             out)
            began = time.monotonic()
            script.wait(END_S)
            result.end_s += time.monotonic() - began
            script.stop(signal.SIGKILL)
        result.after_cpu_s = script.cpu_s
        result.pss_kb, result.rss_kb = max(result.pss_kb, script.pss_kb), max(result.rss_kb, script.rss_kb)
        with open(self.out + ".script", encoding="utf-8", errors="backslashreplace") as f:
            result.stacks = judge.from_perf(f)
        os.unlink(self.out + ".script")
        os.unlink(data)


class PerfDwarf(Perf):
    label = "perf dwarf"
    graph = ("--call-graph", "dwarf")


class Bpftrace(Tool):
    """With its cache of symbols on (the default takes minutes) and room for the stacks of this box."""
    label = "bpftrace"

    def missing(self):
        return None if shutil.which("bpftrace") else "bpftrace is not installed"

    def env(self):
        return {"BPFTRACE_CACHE_USER_SYMBOLS": "1", "BPFTRACE_MAP_KEYS_MAX": "65536", "BPFTRACE_NO_CPP_DEMANGLE": "0"}

    def words(self):
        return ["bpftrace", "-e", f"profile:hz:{self.hz} {{ @[comm, ustack, kstack] = count(); }}"]

    def after(self, result):
        path = self.out + ".txt"
        result.data_bytes = os.path.getsize(path)
        with open(path, encoding="utf-8", errors="backslashreplace") as f:
            result.stacks = judge.from_bpftrace(f)
