/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Plans: the memory that the BPF programs read for each system call, generated from tables/syscalls.tsv by
 * tools/gen_tables.py and compiled into the BPF object; and the flags by which user space configures the programs.
 * None of this is in records.
 */
#ifndef SYS_PLAN_WIRE_H
#define SYS_PLAN_WIRE_H

#include "sonde/wire.h"

#define SYS_OP_STR 1		/* string */
#define SYS_OP_STRV 2		/* array of strings, terminated by NULL */
#define SYS_OP_MEM 3		/* `size` bytes */
#define SYS_OP_DATA 4		/* payload; `n`: argument (or result) with its length */
#define SYS_OP_DATA_LENP 5	/* payload; `n` points to an int with its length */
#define SYS_OP_SOCKADDR 6
#define SYS_OP_SOCKADDR_LENP 7
#define SYS_OP_IOV 8		/* `n` struct iovec and the bytes they point to */
#define SYS_OP_MSG 9
#define SYS_OP_MMSG 10		/* `n` messages */
#define SYS_OP_ARRAY 11		/* `n` structures of `size` bytes */
#define SYS_OP_FDSET 12		/* bit set of `n` descriptors */
/* Kernel state, read on request only. */
#define SYS_OP_SOCK 13
#define SYS_OP_FILE 14
#define SYS_OP_PROC 15
#define SYS_OP_PAIR 16		/* the argument points to two descriptors: file or socket of each */
#define SYS_OP_VM 17
/* More steps that read the caller's memory. */
#define SYS_OP_MEM_N 18		/* `n` bytes, at most 128 */
#define SYS_OP_DIRENTS 19	/* number of directory entries in `n` bytes; `size`: offset of d_reclen */
#define SYS_OP_ADDR 20		/* the address itself, without reading it */
#define SYS_OP_SIGMASK 21	/* signal mask that sigreturn restores */
#define SYS_OP_NODES 22		/* mask of `n` - 1 memory nodes */

#define SYS_WHEN_IN 1		/* filled by the caller: read whatever the result */
#define SYS_WHEN_OUT 2		/* filled by the kernel: read at exit of a successful call */

#define SYS_WHEN_KEEP 4		/* read at entry and kept until exit */
#define SYS_WHEN_BROKEN 8	/* filled by the kernel: read when a signal interrupts the call */

#define SYS_N_RET 6		/* `n`: the result */
#define SYS_N_NONE 7

#define SYS_PLAN_KNOWN 1
#define SYS_PLAN_LIFE 2		/* changes the process: life-cycle lane */
#define SYS_PLAN_NO_RETURN 4
#define SYS_PLAN_EXEC 8		/* on success the caller's memory and registers are replaced */
#define SYS_PLAN_NO_ARGS 16	/* at exit the registers hold no arguments */

#define SYS_PLAN_BIRTH 32	/* returns twice; 0 in the new task, which never entered it */
#define SYS_PLAN_FORMS 64	/* sys_form_plans has other steps for some argument values */

#define SYS_PLAN_OPS 6

struct sys_op {
	__u8 op, when, arg, n;
	__u16 size;
};

struct sys_plan {
	__u8 n_args;
	__u8 n_mem;		/* ops that read the caller's memory; they come first */
	__u8 n_ops;
	__u8 flags;
	__u16 first_form, n_forms;
	__u8 select[2];		/* arguments that select the form; equal = one argument */
	__u32 value;		/* mask of that argument; in a form: its value */
	struct sys_op ops[SYS_PLAN_OPS];
};

#define SYS_FORMS_MAX 1024

/* Two selecting arguments contribute 16 bits each. */
#define SYS_SELECTED(first, second) ((__u32)(first) << 16 | ((second) & 0xffff))

/*
 * Actions for a call, by ABI slot and number. User space computes them from the plan and the selection, so that one
 * load decides. 0 = ignore the call.
 */
#define SYS_DO_EXIT 1		/* selected: handle the exit */
#define SYS_DO_ENTER 2		/* record the entry: selected, or the call never returns */
#define SYS_DO_TIME 4		/* note the entry time */
#define SYS_DO_STEPS 8		/* memory arguments or conditions: long path */
#define SYS_DO_LIFE 16		/* changes the process */
#define SYS_DO_STATE 32		/* passes any filter expression, because state tables depend on it */
#define SYS_DO_KEEP 64		/* read memory at entry */
#define SYS_DO_CLOSE 128		/* the descriptor is gone at exit: look it up at entry */
#define SYS_DO_ARGS_SHIFT 8	/* three bits: number of arguments */
#define SYS_DO_FD_SHIFT 11	/* three bits: argument + 1 with the descriptor, or SYS_DO_FD_RET; 0 = none */
#define SYS_DO_FD_RET 7	/* the result */
#define SYS_DO_FD_MASK (7 << SYS_DO_FD_SHIFT)
#define SYS_DO_SENDS 0x4000	/* the result is a number of bytes written (records: to the descriptor) */
#define SYS_DO_RECEIVES 0x8000	/* ... read from it */

/*
 * Counters of one call on one CPU. Each call is timed exactly (`sure`), timed as a sample (`sampled`), not timed, or
 * was entered before the start (`unknown`).
 */
struct sys_stats_cell {
	__u64 calls, errors;
	__u64 sure, sure_ns;
	__u64 sampled, sampled_ns;
	__u64 unknown;
	__u64 max_ns;
	__u64 bytes;	/* results of calls with SYS_DO_SENDS or SYS_DO_RECEIVES */
	__u32 steps[128]; /* SYS_STEPS buckets; a sampled call counts SYS_SAMPLING_ONE_IN */
};

/* Key of counters by process or command name (--by). */
struct sys_stats_key {
	char name[16];
	__u32 tgid;		/* 0 = all processes of that name */
	__u32 slot;
};

#define SYS_BY_MOST 8192	/* keys; further ones share the counters of sys_stats_rows */

#define SYS_SAMPLING_ONE_IN 4	  /* one call in this many is timed: a power of two */
#define SYS_SAMPLING_AFTER 1024	  /* first calls of each number that are all timed */
#define SYS_SAMPLING_LONG_TICKS 2 /* clock ticks after which a call counts as long and is timed exactly */

#define SYS_CLOSED_BUDGET 1u	/* reasons for sys_closed */
#define SYS_CLOSED_PAUSE 2u

#define SYS_SLOTS 65536		/* for kernel stacks */
#define SYS_SLOTS_MORE 4096	/* threads in a call whose slot belongs to another stack */
#define SYS_STACK_SHIFT 14	/* stacks are at least 16 kB apart */

/* A kernel stack, its current call, and the task last seen on it. */
struct sys_slot {
	__u64 owner;		/* stack that claimed the slot for good; 0 = free */
	__u64 enter_ns;		/* 0 = not in a call */
	__u64 task;		/* 0 = unknown; valid as long as it has this stack */
	__u64 claims;		/* attempts to claim the slot */
	__u64 file, sock;	/* of the descriptor that the current call closes; 0 = none */
};

/* Sampling state of a thread (sys_stats.bpf.c). */
struct sys_sample {
	__u32 random;		/* 0 = not seeded */
	__u32 seen;		/* last clock reading, in 2^20 ns */
};

#endif
