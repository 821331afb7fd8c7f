# SPDX-License-Identifier: GPL-2.0-or-later
"""The judge of profiles, before it judges: each tool's way of writing the same stacks gives the same verdict."""
import os
import sys

from helpers import ROOT

sys.path.insert(0, os.path.join(ROOT, "tests", "bench", "profile"))
import judge  # noqa: E402  found by the line above
import truth  # noqa: E402

FOLDED = """\
prog;_start;__libc_start_main_impl;main;work 3
prog;[unknown];__libc_start_main@@GLIBC_2.34;[unknown];work;-;do_syscall_64_[k];vfs_read_[k] 2
prog;[unknown];[unknown];work 1
prog;[unknown];work 4
prog;do_exit_[k] 5
prog;do_syscall_64_[k] 6
prog;[truncated: no unwind rows];main;work 7
prog;_start;main;work;[Missed Kernel Stack] 8
not a stack
"""

# A blank ends lines of perf and bpftrace, which would not survive editors: @ stands for it.
PERF = """\
my prog 10/11@
\t    5636da9992ca work+0x12 (/tmp/my prog)
\t    5636da9992cb main (/tmp/my prog)

my prog 10/11@
\tffffffffb5c0007a vfs_read+0x10 ([kernel.kallsyms])
\t               0 [unknown] ([unknown])
""".replace("@\n", " \n")

BPFTRACE = """\
Attaching 1 probe...


@[prog,@
    work+5
    main+17
,@
    vfs_read+812
    do_syscall_64+113
]: 3
@[prog,@
    0x7f23d9d5f2ad
, ]: 2
@[swapper/0, ,@
    do_idle+310
]: 4
""".replace("@\n", " \n")


def test_folded_stacks():
    verdict = judge.judge(judge.from_folded(FOLDED.splitlines()), ["prog"])
    assert (verdict.samples, verdict.without, verdict.complete) == (36, 5, 13)
    assert verdict.frames == 3 * 4 + 2 * 4 + 3 + 2 * 4 + 7 * 2 + 8 * 3
    assert verdict.named == 3 * 4 + 2 * 2 + 1 + 4 + 7 * 2 + 8 * 3


def test_stacks_of_perf_script():
    stacks = judge.from_perf(PERF.splitlines())
    assert judge.Stack("my prog", ("main", "work"), (), 1) in stacks
    assert judge.Stack("my prog", ("[unknown]",), ("vfs_read_[k]",), 1) in stacks


def test_stacks_of_bpftrace():
    stacks = judge.from_bpftrace(BPFTRACE.splitlines())
    assert sorted(stacks) == [
        judge.Stack("prog", ("0x7f23d9d5f2ad",), (), 2),
        judge.Stack("prog", ("main", "work"), ("do_syscall_64_[k]", "vfs_read_[k]"), 3),
        judge.Stack("swapper/0", (), ("do_idle_[k]",), 4),
    ]


def test_a_thread_of_a_stripped_library_begins_at_its_root():
    root = judge.thread_root()
    assert judge.NAMELESS.fullmatch(root) and root.startswith("[libc.so.6+0x")
    stacks = judge.from_folded([f"prog;{root};[libc.so.6+0x891f5];worker;serve 3",
                                "prog;[libc.so.6+0x12];[libc.so.6+0x34];worker;serve 2"])
    verdict = judge.judge(stacks, ["prog"])
    assert (verdict.samples, verdict.complete) == (5, 3)
    assert verdict.named == 2 * verdict.samples


def test_paths_are_told_apart():
    stacks = judge.from_folded(["paths;_start;main;f0_1;f1_2;f2_3;f3_4;f4_5;end_of_path 1",
                                "paths;_start;main;f0_1;f1_2;f2_3;f3_4 1"])
    assert truth.paths_of(stacks) == {0o12345}


def test_a_wrong_share_is_found():
    def good(total, measured, samples):
        return truth.deviations({"hot": 0.7}, total, {"hot": measured}, samples)[0][-1]
    assert not good(800, 0.8, 810)
    assert good(800, 0.72, 810)
    assert not good(800, 0.7, 8000)
    assert not good(0, 0.0, 0)
