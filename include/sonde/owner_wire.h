/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Keys and values of the maps that know who owns a socket (bpf/owner.bpf.h), for programs and for those who ask from
 * user space.
 */
#ifndef SONDE_OWNER_WIRE_H
#define SONDE_OWNER_WIRE_H

#ifndef __bpf__
#include <linux/types.h>
#endif

/* The process as it was when it got the socket; its present name is the process table's business. */
struct sonde_owner {
	__u32 tgid;		/* initial pid namespace */
	__u32 uid;		/* effective, initial user namespace */
	__u64 start_ns;		/* of the group leader, CLOCK_BOOTTIME: with tgid the process key */
	__u64 cgroup_id;	/* cgroup v2 */
	char comm[16];		/* of the group leader */
	__u64 fed_ns;		/* when, and for which tuple, tuple_feed_due() last said yes */
	__u64 fed_hash;
};

struct sonde_tuple {
	__u32 netns;		/* inode */
	__u8 family;		/* 4 or 6 */
	__u8 proto;		/* IPPROTO_* */
	__u16 lport, rport;	/* host order; rport 0 = listening or unconnected */
	__u16 pad;		/* 0 */
	__u8 laddr[16], raddr[16]; /* network order; IPv4 in the first four bytes, the rest 0; all 0 = any */
};

#endif
