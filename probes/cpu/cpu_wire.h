/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Records of the cpu probe: samples of running threads and blocked ones, with their stacks.
 *
 * Variable data is n_kern kernel addresses, then n_user user addresses, innermost first, 8 bytes each.
 */
#ifndef CPU_WIRE_H
#define CPU_WIRE_H

#include "sonde/wire.h"

#define CPU_REC_SAMPLE SONDE_EV(PROBE_ID, 1)	/* a thread was running when the event came */
#define CPU_REC_BLOCK SONDE_EV(PROBE_ID, 2)	/* a thread is back on a CPU; the stack is that of when it left */
#define CPU_REC_NEED SONDE_EV(PROBE_ID, 3)	/* unwind rows are wanted for a file; read by the live half */

#define CPU_MODE_KERNEL 1	/* interrupted in the kernel */
#define CPU_MODE_IDLE 2		/* the idle thread */
#define CPU_MODE_PREEMPTED 4	/* CPU_REC_BLOCK: it was still runnable when it left */
#define CPU_MODE_USER_ASKED 8	/* a user stack was asked for, so an empty one means something */
#define CPU_MODE_KERN_ASKED 16

struct cpu_sample_rec {
	struct sonde_rec hdr;
	__u64 value;		/* SAMPLE: ns or events that it stands for; BLOCK: ns blocked */
	__u64 wait_ns;		/* BLOCK: of these, ns runnable and waiting for a CPU */
	__u64 cgroup_id;
	__u32 netns;		/* inode, 0 = unknown */
	__s32 kern_err;		/* negative errno of the kernel stack walk, 0 = fine */
	char comm[16];		/* of the thread */
	__u16 n_kern, n_user;
	__u8 user_end;		/* SONDE_STACK_* (sonde/stack_wire.h) */
	__u8 mode;		/* CPU_MODE_* */
	__u16 pad;
	__u64 ips[];
};

/* The file behind an address that had no unwind rows. */
struct cpu_need_rec {
	struct sonde_rec hdr;
	__u64 start, end;	/* of the mapping in the process of hdr.tgid */
	__u64 file_off;		/* of start, bytes */
	__u64 ino;
	__u32 dev;		/* major << 20 | minor */
	__u32 ino_generation;
};

#ifndef __cplusplus
_Static_assert(sizeof(struct cpu_sample_rec) == 40 + 56, "cpu_sample_rec is ABI");
_Static_assert(sizeof(struct cpu_need_rec) == 40 + 40, "cpu_need_rec is ABI");
#endif

#endif
