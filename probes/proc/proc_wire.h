/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Records of the proc probe: tasks, executable mappings, sockets.
 *
 * The header's tgid, tid and start_ns are those of the task the record is about (for a fork: the child; for a
 * socket: its owner). The same structs come from tracepoints (things that happen) and, with
 * SONDE_RF_SNAPSHOT, from iterators at the start (things that were there).
 */
#ifndef PROC_WIRE_H
#define PROC_WIRE_H

#include "sonde/ident_wire.h"
#include "sonde/wire.h"

#define PROC_REC_FORK SONDE_EV(PROBE_ID, 1)
#define PROC_REC_EXEC SONDE_EV(PROBE_ID, 2)
#define PROC_REC_EXIT SONDE_EV(PROBE_ID, 3)
#define PROC_REC_RENAME SONDE_EV(PROBE_ID, 4)
#define PROC_REC_CGROUP SONDE_EV(PROBE_ID, 5)
#define PROC_REC_MMAP SONDE_EV_MMAP
#define PROC_REC_SOCKET SONDE_EV(PROBE_ID, 7)
#define PROC_REC_TASK SONDE_EV(PROBE_ID, 8)

/* Ledger classes: the programs of one class never interrupt one another on a CPU. */
#define PROC_CLASS_LIFE 0	/* tracepoints of tasks: process context, not preempted */
#define PROC_CLASS_TCP 1	/* inet_sock_set_state: also in softirq */
#define PROC_CLASS_USE 2	/* users of sockets: process context, not preempted */

#define PROC_NAME_BYTES 256	/* most bytes of a requested file name */
#define PROC_PATH_BYTES 512	/* most bytes of a path */
#define PROC_ARGS_BYTES 512	/* most bytes of arguments */

/* Identity of a task. */
struct proc_who {
	__u64 cgroup_id;	/* cgroup v2 */
	__u32 ppid;		/* tgid of the parent */
	__u32 uid, gid;		/* effective */
	__u32 netns, pidns, mntns; /* inodes */
	__u32 ns_tgid, ns_tid;	/* as seen in its own pid namespace */
	char comm[16];		/* of the thread */
};

struct proc_fork_rec {
	struct sonde_rec hdr;	/* the child; tid != tgid: a new thread */
	struct sonde_ident id;
	struct proc_who who;
	__u64 maker_start_ns;	/* of the process that called fork or clone (with CLONE_PARENT not the parent) */
	__u32 maker_tgid, maker_tid;
};

/*
 * Strings behind the struct, one after the other: file name as requested (with #! the script), path of the
 * executable, arguments. The path is PROC_PATH_*; arguments end in NUL each.
 */
struct proc_exec_rec {
	struct sonde_rec hdr;
	struct sonde_ident id;
	struct proc_who who;
	/*
	 * When its memory became the new program's: mappings older than this are gone. The new ones are younger, and
	 * most of them older than this record, which is made when the program is ready to run. 0 = unknown.
	 */
	__u64 image_ns;
	__u64 exe_ino;
	__u32 exe_dev;		/* kernel's dev_t: major << 20 | minor */
	__u32 old_tid;		/* of the thread that called exec; not the leader's in a threaded process */
	__u16 name_len, path_len, args_len;
	__u8 path_form;		/* PROC_PATH_* */
	__u8 ended;		/* of a task record: the process had ended by then */
};

/* A task that was there before the start, or had ended shortly before: as an exec, without knowing when that was. */
#define proc_task_rec proc_exec_rec

#define proc_mmap_rec sonde_mmap_rec	/* live halves of other probes read it too */

#define PROC_PATH_PLAIN SONDE_PATH_PLAIN
#define PROC_PATH_PARTS 1	/* components below the task's root, last first, NUL after each */
#define PROC_PATH_ROOTLESS 2	/* the same, but the walk did not end at a root: memfd, detached mount, too deep */

struct proc_exit_rec {
	struct sonde_rec hdr;
	struct sonde_ident id;
	__s32 status;		/* of this task, as wait(2) gives it */
	__s32 group_status;	/* of the whole process; valid when last */
	__u8 last;		/* no thread of the process is left */
	__u8 pad[7];
	char comm[16];
};

struct proc_rename_rec {
	struct sonde_rec hdr;
	struct sonde_ident id;
	char comm[16];
	char old[16];
};

struct proc_cgroup_rec {
	struct sonde_rec hdr;
	struct sonde_ident id;
	__u64 cgroup_id;	/* where it is from now on */
};

#define PROC_SOCK_HELD 0	/* was there before the start */
#define PROC_SOCK_OPEN 1	/* reserved: creation fills maps and makes no record */
#define PROC_SOCK_LISTEN 2
#define PROC_SOCK_CONNECT 3
#define PROC_SOCK_ACCEPT 4	/* connection of a listener is established; owner: the listener's */
#define PROC_SOCK_CLOSE 5
#define PROC_SOCK_USE 6		/* another process than before sent or received; owner: that process */

struct proc_socket_rec {
	struct sonde_rec hdr;
	struct sonde_ident id;
	__u64 cookie;
	__u64 listener;		/* PROC_SOCK_ACCEPT: cookie of the listener, 0 = unknown */
	__u64 cgroup_id;	/* of the owner */
	__u32 netns;		/* inode */
	__u8 what;		/* PROC_SOCK_* */
	__u8 family;		/* SONDE_IPV4, SONDE_IPV6 */
	__u8 proto;		/* IPPROTO_* */
	__u8 state;		/* of TCP, as in the kernel's tcp_states.h */
	__u16 lport, rport;	/* host order */
	__u8 laddr[16], raddr[16]; /* network order; IPv4 in the first four bytes */
	char comm[16];		/* of the owner when it got the socket */
	__u32 pad;
};

#ifndef __cplusplus
_Static_assert(sizeof(struct proc_who) == 56, "proc_who is ABI");
_Static_assert(sizeof(struct proc_fork_rec) == 40 + 64 + 56 + 16, "proc_fork_rec is ABI");
_Static_assert(sizeof(struct proc_exec_rec) == 40 + 64 + 56 + 32, "proc_exec_rec is ABI");
_Static_assert(sizeof(struct proc_exit_rec) == 64 + 72, "proc_exit_rec is ABI");
_Static_assert(sizeof(struct proc_rename_rec) == 64 + 72, "proc_rename_rec is ABI");
_Static_assert(PROC_REC_MMAP == SONDE_EV(PROBE_ID, 6), "the number that others know");
_Static_assert(sizeof(struct proc_mmap_rec) == 40 + 72, "proc_mmap_rec is ABI");
_Static_assert(sizeof(struct proc_socket_rec) == 40 + 64 + 88, "proc_socket_rec is ABI");
#endif

#endif
