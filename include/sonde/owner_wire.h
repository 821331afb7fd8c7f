/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Keys and values of the maps of socket owners (bpf/ident_sock.bpf.h, bpf/ident_flow.bpf.h).
 */
#ifndef SONDE_OWNER_WIRE_H
#define SONDE_OWNER_WIRE_H

#ifndef __bpf__
#include <linux/types.h>
#endif

/* Source of an owner. Append only. */
#define SONDE_OWNER_MAKER 0	/* created, bound, connected or listens on the socket, or on its listener */
#define SONDE_OWNER_USER 1	/* the last process that sent or received */
#define SONDE_OWNER_SNAPSHOT 2	/* the oldest holder at the start */

/* A closed socket. */
#define SONDE_ENDED_TCP 1
#define SONDE_ENDED_PORT 2	/* without connections: a bound one gets late packets */

/* The process when it got the socket; the process table has its current name. */
struct sonde_owner {
	__u32 tgid;		/* initial pid namespace */
	__u32 uid;		/* effective, initial user namespace */
	__u64 start_ns;		/* of the group leader, CLOCK_BOOTTIME: with tgid the process key */
	__u64 cgroup_id;	/* cgroup v2 */
	char comm[16];		/* of the group leader */
	__u64 fed_ns;		/* time and tuple of the last tuple_feed_due() that returned true */
	__u64 fed_hash;
	__u64 cookie;		/* of the socket that the process used: the listener's until a connection is used */
	__u64 image;		/* of the process, at its last use; 0 = unknown */
	__u32 changes;		/* of process, since the socket exists */
	__u8 by;		/* SONDE_OWNER_* */
	__u8 ended;		/* SONDE_ENDED_*: the next socket with its addresses is another */
	__u8 in_tree;		/* 1: a selected tree of processes has it, or has had it (bpf/filter.bpf.h) */
	__u8 pad;
};

/* Versions of IP, as families of addresses; 0 = neither. */
#define SONDE_IPV4 4
#define SONDE_IPV6 6

struct sonde_tuple {
	__u32 netns;		/* inode */
	__u8 family;		/* SONDE_IPV4, SONDE_IPV6 */
	__u8 proto;		/* IPPROTO_* */
	__u16 lport, rport;	/* host order; rport 0 = listening or unconnected */
	__u16 pad;		/* 0 */
	__u8 laddr[16], raddr[16]; /* network order; IPv4 in the first four bytes, the rest 0; all 0 = any */
};

/* The socket that sends packets of a tuple. */
struct sonde_sender {
	__u64 cookie;
	__u32 netns;		/* of the socket; another one than the tuple's = the packet came from there */
	__u32 group;		/* 1: several sockets are bound to the tuple, this is one of them */
};

#endif
