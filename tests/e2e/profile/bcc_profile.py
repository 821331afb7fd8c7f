#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's own profile-bpfcc, printing stacks that are given to it: what it does with the kernel is replaced.

    bcc_profile.py STACKS [ARGUMENT...]     the arguments are profile's

STACKS is a JSON list of {"comm", "pid", "count", "kern", "user"}, in the order in which equal counts are shown; a
stack is a list of [address, name or null, offset, module or null], innermost first, or "none" or "missed". The
program, its options and texts, and the module's formatting of symbols are the installed ones. Releases after 0.26 ask
for offset and module in the text that is not folded, so here they are asked for.
"""
import ctypes
import errno
import json
import runpy
import sys
import time

PROGRAM = "/usr/sbin/profile-bpfcc"

sys.dont_write_bytecode = True
import bcc  # noqa: E402  without compiled copies beside it


class Key:
    def __init__(self, row, ids):
        self.pid, self.name, self.kernel_ip = row["pid"], row["comm"].encode(), 0
        self.user_stack_id, self.kernel_stack_id = ids["user"], ids["kern"]


class Symbols:
    """As bcc's cache of a process."""
    by_pid = {}

    def __init__(self, pid):
        self.known = self.by_pid.get(pid, {})

    def resolve(self, addr, _demangle):
        name, offset, module = self.known[addr]
        return name and name.encode(), offset, module and module.encode()


class Bpf(bcc.BPF):
    """Without a kernel."""
    stacks, counts, folded = [], [], False

    def __init__(self, text):
        assert "BPF_STACK_TRACE" in text

    def attach_perf_event(self, **_):
        pass

    def get_table(self, name):
        return self if name == "stack_traces" else dict(self.counts)

    def walk(self, number):
        return iter(self.stacks[number])

    def sym(self, addr, pid):
        return bcc.BPF.sym(addr, pid, not self.folded, not self.folded)

    def ksym(self, addr):
        return bcc.BPF.sym(addr, -1, not self.folded, not self.folded, False)

    def cleanup(self):
        pass

    @classmethod
    def fill(cls, rows):
        for row in rows:
            ids = {}
            for part in ("user", "kern"):
                frames = row[part]
                if isinstance(frames, str):
                    ids[part] = -errno.EFAULT if frames == "none" else -errno.EEXIST
                    continue
                known = Symbols.by_pid.setdefault(row["pid"] if part == "user" else -1, {})
                known.update({address: rest for address, *rest in frames})
                ids[part] = len(cls.stacks)
                cls.stacks.append([frame[0] for frame in frames])
            cls.counts.append((Key(row, ids), ctypes.c_ulonglong(row["count"])))


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        Bpf.fill(json.load(f))
    sys.argv = [PROGRAM, *sys.argv[2:]]
    Bpf.folded = any(word in ("-f", "--folded") for word in sys.argv)
    real = bcc.BPF
    real._sym_cache = staticmethod(Symbols)
    real.__del__ = lambda self: None
    Bpf.sym = staticmethod(lambda addr, pid, sym=real.sym: sym(addr, pid, not Bpf.folded, not Bpf.folded))
    Bpf.ksym = staticmethod(lambda addr, sym=real.sym: sym(addr, -1, not Bpf.folded, not Bpf.folded, False))
    bcc.BPF = Bpf
    time.sleep = lambda _: None
    runpy.run_path(PROGRAM, run_name="__main__")


main()
