/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * What the kernel side reads for each system call: made from tables/syscalls.tsv by tools/gen_tables.py, compiled
 * into the BPF object. Also the bits by which user space says what it wants. No record holds any of this.
 */
#ifndef SYS_PLAN_WIRE_H
#define SYS_PLAN_WIRE_H

#include "sonde/wire.h"

#define SYS_OP_STR 1		/* string of the caller */
#define SYS_OP_STRV 2		/* array of strings, ends with NULL */
#define SYS_OP_MEM 3		/* `size` bytes */
#define SYS_OP_DATA 4		/* payload: `n` says which argument (or the result) is its length */
#define SYS_OP_DATA_LENP 5	/* the same, `n` points to an int that is the length */
#define SYS_OP_SOCKADDR 6
#define SYS_OP_SOCKADDR_LENP 7
#define SYS_OP_IOV 8		/* `n` struct iovec and the bytes they point to */
#define SYS_OP_MSG 9
#define SYS_OP_MMSG 10		/* `n` of them */
#define SYS_OP_ARRAY 11		/* `n` structures of `size` bytes */
#define SYS_OP_FDSET 12		/* a bit for each of `n` descriptors */
/* What the kernel knows; only when asked for. */
#define SYS_OP_SOCK 13
#define SYS_OP_FILE 14
#define SYS_OP_PROC 15
#define SYS_OP_PAIR 16		/* two descriptors at the argument: the file or socket behind each */
#define SYS_OP_VM 17
/* More that reads the caller's memory. */
#define SYS_OP_MEM_N 18		/* `n` bytes, at most 128 */
#define SYS_OP_DIRENTS 19	/* the number of directory entries in `n` bytes; their size is that of getdents() */
#define SYS_OP_ADDR 20		/* nothing is read: the address itself */
#define SYS_OP_SIGMASK 21	/* the signal mask that a signal frame puts back */

#define SYS_WHEN_IN 1		/* the caller filled it: worth reading whatever happened */
#define SYS_WHEN_OUT 2		/* the kernel filled it: on success, when the call is left */

#define SYS_WHEN_KEEP 4		/* read when the call is entered, and kept until it is left */
#define SYS_WHEN_BROKEN 8	/* the kernel filled it: when a signal broke the call off */

#define SYS_N_RET 6		/* `n`: the result */
#define SYS_N_NONE 7

#define SYS_PLAN_KNOWN 1
#define SYS_PLAN_LIFE 2		/* changes what a process is: life-cycle lane */
#define SYS_PLAN_NO_RETURN 4
#define SYS_PLAN_EXEC 8		/* on success the caller's old memory and registers are gone */
#define SYS_PLAN_NO_ARGS 16	/* the registers are not those of the call when it is left */

#define SYS_PLAN_BIRTH 32	/* returns twice: 0 in the task that it made, which never entered it */
#define SYS_PLAN_FORMS 64	/* sys_form_plans has other steps for some values of its arguments */

#define SYS_PLAN_OPS 6

struct sys_op {
	__u8 op, when, arg, n;
	__u16 size;
};

struct sys_plan {
	__u8 n_args;
	__u8 n_mem;		/* of ops: those that read the caller's memory; the others follow them */
	__u8 n_ops;
	__u8 flags;
	__u16 first_form, n_forms;
	__u8 select[2];		/* arguments that decide between the forms; equal = one */
	__u32 value;		/* mask of that argument; of a form: the value that it is for */
	struct sys_op ops[SYS_PLAN_OPS];
};

#define SYS_FORMS_MAX 1024

/* Of two selecting arguments each has 16 bits. */
#define SYS_SELECTED(first, second) ((__u32)(first) << 16 | ((second) & 0xffff))

/*
 * What to do with a call, by ABI slot and number: worked out in user space from its plan and from what was asked for,
 * so that one load decides. 0 = nothing.
 */
#define SYS_DO_EXIT 1		/* it was asked for: look at it when it is left */
#define SYS_DO_ENTER 2		/* a record when it is entered: that was asked for, or the call never returns */
#define SYS_DO_TIME 4		/* remember when it was entered */
#define SYS_DO_STEPS 8		/* more than numbers, or a condition to be checked: not the short way */
#define SYS_DO_LIFE 16		/* changes what a process is */
#define SYS_DO_STATE 32		/* passes whatever the filter expression says: tables depend on it */
#define SYS_DO_KEEP 64		/* memory to be read when it is entered */
#define SYS_DO_ARGS_SHIFT 8	/* three bits: arguments that it has */

/*
 * What one CPU counted of one call. Each is in one of four columns: its time is known and stands for itself; it was
 * drawn, and stands for those that were not; it was not drawn; nobody saw it begin.
 */
struct sys_stats_cell {
	__u64 calls, errors;
	__u64 sure, sure_ns;
	__u64 drawn, drawn_ns;
	__u64 unknown;
	__u64 max_ns;
	__u32 steps[128]; /* SYS_STEPS; one that was drawn counts SYS_SAMPLING_ONE_IN */
};

/* Whose calls are counted apart. */
struct sys_stats_key {
	char name[16];
	__u32 tgid;		/* 0: all of that name */
	__u32 slot;
};

#define SYS_BY_MOST 8192	/* of them; what finds no room is counted as of all others */

#define SYS_SAMPLING_ONE_IN 4	  /* calls that are timed when not all are: a power of two */
#define SYS_SAMPLING_AFTER 1024	  /* of each call number so many are timed before */
#define SYS_SAMPLING_LONG_TICKS 2 /* ticks of the kernel's clock in a call: from there on its time is sure */

#define SYS_CLOSED_BUDGET 1u	/* why sys_closed is set */
#define SYS_CLOSED_PAUSE 2u

#define SYS_SLOTS 65536		/* places for kernel stacks */
#define SYS_SLOTS_MORE 4096	/* threads in a call whose place is another's */
#define SYS_STACK_SHIFT 14	/* the least distance of two stacks: 16 kB */

/* A kernel stack, the call that is under way on it, and the task that it was last seen with. */
struct sys_slot {
	__u64 owner;		/* whose place this is, once and for all; 0 = nobody's yet */
	__u64 enter_ns;		/* 0 = in no call */
	__u64 task;		/* 0 = not known; true as long as it has that stack */
	__u64 claims;		/* who wanted to be the first */
};

/* Which calls of a thread are timed (sys_sampling.bpf.h). */
struct sys_lot {
	__u32 random;		/* 0 = nothing yet */
	__u32 seen;		/* when the clock was last read, in 2^20 ns */
};

#endif
