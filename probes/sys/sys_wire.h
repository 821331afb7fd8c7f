/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Records of the sys probe: system calls at entry and exit, with the memory and the kernel state that their arguments
 * refer to.
 *
 * A record is a struct sys_rec followed by chunks, each with the memory behind one argument. Their meaning is not in
 * the record: the decoder looks up the number in the table of the record's ABI (tables/syscalls.tsv), so a recording
 * reads the same on any machine.
 */
#ifndef SYS_WIRE_H
#define SYS_WIRE_H

#include "sonde/ident_wire.h"
#include "sonde/wire.h"

#define SYS_REC_EXIT SONDE_EV(PROBE_ID, 1)
#define SYS_REC_ENTER SONDE_EV(PROBE_ID, 2)
#define SYS_REC_SWITCH SONDE_EV(PROBE_ID, 3)
#define SYS_REC_SIGNAL SONDE_EV(PROBE_ID, 4)
#define SYS_REC_FAULT SONDE_EV(PROBE_ID, 5)
#define SYS_REC_URING SONDE_EV(PROBE_ID, 6)
#define SYS_REC_SUM SONDE_EV(PROBE_ID, 7)
#define SYS_REC_GAP SONDE_EV(PROBE_ID, 8)	/* never a record: the decoder detects a gap */

#define SYS_REC_PROCEXIT SONDE_EV(PROBE_ID, 9)	/* a thread ended */

#define SYS_REC_LOST SONDE_EV(PROBE_ID, 10)
#define SYS_REC_SAMPLING SONDE_EV(PROBE_ID, 11)
#define SYS_REC_FILE SONDE_EV(PROBE_ID, 12)	/* an open file, before the first call on it */

/* Ledger classes: the programs of one class never interrupt each other on a CPU. */
#define SYS_LEDGER_CALL 0	/* enter and exit, bulk lane */
#define SYS_LEDGER_LIFE 1	/* the same for calls that change the process: life-cycle lane */
#define SYS_LEDGER_TRACE 2	/* context switches, signals */
#define SYS_LEDGER_FAULT 3	/* page faults */
#define SYS_LEDGER_URING 4
#define SYS_LEDGER_FILE 5	/* open files, life-cycle lane: written inside the programs of the first two */

/* ABI of a call's number. Append only: part of records. */
#define SYS_ABI_X86_64 0
#define SYS_ABI_I386 1
#define SYS_ABI_ARM64 2
#define SYS_ABI_ARM 3		/* 32-bit on arm64; no table */
#define SYS_ABI_X32 4		/* numbers of x86_64 without bit 30, 32-bit memory layout */
#define SYS_ABI__MAX 5

#define SYS_ARGS 6		/* arguments of a system call, all in registers */
#define SYS_ERRNO_LAST 4095	/* the kernel's MAX_ERRNO: results from -4095 to -1 are errors */

#define SYS_NR_MAX 512		/* numbers per ABI; higher numbers have no name */

#define SYS_F_RET_IS_PTR 1	/* reserved */
#define SYS_F_NO_ENTER 2	/* entered before the start: no latency */
#define SYS_F_FAULT 4		/* memory of an argument was unreadable: see its chunk */
#define SYS_F_SHORT 8	/* args[] is shorter: the rest of the record's length */
#define SYS_F_KILLED 16	/* the process died in the call: no program sees the result */

/* Body of entry and exit events: this struct from `ret` on, then the chunks. */
struct sys_rec {
	struct sonde_rec hdr;
	struct sonde_ident id;
	__s64 ret;		/* exit: raw result, negative errno on failure; entry: 0 */
	__u64 latency_ns;	/* exit: time since entry; 0 = unknown */
	__u16 nr;
	__u8 abi;		/* SYS_ABI_* */
	__u8 n_args;		/* valid members of args[]; 6 for calls without a table row */
	__u16 flags;		/* SYS_F_* */
	__u16 chunks_len;	/* bytes of chunks that follow, each padded to 8 bytes */
	__u64 args[SYS_ARGS];	/* registers at entry; fewer with SYS_F_SHORT */
};

/* Size of a record with @n arguments, bytes. */
#define SYS_REC_BYTES(n) (sizeof(struct sys_rec) - 8 * (SYS_ARGS - (n)))

/* Memory or kernel state of an argument or of the call. The next chunk begins at a multiple of 8 bytes. */
struct sys_chunk {
	__u8 arg;		/* index of the argument, or SYS_OF_* */
	__u8 what;		/* SYS_CHUNK_* */
	__u16 flags;		/* SYS_CHUNK_F_* */
	__u32 len;		/* bytes that follow */
};

#define SYS_OF_RET 6		/* file or process that the call returned */
#define SYS_OF_TASK 7		/* calling task */

#define SYS_CHUNK_F_CUT 1	/* truncated */
#define SYS_CHUNK_F_FAULT 2	/* unreadable from here on */

/* Append only. */
#define SYS_CHUNK_STR 1		/* string without its NUL */
#define SYS_CHUNK_STRV 2	/* strings of a NULL-terminated array, NUL after each */
#define SYS_CHUNK_MEM 3		/* a structure or array of the ABI */
#define SYS_CHUNK_DATA 4	/* payload, up to the snap length */
#define SYS_CHUNK_SOCKADDR 5	/* struct sockaddr in the caller's layout */
#define SYS_CHUNK_IOV 6		/* array of struct iovec; SYS_CHUNK_DATA of the same argument has its payload */
#define SYS_CHUNK_MSGHDR 7	/* struct msghdr; name, iov, data and control follow for the same argument */
#define SYS_CHUNK_CONTROL 8	/* ancillary data of a message */
#define SYS_CHUNK_SOCK 9	/* struct sys_sock: the socket behind a descriptor */
#define SYS_CHUNK_FILE 10	/* struct sys_file: the file behind a descriptor */
#define SYS_CHUNK_PROC 11	/* struct sys_proc, then its strings */
#define SYS_CHUNK__MAX 12

/* Socket behind a descriptor, at exit. */
struct sys_sock {
	__u16 family;		/* AF_* */
	__u16 type;		/* SOCK_* */
	__u16 proto;		/* IPPROTO_* */
	__u16 lport, rport;	/* host order */
	__u16 state;		/* TCP state */
	__u8 laddr[16], raddr[16]; /* network order; IPv4 in the first four bytes */
	__u32 queue_len, queue_max; /* listeners: pending connections, and the backlog */
	__u64 cookie;		/* 0 = not assigned yet */
	__u64 kernel_addr, peer_addr; /* AF_UNIX: struct sock of both ends */
	char path[112];		/* AF_UNIX: bound name of either end, NUL-terminated; abstract names begin with @ */
};

/* File behind a descriptor. */
struct sys_file {
	__u64 ino;
	__u32 dev;		/* major << 20 | minor */
	__u32 mode;		/* type and permissions */
};

/*
 * An open file that later calls name by its number. The header has the process of the first such call. The path
 * follows (PROC_PATH_PARTS: components, last first, NUL after each), or the one name of a file outside of any mount.
 */
struct sys_file_rec {
	struct sonde_rec hdr;
	__u64 number;		/* unique in the instance */
	__u64 ino;
	__u64 sock;		/* as in struct sonde_ident; 0 = no socket */
	__u32 dev;		/* major << 20 | minor */
	__u32 rdev;		/* of a device file */
	__u32 ino_generation;
	__u32 mode;		/* type and permissions */
	__u32 magic;		/* of the file system: s_magic */
	__u32 open_flags;	/* O_* when first seen */
	__u32 epoch;
	__u16 flags;		/* SYS_FILE_* */
	__u16 path_len;		/* bytes after the struct */
	struct sys_sock end;	/* sockets: addresses when first seen; else zero */
};

#define SYS_FILE_ROOTLESS 1	/* the walk did not reach the process's root */
#define SYS_FILE_DELETED 2	/* no directory has the name any more */
#define SYS_FILE_ALONE 4	/* the file never was in a directory: a name, no path */

/*
 * Calling process after exec and clone. Its strings follow in the order of their lengths, without a final NUL each.
 */
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
	__u32 tty;		/* encoded as in /proc/PID/stat */
	__u32 flags;		/* SYS_PROC_* */
	__u16 exe_len, cwd_len;	/* PROC_PATH_PARTS: components, last first, NUL after each */
	__u16 name_len;		/* exec: path as passed to the call */
	__u16 args_len, env_len; /* NUL after each string; argv[0] is the first */
	__u16 cgroup_len;	/* components as exe */
	char comm[16];
};

#define SYS_PROC_EXE_WRITABLE 1	/* by the effective user */
#define SYS_PROC_ARGS_CUT 2
#define SYS_PROC_ENV_CUT 4
#define SYS_PROC_CWD_ROOTLESS 8	/* the walk did not reach the root */
#define SYS_PROC_EXE_ROOTLESS 16
#define SYS_PROC_IN_PIDNS 32	/* not in the initial pid namespace */

struct sys_switch_rec {
	struct sonde_rec hdr;	/* task that leaves the CPU */
	__u32 next_tgid, next_tid;
	__u32 preempted;	/* 1: the task was still runnable */
	__u32 ran_us;		/* time on the CPU; 0 = unknown */
	__u64 maj_faults, min_faults;
	__u64 vm_size_kb, vm_rss_kb, vm_swap_kb;
	char next_comm[16];
};

struct sys_signal_rec {
	struct sonde_rec hdr;	/* task that gets the signal */
	__u32 signo;
	__s32 code;		/* SI_* */
	__u32 from_pid, from_uid; /* 0 = sent by the kernel */
	__u64 handler;		/* 0 = default, 1 = ignored */
	__u64 addr;		/* fault address; 0 = none */
	__u64 utime, stime;	/* of a child, in clock_t ticks */
	__s32 status;		/* of a child: exit status or signal */
	__u32 pad;
};

struct sys_fault_rec {
	struct sonde_rec hdr;
	__u64 addr, ip;
	__u64 error;		/* error code of the architecture */
	__u32 kernel;		/* 1: in kernel mode */
	__u32 pad;
};

/* Latency histogram: four buckets per octave from 0 ns; the last also holds latencies above 2^33 ns. */
#define SYS_STEPS 128

/* Counters of one call, summed over all CPUs. */
struct sys_stats_rec {
	struct sonde_rec hdr;
	__u16 nr;
	__u8 abi;		/* SYS_ABI_* */
	__u8 pad;
	__u32 rank;		/* 0 = most total time */
	__u64 calls, errors;
	__u64 total_ns;
	__u64 all_ns;		/* of all calls: total_ns is a share of it */
	__u64 steps[SYS_STEPS];
	__u64 timed;		/* calls that the times are based on */
	__u64 max_ns;
	__u64 one_in;		/* sampling rate; 1 = all calls were timed */
	__u64 first, long_ns;	/* calls of each number timed first, and duration above which all are timed */
	__u32 by;		/* SYS_BY_*: whose calls */
	__u32 by_pid;		/* 0 = all; with a `by`: processes beyond the table's size */
	char by_name[16];
	__u64 bytes;		/* read or written; older records end before it */
};

#define SYS_BY_ALL 0
#define SYS_BY_PROCESS 1	/* by_pid and its command name; exec changes the name */
#define SYS_BY_NAME 2		/* command name */

struct sys_procexit_rec {
	struct sonde_rec hdr;
	__u32 code;		/* status as in wait(2) */
	__u32 ran_us;		/* time on the CPU since the last switch; 0 = unknown */
};

/* Records of this call lost on this CPU (hdr.cpu) since the last such record. */
struct sys_lost_rec {
	struct sonde_rec hdr;
	__u16 nr;		/* SYS_NR_MAX: numbers without a table row */
	__u8 abi;		/* SYS_ABI_* */
	__u8 pad;
	__u32 cause;		/* SONDE_LOST_* */
	__u64 count;
};

/* From now on calls are recorded in 1/one_in of the time. */
struct sys_sampling_rec {
	struct sonde_rec hdr;
	__u32 one_in;
	__u32 cost_permille;	/* of one CPU: this process and its programs, over the last second */
	__u32 budget_permille;
	__u32 pad;
};

#define SYS_URING_SUBMIT 1
#define SYS_URING_COMPLETE 2

struct sys_uring_rec {
	struct sonde_rec hdr;
	__u64 ctx, req;		/* ring and request: kernel addresses that match submission and completion */
	__u64 user_data;
	__s64 res;		/* completion: result, negative errno on failure */
	__u32 flags;		/* submission: IOSQE_*; completion: IORING_CQE_F_* */
	__u8 what;		/* SYS_URING_* */
	__u8 opcode;		/* IORING_OP_* */
	__u16 pad;
};

#ifndef __cplusplus
_Static_assert(sizeof(struct sys_rec) == 40 + 64 + 24 + 48, "sys_rec is ABI");
_Static_assert(sizeof(struct sys_chunk) == 8, "sys_chunk is ABI");
_Static_assert(sizeof(struct sys_sock) == 12 + 32 + 12 + 24 + 112 + 0, "sys_sock is ABI");
_Static_assert(sizeof(struct sys_file) == 16, "sys_file is ABI");
_Static_assert(sizeof(struct sys_file_rec) == 40 + 24 + 32 + 192, "sys_file_rec is ABI");
_Static_assert(sizeof(struct sys_proc) == 104 + 40 + 12 + 16 + 4, "sys_proc is ABI");
_Static_assert(sizeof(struct sys_switch_rec) == 40 + 16 + 40 + 16, "sys_switch_rec is ABI");
_Static_assert(sizeof(struct sys_signal_rec) == 40 + 56, "sys_signal_rec is ABI");
_Static_assert(sizeof(struct sys_fault_rec) == 40 + 32, "sys_fault_rec is ABI");
_Static_assert(sizeof(struct sys_procexit_rec) == 40 + 8, "sys_procexit_rec is ABI");
_Static_assert(sizeof(struct sys_stats_rec) == 40 + 8 + 32 + 8 * SYS_STEPS + 40 + 24 + 8, "sys_stats_rec is ABI");
_Static_assert(sizeof(struct sys_lost_rec) == 40 + 16, "sys_lost_rec is ABI");
_Static_assert(sizeof(struct sys_sampling_rec) == 40 + 16, "sys_sampling_rec is ABI");
_Static_assert(sizeof(struct sys_uring_rec) == 40 + 40, "sys_uring_rec is ABI");
#endif

#endif
