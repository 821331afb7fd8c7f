#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges folded stacks of any profiler by one rule: how many are complete, how many frames have a name.

    judge.py [--from folded|perf|bpftrace] FILE [COMM...]

Folded lines are `comm;outermost;...;innermost COUNT`, kernel frames marked by a trailing _[k]. What perf script and
bpftrace print is turned into that first. A user stack is complete when its outermost frame is where a program or a
thread begins. Where such a beginning is known by its caller alone (in a stripped program, only the C library has
names), one nameless frame may stand before it. In a stripped C library, threads begin at an address, which its own
unwinder finds (thread_root()).
"""
import argparse
import collections
import ctypes
import functools
import os
import re
import sys
import threading

# Where threads begin: C, C++ and Rust programs; threads; Go's goroutines and the stacks of its scheduler.
BEGINNINGS = re.compile(
    r"""(_start|main|_dl_start(_user)?|_dl_start_final
    |_*libc_start_main(_impl)?|_*libc_start_call_main|generic_start_main
    |_*clone3?|start_thread|thread_start
    |_rt0_\w+|runtime[.](goexit(\.abi0)?|goexit[01]|mstart[01]?(\.abi0)?|rt0_go(\.abi0)?|morestack(\.abi0)?
    |mcall(\.abi0)?|systemstack(\.abi0)?|asmcgocall(\.abi0)?|sigtramp|sigreturn(__sigaction)?)
    )([+@(].*)?""", re.X)

NAMELESS = re.compile(r"(\[unknown\]|\[?0x[0-9a-f]+\]?|[0-9a-f]{6,16}|\?+|\[(anon|heap|stack)[^\]]*\]|//anon.*"
                      r"|\S+\.so[.\d]*|\[[^\]]+\+0x[0-9a-f]+\])?")
REMARK = re.compile(r"\[(truncated|missed|lost)\b.*\]", re.I)

NO_KERNEL_STACK = "[Missed Kernel Stack]"

# The kernel between two programs: there is no user stack to have, whoever looks.
NO_USER_STACK = re.compile(r"(do_exit|begin_new_exec|exec_mmap|mmput|exit_mmap|load_elf_binary|bprm_execve"
                           r"|ret_from_fork|schedule_tail)(\.\w+)*(_\[k\])?$")

Stack = collections.namedtuple("Stack", "comm user kern count")


def split_folded(line):
    """One folded line as a Stack, or None for what is no stack."""
    text, _, count = line.rstrip("\n").rpartition(" ")
    if not count.isdigit() or ";" not in text:
        return None
    comm, *frames = text.split(";")
    kern = [f for f in frames if f.endswith("_[k]") or f == NO_KERNEL_STACK]
    user = [f for f in frames if f not in kern and f not in ("-", "--")]
    return Stack(comm, tuple(user), tuple(kern), int(count))


def from_folded(lines):
    return [stack for stack in map(split_folded, lines) if stack]


def perf_frame(line):
    """`address name+offset (module)`; (name, is it the kernel's)."""
    match = re.match(r"\s+([0-9a-f]+) (.*) \((.*)\)\s*$", line)
    if not match:
        return None
    address, name, module = match.groups()
    in_kernel = module.startswith("[kernel") or module.endswith((".ko", ".ko.xz", "]_ko")) or \
        len(address) == 16 and address.startswith("ff")
    return re.sub(r"\+0x[0-9a-f]+$", "", name).replace(";", ":"), in_kernel


def from_perf(lines):
    """The default output of `perf script -F comm,pid,tid,ip,sym,dso`: a line of names, then a line for each frame."""
    ret, comm, user, kern = collections.Counter(), None, [], []

    def end():
        if comm is not None:
            ret[comm, tuple(reversed(user)), tuple(reversed(kern))] += 1
    for line in lines:
        if not line.strip():
            end()
            comm, user, kern = None, [], []
        elif comm is None:
            head = re.match(r"\s*(.*?)\s+\d+/?\d*\s", line)
            comm = head.group(1) if head else line.strip()
        else:
            frame = perf_frame(line)
            if frame and frame[1]:
                kern.append(frame[0] + "_[k]")
            elif frame:
                user.append(frame[0])
    end()
    return [Stack(*key, count) for key, count in ret.items()]


def from_bpftrace(lines):
    """`@[comm, ustack, kstack]: count`, where each stack is an empty line and then a line for each frame."""
    ret, comm, stacks = collections.Counter(), None, []
    for line in lines:
        line = line.rstrip("\n")
        end = re.match(r"(.*)\]: (\d+)$", line)
        if line.startswith("@["):
            comm, stacks = line[2:].split(",", 1)[0], []
            rest = line[2 + len(comm) + 1:].strip()
            # No user stack: "@[comm, , " begins the kernel's on the same line.
            stacks = [[] for _ in range(rest.count(",") + 1)]
            if end and comm is not None:
                ret[comm.split("]")[0], (), ()] += int(end.group(2))
                comm = None
        elif comm is not None and end:
            ret[comm, *two(stacks, end.group(1))] += int(end.group(2))
            comm = None
        elif comm is not None and line.strip() == ",":
            stacks.append([])
        elif comm is not None and line.strip():
            stacks[-1].append(re.sub(r"\+\d+$", "", line.strip()).replace(";", ":"))
    return [Stack(*key, count) for key, count in ret.items()]


def two(stacks, last):
    """User and kernel frames of bpftrace, outermost first."""
    if last.strip() not in ("", ","):
        stacks[-1].append(re.sub(r"\+\d+$", "", last.strip()))
    if last.strip() == ",":
        stacks.append([])
    user = stacks[0] if stacks else []
    kern = stacks[1] if len(stacks) > 1 else []
    return tuple(reversed(user)), tuple(f + "_[k]" for f in reversed(kern))


READERS = {"folded": from_folded, "perf": from_perf, "bpftrace": from_bpftrace}


def file_offset(address):
    """The mapping of this process that holds @address, as (file, offset of @address in it)."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        for words in map(str.split, maps):
            start, end = (int(part, 16) for part in words[0].split("-"))
            if start <= address < end:
                return words[5], address - start + int(words[2], 16)
    raise LookupError(hex(address))


@functools.cache
def thread_root():
    """The outermost frame of every thread of the C library, "[libc.so.6+0x1098ec]", as its backtrace() has it."""
    found = []

    def look():
        addresses = (ctypes.c_void_p * 64)()
        found.extend(addresses[:ctypes.CDLL(None).backtrace(addresses, len(addresses))])
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    path, offset = file_offset(found[-1])
    return f"[{os.path.basename(path)}+0x{offset:x}]"


def is_named(frame):
    return not NAMELESS.fullmatch(frame) and not REMARK.match(frame)


def is_complete(stack):
    """True, False, or None where there was no user stack to have."""
    frames = [f for f in stack.user if not REMARK.match(f)]
    if not frames:
        return None if any(NO_USER_STACK.match(f) for f in stack.kern) else False
    if any(REMARK.match(f) for f in stack.user):
        return False
    if frames[0] == thread_root():
        return True
    if not is_named(frames[0]) and len(frames) > 1:
        frames = frames[1:]
    return bool(BEGINNINGS.fullmatch(frames[0]))


class Verdict:
    """Of the stacks of one workload."""

    def __init__(self, stacks):
        self.samples = self.without = self.complete = self.frames = self.named = 0
        self.bad = collections.Counter()
        for stack in stacks:
            self.add(stack)

    def add(self, stack):
        complete = is_complete(stack)
        self.samples += stack.count
        self.without += stack.count * (complete is None)
        self.complete += stack.count * bool(complete)
        frames = [f for f in stack.user if not REMARK.match(f)]
        self.frames += stack.count * len(frames)
        self.named += stack.count * sum(map(is_named, frames))
        if complete is False:
            self.bad[";".join(stack.user[:4] + ("...",) * (len(stack.user) > 4)) or "no user stack"] += stack.count

    @property
    def complete_pct(self):
        judged = self.samples - self.without
        return 100 * self.complete / judged if judged else 0.0

    @property
    def named_pct(self):
        return 100 * self.named / self.frames if self.frames else 0.0


def by_comm(stacks):
    ret = collections.defaultdict(list)
    for stack in stacks:
        ret[stack.comm].append(stack)
    return ret


def judge(stacks, comms):
    """A Verdict over the stacks of threads of these names."""
    found = by_comm(stacks)
    return Verdict([stack for comm in comms for stack in found.get(comm[:15], [])])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--from", dest="reader", choices=READERS, default="folded")
    parser.add_argument("--bad", type=int, default=0, help="show that many beginnings of incomplete stacks each")
    parser.add_argument("file")
    parser.add_argument("comm", nargs="*")
    args = parser.parse_args()
    with open(args.file, encoding="utf-8", errors="backslashreplace") as f:
        stacks = READERS[args.reader](f)
    comms = args.comm or sorted(by_comm(stacks))
    print(f"{'name':16} {'samples':>8} {'complete':>9} {'named':>7} {'no user stack to have':>22}")
    for comm in comms:
        verdict = judge(stacks, [comm])
        print(f"{comm:16} {verdict.samples:8} {verdict.complete_pct:8.1f}% {verdict.named_pct:6.1f}% "
              f"{verdict.without:22}")
        for text, count in verdict.bad.most_common(args.bad):
            print(f"    {count:6} {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
