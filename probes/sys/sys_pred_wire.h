/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Conditions on a call that the kernel side checks: read-only data of the programs, worked out from the filter
 * expression. No record holds any of this.
 */
#ifndef SYS_PRED_WIRE_H
#define SYS_PRED_WIRE_H

#include "sonde/wire.h"

#define SYS_SET_MOST 16		/* members of a set: more stay in user space */
#define SYS_ERRNO_MAX 4096
#define SYS_FILES_MOST 16384	/* opened files whose names are remembered */

/* What is checked: bits of `on`; in `not` for "not one of these". */
#define SYS_PRED_RET 1		/* the result lies between ret_min and ret_max */
#define SYS_PRED_LATENCY 2	/* it is known, and between latency_min and latency_max */
#define SYS_PRED_ERRNO 4	/* by error number; 0 = it did not fail */
#define SYS_PRED_TGID 8
#define SYS_PRED_TID 16
#define SYS_PRED_COMM 32	/* of the process, not of the thread */
#define SYS_PRED_CGROUP 64
#define SYS_PRED_CONTAINER 128	/* the cgroup, or one above it, is among these */
#define SYS_PRED_CALLS 256	/* sys_checks has more to check by call: SYS_CHECK_* */

/* Of a call: bits that say what its descriptor may be, then which argument that is, which a path; 7 = none. */
#define SYS_CHECK_FDS 0xffu	/* SYS_FD_* */
#define SYS_CHECK_FD_SHIFT 8	/* three bits */
#define SYS_CHECK_PATH_SHIFT 11	/* three bits: a path that must begin with one of `prefixes` */
#define SYS_CHECK_OPENS (1u << 14)	/* instead: the file that it opens is known by that path */
#define SYS_CHECK_ANY_RESULT (1u << 15)	/* of this call no error counts */
#define SYS_CHECK_NOTHING (SYS_CHECK_FDS | 7u << SYS_CHECK_FD_SHIFT | 7u << SYS_CHECK_PATH_SHIFT)

/* What lies behind a descriptor, as far as its inode and its socket say. */
#define SYS_FD_PLAIN 1u		/* files, devices, and what has no inode of its own */
#define SYS_FD_DIR 2u
#define SYS_FD_PIPE 4u
#define SYS_FD_INET 8u
#define SYS_FD_INET6 16u
#define SYS_FD_UNIX 32u
#define SYS_FD_NETLINK 64u
#define SYS_FD_OTHER 128u	/* sockets of other families */

#define SYS_PREFIX_MOST 4
#define SYS_PREFIX_WORDS 8	/* of eight bytes: longer ones are cut */
#define SYS_PATH_LOOK 128	/* bytes of a path that are looked at: nothing is said of longer ones */

/* What a path must begin with: the words of it that @mask has bits in. */
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
	__u64 comms[SYS_SET_MOST][2];	/* 16 bytes, zero behind the name */
	__u64 containers[SYS_SET_MOST];	/* their topmost cgroups */
	struct sys_prefix prefixes[SYS_PREFIX_MOST];
	__u8 prefixes_plain;	/* paths are compared as they are once "//", "." and ".." are gone */
	__u8 by_name;		/* files are told apart by the path they were opened with */
	__u8 pad[6];
	__u8 errnos[SYS_ERRNO_MAX / 8];	/* a bit for each that may pass */
};

#endif
