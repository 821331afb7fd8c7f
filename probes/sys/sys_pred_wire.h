/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Conditions that the kernel checks: read-only data that user space derives from the filter expression. None of this
 * is in records.
 */
#ifndef SYS_PRED_WIRE_H
#define SYS_PRED_WIRE_H

#include "sonde/wire.h"

#define SYS_SET_MOST 16		/* members of a set; larger sets stay in user space */
#define SYS_ERRNO_MAX 4096
#define SYS_FILES_MOST 16384	/* opened files that are remembered by name */

/* Conditions in use: bits of `on`. The same bit in `not` negates a set. */
#define SYS_PRED_RET 1		/* ret_min <= result <= ret_max */
#define SYS_PRED_LATENCY 2	/* latency is known, and latency_min <= latency <= latency_max */
#define SYS_PRED_ERRNO 4	/* by error number; 0 = success */
#define SYS_PRED_TGID 8
#define SYS_PRED_TID 16
#define SYS_PRED_COMM 32	/* of the process */
#define SYS_PRED_CGROUP 64
#define SYS_PRED_CONTAINER 128	/* the cgroup or an ancestor is in `containers` */
#define SYS_PRED_CALLS 256	/* sys_checks holds SYS_CHECK_* by call */

/*
 * Check of one call: types that its descriptor may have, the argument with the descriptor, the argument with the
 * path.
 */
#define SYS_CHECK_FDS 0xffu	/* SYS_FD_* */
#define SYS_CHECK_NO_ARG 7u	/* also the mask of both */
#define SYS_CHECK_FD_SHIFT 8	/* three bits: its path must begin with one of `prefixes` */
#define SYS_CHECK_PATH_SHIFT 11	/* instead: the opened file is remembered by that path */
#define SYS_CHECK_OPENS (1u << 14)	/* instead: the file that it opens is known by that path */
#define SYS_CHECK_ANY_RESULT (1u << 15)	/* Types of descriptors, by inode and socket family. */
#define SYS_CHECK_NOTHING \
	(SYS_CHECK_FDS | SYS_CHECK_NO_ARG << SYS_CHECK_FD_SHIFT | SYS_CHECK_NO_ARG << SYS_CHECK_PATH_SHIFT)

/* files, devices, anonymous inodes */
#define SYS_FD_PLAIN 1u		/* files, devices, and what has no inode of its own */
#define SYS_FD_DIR 2u
#define SYS_FD_PIPE 4u
#define SYS_FD_INET 8u
#define SYS_FD_INET6 16u
#define SYS_FD_UNIX 32u
#define SYS_FD_NETLINK 64u
#define SYS_FD_OTHER 128u	/* eight bytes each; longer prefixes are truncated */

#define SYS_PREFIX_MOST 4
#define SYS_PREFIX_WORDS 8	/* bytes of a path that are compared; longer paths pass */
#define SYS_PATH_LOOK 128	/* Prefix of a path: the bytes of @text that @mask covers. */

/* 16 bytes, zero-padded */
struct sys_prefix {
	__u64 text[SYS_PREFIX_WORDS], mask[SYS_PREFIX_WORDS];
};

struct sys_pred {
	__u32 on, not;
	__s64 ret_min, ret_max;
	__u64 latency_min, latency_max;
	__u32 n_tgids, n_tids, n_comms, n_cgroups;
	__u32 n_containers, n_prefixes;
	__u32 tgids[SYS_SET_MOST], tids[SYS_SET_MOST];
	__u64 cgroups[SYS_SET_MOST];
	__u64 comms[SYS_SET_MOST][2];	/* topmost cgroup of each */
	__u64 containers[SYS_SET_MOST];	/* paths are compared after removal of "//", "." and ".." */
	struct sys_prefix prefixes[SYS_PREFIX_MOST];
	__u8 prefixes_plain;	/* files are distinguished by the path of their open */
	__u8 by_name;		/* bit set of errors that pass */
	__u8 pad[6];
	__u8 errnos[SYS_ERRNO_MAX / 8];	/* a bit for each that may pass */
};

#endif
