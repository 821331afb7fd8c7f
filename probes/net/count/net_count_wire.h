/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Counters: packets and bytes by fate, place and reason. Map and records.
 */
#ifndef NET_COUNT_WIRE_H
#define NET_COUNT_WIRE_H

#include "sonde/wire.h"

#define NET_EV_COUNT SONDE_EV(2, 16)	/* one counter */

/* Kinds of counters. Append only. */
#define NET_COUNT_PASS 1	/* packets at an observation point */
#define NET_COUNT_DROP 2	/* packets that the kernel dropped */
#define NET_COUNT_XDP 3		/* XDP verdicts that could not be carried out; their bytes are unknown */
#define NET_COUNT_REST 4	/* all keys without room in the table */
#define NET_COUNT_FORWARD 5	/* of another datapath: forwarded, or at a point of that datapath's own */
#define NET_COUNT_DROPPED 6	/* of another datapath: dropped */
#define NET_COUNT_POLICY 7	/* a rule decided: reason is its line, location the generation of the file */
#define NET_COUNT_REFUSED 8	/* connections that listeners refused: reason is NET_REFUSED_* */
#define NET_COUNT__MAX 9

#define NET_COUNT_DIR_SERVICE 3 /* beside NET_DIR_*: of a service, which has no direction */

struct net_count_key {
	__u64 location;		/* drop: return address of the call that freed the packet */
	__u32 netns;		/* inode */
	__u32 ifindex;
	__u32 reason;		/* drop: enum skb_drop_reason; xdp: enum xdp_action */
	__u8 kind;		/* NET_COUNT_* */
	__u8 dir;		/* NET_DIR_* */
	__u8 point;		/* NET_POINT_* */
	__u8 verdict;		/* policy: NET_COUNT_ALLOW ... */
};

/* Verdict of a rule; 0 in older records. Append only. */
#define NET_COUNT_ALLOW 1
#define NET_COUNT_AUDIT 2	/* matched by a deny or audit rule */
#define NET_COUNT_VERDICT__MAX 3

struct net_count {
	__u64 packets, bytes;
};

/* Interfaces of namespaces that are not watched: their names are resolved through this key. */
struct net_count_iface {
	__u32 netns, ifindex;
};

struct net_count_rec {
	struct sonde_rec hdr;
	struct net_count_key key;	/* reason: SONDE_FOREIGN_REASON | code of another datapath */
	struct net_count since;	/* the last report */
	struct net_count total;
	__u64 interval_ns;	/* since the last report, or the start */
	__u32 row;		/* of the report, from 0 */
	__u16 line;		/* of another datapath; 0 = unknown */
	__u8 file;		/* its number */
	__u8 pad;
};

#ifndef __cplusplus
_Static_assert(sizeof(struct net_count_key) == 24, "no hole in the key");
_Static_assert(sizeof(struct net_count_rec) == 40 + 24 + 32 + 16, "net_count_rec is ABI");
#endif

#endif
