/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Records of the sys probe: system calls as they are entered and left, and what the kernel's memory and the
 * caller's say about their arguments.
 *
 * A record is a struct sys_rec and, behind it, chunks: what an argument points to, read in the kernel. Which
 * argument means what is no part of the record: numbers are looked up in the table of the ABI that it names
 * (tables/syscalls.tsv), so a recording is read the same way on any machine.
 */
#ifndef SYS_WIRE_H
#define SYS_WIRE_H

#include "sonde/wire.h"

#define SYS_REC_EXIT SONDE_EV(PROBE_ID, 1)
#define SYS_REC_ENTER SONDE_EV(PROBE_ID, 2)
#define SYS_REC_SWITCH SONDE_EV(PROBE_ID, 3)
#define SYS_REC_SIGNAL SONDE_EV(PROBE_ID, 4)
#define SYS_REC_FAULT SONDE_EV(PROBE_ID, 5)
#define SYS_REC_URING SONDE_EV(PROBE_ID, 6)
#define SYS_REC_SUM SONDE_EV(PROBE_ID, 7)
#define SYS_REC_GAP SONDE_EV(PROBE_ID, 8)	/* never a record: the decoder sees a hole and makes the event */

#define SYS_REC_PROCEXIT SONDE_EV(PROBE_ID, 9)	/* a thread ended */

#define SYS_REC_LOST SONDE_EV(PROBE_ID, 10)
#define SYS_REC_SAMPLING SONDE_EV(PROBE_ID, 11)

/* Ledger classes: the programs of one class never interrupt one another on a CPU. */
#define SYS_LEDGER_CALL 0	/* enter and exit, bulk lane */
#define SYS_LEDGER_LIFE 1	/* the same for calls that change what a process is: life-cycle lane */
#define SYS_LEDGER_TRACE 2	/* context switches, signals */
#define SYS_LEDGER_FAULT 3	/* page faults */
#define SYS_LEDGER_URING 4

/* Whose numbers these are. Append only: it travels in records. */
#define SYS_ABI_X86_64 0
#define SYS_ABI_I386 1
#define SYS_ABI_ARM64 2
#define SYS_ABI_ARM 3		/* 32-bit on arm64: recognised, has no table */
#define SYS_ABI_X32 4		/* numbers of x86_64 with bit 30 taken off, memory of 32 bits */
#define SYS_ABI__MAX 5

#define SYS_ARGS 6		/* arguments of a system call, all in registers */
#define SYS_ERRNO_LAST 4095	/* the kernel's MAX_ERRNO: results from -4095 to -1 are errors */

#define SYS_NR_MAX 512		/* numbers per ABI; above it a call is known by its number alone */

#define SYS_F_RET_IS_PTR 1	/* reserved */
#define SYS_F_NO_ENTER 2	/* the call began before the start: no latency */
#define SYS_F_FAULT 4		/* memory of some argument could not be read: its chunk says so */
#define SYS_F_SHORT 8	/* args[] ends early: it has what is left of the record's length */
#define SYS_F_KILLED 16	/* broken off by the end of the process: no program sees the result */

/* The body of an exit and of an enter event: this struct from `ret` on, then the chunks. */
struct sys_rec {
	struct sonde_rec hdr;
	__s64 ret;		/* exit: as the kernel returned it, negative errno on failure; enter: 0 */
	__u64 latency_ns;	/* exit: since it was entered; 0 = not known */
	__u16 nr;
	__u8 abi;		/* SYS_ABI_* */
	__u8 n_args;		/* of args[] that mean something; 6 for calls without a row */
	__u16 flags;		/* SYS_F_* */
	__u16 chunks_len;	/* bytes behind the struct, 8-byte padded chunks */
	__u64 args[SYS_ARGS];	/* registers, as they were at entry; fewer with SYS_F_SHORT */
};

/* Bytes of a record with @n of args[]. */
#define SYS_REC_BYTES(n) (sizeof(struct sys_rec) - 8 * (SYS_ARGS - (n)))

/* What an argument, or the call, is about. The next chunk starts at a multiple of 8 bytes. */
struct sys_chunk {
	__u8 arg;		/* index of the argument, SYS_OF_* for what none of them points to */
	__u8 what;		/* SYS_CHUNK_* */
	__u16 flags;		/* SYS_CHUNK_F_* */
	__u32 len;		/* bytes that follow */
};

#define SYS_OF_RET 6		/* about the file or process that the call returned */
#define SYS_OF_TASK 7		/* about the calling task */

#define SYS_CHUNK_F_CUT 1	/* there was more */
#define SYS_CHUNK_F_FAULT 2	/* could not be read (further) */

/* Append only. */
#define SYS_CHUNK_STR 1		/* string of the caller, without its NUL */
#define SYS_CHUNK_STRV 2	/* strings of a NULL-terminated array, NUL after each */
#define SYS_CHUNK_MEM 3		/* a structure or array of the ABI */
#define SYS_CHUNK_DATA 4	/* bytes read or written, up to the snap length */
#define SYS_CHUNK_SOCKADDR 5	/* struct sockaddr as user space has it */
#define SYS_CHUNK_IOV 6		/* array of struct iovec; its bytes are the SYS_CHUNK_DATA of the same argument */
#define SYS_CHUNK_MSGHDR 7	/* struct msghdr; name, iov, data and control follow for the same argument */
#define SYS_CHUNK_CONTROL 8	/* ancillary data of a message */
#define SYS_CHUNK_SOCK 9	/* struct sys_sock: the socket behind a descriptor */
#define SYS_CHUNK_FILE 10	/* struct sys_file: the file behind a descriptor */
#define SYS_CHUNK_PROC 11	/* struct sys_proc, then its strings */
#define SYS_CHUNK__MAX 12

/* The socket behind a descriptor, as it is when the call is left. */
struct sys_sock {
	__u16 family;		/* AF_* */
	__u16 type;		/* SOCK_* */
	__u16 proto;		/* IPPROTO_* */
	__u16 lport, rport;	/* host order */
	__u16 state;		/* of TCP */
	__u8 laddr[16], raddr[16]; /* network order; IPv4 in the first four bytes */
	__u32 queue_len, queue_max; /* listeners: connections that wait, and how many may */
	__u64 cookie;		/* 0 = nobody asked for it yet */
	__u64 kernel_addr, peer_addr; /* AF_UNIX: struct sock of both ends */
	char path[112];		/* AF_UNIX: bound name of either end, NUL-terminated; abstract names begin with @ */
};

/* The file behind a descriptor. */
struct sys_file {
	__u64 ino;
	__u32 dev;		/* major << 20 | minor */
	__u32 mode;		/* type and permissions */
};

/* The calling process (after exec and clone). Strings behind it in this order, without NUL at the end of each. */
struct sys_proc {
	__u64 cgroup_id;
	__u64 vm_size_kb, vm_rss_kb, vm_swap_kb;
	__u64 maj_faults, min_faults;
	__u64 fd_limit;
	__u64 cap_inheritable, cap_permitted, cap_effective;
	__u64 exe_ino, exe_ctime_ns, exe_mtime_ns;
	__u32 ppid, pgid, sid;
	__u32 uid, gid, loginuid;
	__u32 vtid, vpid;	/* in its own pid namespace */
	__u32 tty;		/* as in /proc/PID/stat */
	__u32 flags;		/* SYS_PROC_* */
	__u16 exe_len, cwd_len;	/* PROC_PATH_PARTS: components, last first, NUL after each */
	__u16 name_len;		/* exec: the program as it was asked for */
	__u16 args_len, env_len; /* NUL after each string; argv[0] is the first */
	__u16 cgroup_len;	/* components as exe */
	char comm[16];
};

#define SYS_PROC_EXE_WRITABLE 1	/* by the effective user */
#define SYS_PROC_ARGS_CUT 2
#define SYS_PROC_ENV_CUT 4
#define SYS_PROC_CWD_ROOTLESS 8	/* the walk did not end at the root */
#define SYS_PROC_EXE_ROOTLESS 16
#define SYS_PROC_IN_PIDNS 32	/* not in the initial pid namespace */

struct sys_switch_rec {
	struct sonde_rec hdr;	/* the task that leaves the CPU */
	__u32 next_tgid, next_tid;
	__u32 preempted;	/* 1: it could have gone on */
	__u32 ran_us;		/* since it got the CPU; 0 = not known */
	__u64 maj_faults, min_faults;
	__u64 vm_size_kb, vm_rss_kb, vm_swap_kb;
	char next_comm[16];
};

struct sys_signal_rec {
	struct sonde_rec hdr;	/* the task that gets the signal */
	__u32 signo;
	__s32 code;		/* SI_* */
	__u32 from_pid, from_uid; /* 0 = the kernel */
	__u64 handler;		/* 0 default, 1 ignore */
	__u64 addr;		/* of a fault; 0 = none */
	__u64 utime, stime;	/* of a child, in the kernel's ticks for clock_t */
	__s32 status;		/* of a child: what it exited with, or a signal */
	__u32 pad;
};

struct sys_fault_rec {
	struct sonde_rec hdr;
	__u64 addr, ip;
	__u64 error;		/* of the architecture */
	__u32 kernel;		/* in kernel mode */
	__u32 pad;
};

/* Latencies: four steps an octave, from 0 ns; the last takes all that is longer than 2^33 ns. */
#define SYS_STEPS 128

/* What the kernel side counted of one call, all CPUs together. */
struct sys_stats_rec {
	struct sonde_rec hdr;
	__u16 nr;
	__u8 abi;		/* SYS_ABI_* */
	__u8 pad;
	__u32 rank;		/* 0 = of all calls that with the most time */
	__u64 calls, errors;
	__u64 total_ns;
	__u64 all_ns;		/* of all calls: what total_ns is a part of */
	__u64 steps[SYS_STEPS];
	__u64 timed;		/* of `calls`: what the times are from */
	__u64 max_ns;
	__u64 one_in;		/* calls of which one was timed; 1 = all were */
	__u64 first, long_ns;	/* and of each number the first ones, and all that took longer than this */
	__u32 by;		/* SYS_BY_*: whose calls these are */
	__u32 by_pid;		/* 0 = of all; with a `by`: those for whom there was no room */
	char by_name[16];
};

#define SYS_BY_ALL 0
#define SYS_BY_PROCESS 1	/* by_pid and its command name, which an exec changes */
#define SYS_BY_NAME 2		/* command name */

struct sys_procexit_rec {
	struct sonde_rec hdr;
	__u32 code;		/* as wait(2) has it */
	__u32 ran_us;		/* since it last got the CPU; 0 = not known */
};

/* Records that were lost since the last one of this call and CPU (hdr.cpu). */
struct sys_lost_rec {
	struct sonde_rec hdr;
	__u16 nr;		/* SYS_NR_MAX: one that no table has */
	__u8 abi;		/* SYS_ABI_* */
	__u8 pad;
	__u32 cause;		/* SONDE_LOST_* */
	__u64 count;
};

/* From here on calls are seen in 1/one_in of the time. */
struct sys_sampling_rec {
	struct sonde_rec hdr;
	__u32 one_in;
	__u32 cost_permille;	/* of one CPU: this process and its programs, in the second before */
	__u32 budget_permille;
	__u32 pad;
};

#define SYS_URING_SUBMIT 1
#define SYS_URING_COMPLETE 2

struct sys_uring_rec {
	struct sonde_rec hdr;
	__u64 ctx, req;		/* ring and request, kernel addresses that tie submission and completion together */
	__u64 user_data;
	__s64 res;		/* completion: result, negative errno on failure */
	__u32 flags;		/* submission: IOSQE_*; completion: IORING_CQE_F_* */
	__u8 what;		/* SYS_URING_* */
	__u8 opcode;		/* IORING_OP_* */
	__u16 pad;
};

#ifndef __cplusplus
_Static_assert(sizeof(struct sys_rec) == 40 + 24 + 48, "sys_rec is ABI");
_Static_assert(sizeof(struct sys_chunk) == 8, "sys_chunk is ABI");
_Static_assert(sizeof(struct sys_sock) == 12 + 32 + 12 + 24 + 112 + 0, "sys_sock is ABI");
_Static_assert(sizeof(struct sys_file) == 16, "sys_file is ABI");
_Static_assert(sizeof(struct sys_proc) == 104 + 40 + 12 + 16 + 4, "sys_proc is ABI");
_Static_assert(sizeof(struct sys_switch_rec) == 40 + 16 + 40 + 16, "sys_switch_rec is ABI");
_Static_assert(sizeof(struct sys_signal_rec) == 40 + 56, "sys_signal_rec is ABI");
_Static_assert(sizeof(struct sys_fault_rec) == 40 + 32, "sys_fault_rec is ABI");
_Static_assert(sizeof(struct sys_procexit_rec) == 40 + 8, "sys_procexit_rec is ABI");
_Static_assert(sizeof(struct sys_stats_rec) == 40 + 8 + 32 + 8 * SYS_STEPS + 40 + 24, "sys_stats_rec is ABI");
_Static_assert(sizeof(struct sys_lost_rec) == 40 + 16, "sys_lost_rec is ABI");
_Static_assert(sizeof(struct sys_sampling_rec) == 40 + 16, "sys_sampling_rec is ABI");
_Static_assert(sizeof(struct sys_uring_rec) == 40 + 40, "sys_uring_rec is ABI");
#endif

#endif
