/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Records of the cpu probe: samples of running threads and blocked ones, with their stacks.
 *
 * Variable data is struct cpu_wait in CPU_REC_BLOCK, then n_kern kernel addresses, then n_user user addresses,
 * innermost first, 8 bytes each.
 */
#ifndef CPU_WIRE_H
#define CPU_WIRE_H

#include "sonde/ident_wire.h"
#include "sonde/wire.h"

#define CPU_REC_SAMPLE SONDE_EV(PROBE_ID, 1)	/* a thread was running when the event came */
#define CPU_REC_BLOCK_2 SONDE_EV(PROBE_ID, 2)	/* as CPU_REC_BLOCK, without struct cpu_wait */
#define CPU_REC_NEED SONDE_EV(PROBE_ID, 3)	/* request for unwind rows of a file; for the live half */
#define CPU_REC_TOTALS_4 SONDE_EV(PROBE_ID, 4)	/* as the next, without what was walked late */
#define CPU_REC_TOTALS SONDE_EV(PROBE_ID, 5)	/* at the end: what was missed, and what the unwind tables cost */
#define CPU_REC_BLOCK SONDE_EV(PROBE_ID, 6)	/* a thread is back on a CPU; the stack is that of when it left */

#define CPU_MODE_KERNEL 1	/* interrupted in the kernel */
#define CPU_MODE_IDLE 2		/* the idle thread */
#define CPU_MODE_PREEMPTED 4	/* CPU_REC_BLOCK: it was still runnable when it left */
#define CPU_MODE_USER_ASKED 8	/* a user stack was asked for, so an empty one means something */
#define CPU_MODE_KERN_ASKED 16
#define CPU_MODE_EVENTS 32	/* value counts events, not ns */
#define CPU_MODE_LATER 64	/* its user stack was walked to the end in user space */

/* Hook classes: a hardware event is an NMI and can interrupt the scheduler. */
#define CPU_CLASS_SAMPLE 0
#define CPU_CLASS_SWITCH 1

#define CPU_KERN_MAX 512	/* frames; the kernel gives kernel.perf_event_max_stack at most */
#define CPU_USER_MAX 1024

struct cpu_sample_rec {
	struct sonde_rec hdr;
	struct sonde_ident id;
	__u64 value;		/* SAMPLE: ns or events that it stands for; BLOCK: ns blocked, of this one */
	__u64 wait_ns;		/* BLOCK: of these, ns runnable and waiting for a CPU */
	__u64 cgroup_id;
	__u32 netns;		/* inode, 0 = unknown */
	__s32 kern_err;		/* negative errno of the kernel stack walk, 0 = fine */
	__u32 state;		/* BLOCK: TASK_* of the recorded kernel when it left; 0 = runnable */
	__u32 pad;
	char comm[16];		/* of the thread */
	__u16 n_kern, n_user;
	__u8 user_end;		/* SONDE_STACK_* (sonde/stack_wire.h) */
	__u8 mode;		/* CPU_MODE_* */
	__u16 count;		/* samples or blocks that it stands for: 1, more below a limit of CPU time */
	__u64 ips[];
};

/* Kind of the system call in which a thread left its CPU. Append only. */
enum {
	CPU_CALL_UNKNOWN,	/* not recorded, or a 32-bit call */
	CPU_CALL_NONE,		/* no system call: a fault in user mode, or a kernel thread */
	CPU_CALL_OTHER,
	CPU_CALL_READ,		/* this and the next: of the descriptor in `file` */
	CPU_CALL_WRITE,
	CPU_CALL_SOCKET_READ,
	CPU_CALL_SOCKET_WRITE,
	CPU_CALL_ACCEPT,
	CPU_CALL_CONNECT,
	CPU_CALL_POLL,
	CPU_CALL_FUTEX,
	CPU_CALL_SLEEP,
	CPU_CALL_CHILD,
	CPU_CALL_SIGNAL,
	CPU_CALL_LOCK,		/* of files */
	CPU_CALL_SPLICE,	/* between two descriptors */
	CPU_CALL_CLONE,
	CPU_CALL__MAX,
};

/* Not records: sizes of tables in the programs. */
#define CPU_CALLS 512		/* kinds by number of the call */
#define CPU_LOCKS 16		/* functions that wait for locks */

struct cpu_range {
	__u64 start, end;	/* end: excluded */
};

/* Waker of a thread. Append only. */
enum {
	CPU_WAKER_UNKNOWN,	/* its hook is missing, or was not called */
	CPU_WAKER_THREAD,
	CPU_WAKER_SOFTIRQ,	/* this and the next two: the interrupted thread has nothing to do with it */
	CPU_WAKER_HARDIRQ,
	CPU_WAKER_INTERRUPT,	/* either of them */
	CPU_WAKER_IDLE,		/* an idle CPU, for another one */
	CPU_WAKER__MAX,
};

#define CPU_FILE_UNKNOWN 0xff	/* not asked for, or unreadable */

#define CPU_WAIT_F_IO 1		/* the kernel counts it as waiting for I/O (in_iowait) */
#define CPU_WAIT_F_KERNEL 2	/* a thread of the kernel */
#define CPU_WAIT_F_ENDING 4	/* the process ends or dumps core */
#define CPU_WAIT_F_NOT_WOKEN 8	/* no wake-up was seen: wait_ns is not known */

#define CPU_WAIT_F_FROZEN 16	/* by its cgroup */

#define CPU_WAIT_F_LOCK 32	/* for a mutex, semaphore or another lock of the kernel */
#define CPU_WAIT_F_THROTTLED 64	/* its cgroup had used up its quota of CPU time */

/* Hierarchy of the cgroup whose quota was used up. Append only. */
enum {
	CPU_QUOTA_NONE,		/* not recorded, or not found */
	CPU_QUOTA_V2,
	CPU_QUOTA_V1,		/* of the controller cpu */
	CPU_QUOTA__MAX,
};

/* The cgroup without quota left: the thread's, or one above it. Counters as in its cpu.stat, before this wait. */
struct cpu_quota {
	__u64 cgroup_id;
	__u64 quota_ns, period_ns;	/* CPU time in each period */
	__u64 throttled_ns;		/* over all CPUs */
	__u32 n_periods, n_throttled;	/* n_throttled: periods in which the quota was used up */
	__u64 pad;
};

/* Facts about a wait that are cheap to read when the thread leaves its CPU, and its waker. */
struct cpu_wait {
	union {
		struct {	/* 0 but for CPU_WAKER_THREAD */
			__u64 waker_start_ns;
			__u64 waker_image;
			__u64 waker_goid;
			__u32 waker_tgid, waker_tid;
			char waker_comm[16];
		};
		struct cpu_quota quota;	/* with quota_of: a thread that was ready to run has no waker */
	};
	__u8 waker;		/* CPU_WAKER_* */
	__u8 call;		/* CPU_CALL_* */
	__u8 file;		/* type of the descriptor's file: S_IFMT >> 12; CPU_FILE_UNKNOWN */
	__u8 flags;		/* CPU_WAIT_* */
	__u8 quota_of;		/* CPU_QUOTA_*; only with CPU_WAIT_F_THROTTLED */
	__u8 pad[3];
};

#define CPU_WAIT_WORDS (sizeof(struct cpu_wait) / sizeof(__u64))

/* The file behind an address that had no unwind rows. */
struct cpu_need_rec {
	struct sonde_rec hdr;
	__u64 start, end;	/* of the mapping in the process of hdr.tgid */
	__u64 file_off;		/* of start, bytes */
	__u64 ino;
	__u32 dev;		/* major << 20 | minor */
	__u32 ino_generation;
	__u64 mtime_ns;		/* of the file, since 1970 */
};

/* Made by the live half. No ledger counts it (SONDE_RF_SNAPSHOT): it is about the whole run. */
struct cpu_totals_rec {
	struct sonde_rec hdr;
	__u64 periods;		/* of the clock, all CPUs; 0 = sampled by something else, or not at all */
	__u64 missed;		/* of these, without a sample */
	__u64 files, rows, bytes;	/* unwind tables at the end */
	__u64 pool_bytes;	/* kernel memory that they lie in */
	__u64 loaded, evicted;	/* this and the next: of the whole run */
	__u64 refused;		/* files that are walked by frame pointers because nothing could be made of them */
	__u64 gone;		/* requests whose process was gone */
	__u64 late;		/* compilations that took too long */
	__u64 walked_late;	/* stacks that user space walked, since a table came after them */
	__u64 stayed_cut;	/* stacks in the stream that end early because their table came too late */
	char reasons[];		/* why files were refused, the first few; lines separated by \n */
};

/* Not a record: how the clock of one CPU runs, in a map. */
struct cpu_pace {
	__u64 grid_ns;		/* CLOCK_MONOTONIC of the last period; 0 = none yet */
	__u64 periods;		/* that passed */
	__u64 missed;		/* of these, without a sample: the timer was late */
	__u64 turn;		/* samples that --max-cpu took or left out */
	__u64 pad[4];		/* a cache line of its own */
};

/* Not a record: a thread and how it left its CPU, in a map by tid. Slots have as many frames as were asked for. */
struct cpu_slot {
	__u64 out_ns;		/* CLOCK_MONOTONIC; 0 = it is on a CPU */
	__u64 woken_ns;		/* 0 = not yet */
	__u64 start_ns;		/* of its process */
	__u64 cgroup_id, image;
	struct sonde_ident id;	/* only goroutine and call */
	__u32 tgid, netns, state;
	__u16 n_user;
	__u8 user_end, mode;
	char comm[16];
	__u64 copied_ns;	/* its stack was copied, which is known by this; 0 = not */
	__u64 one_in;		/* waits that this one stands for */
	struct cpu_wait wait;
	__u64 ips[];
};

#ifndef __cplusplus
_Static_assert(sizeof(struct cpu_sample_rec) == 40 + 64 + 64, "cpu_sample_rec is ABI");
_Static_assert(sizeof(struct cpu_wait) == 56, "cpu_wait is ABI");
_Static_assert(sizeof(struct cpu_need_rec) == 40 + 48, "cpu_need_rec is ABI");
_Static_assert(sizeof(struct cpu_totals_rec) == 40 + 104, "cpu_totals_rec is ABI");
#endif

#endif
