/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Packets in recordings of format 1.0: one owner, and no identity block. net_decode_1.c converts them.
 */
#ifndef NET_1_WIRE_H
#define NET_1_WIRE_H

#include "sonde/wire.h"

#define NET_EV_TRACE_1 SONDE_EV(2, 1)
#define NET_EV_DROP_1 SONDE_EV(2, 2)
#define NET_EV_XDP_1 SONDE_EV(2, 3)
#define NET_EV_VERDICT_1 SONDE_EV(2, 18)

/* Source of a packet's owner. */
#define NET_OWNER_1_NONE 0
#define NET_OWNER_1_RX_SK 1	/* the receiving socket, passed by the tracepoint */
#define NET_OWNER_1_SKB_SK 2	/* the socket that the packet carries */
#define NET_OWNER_1_TUPLE 3	/* a socket of this namespace that sent on this 5-tuple, either direction */
#define NET_OWNER_1_LISTENER 4	/* the socket that listens on the destination */
#define NET_OWNER_1_REMOTE_TUPLE 5	/* a socket of another namespace of this host sent on this 5-tuple */

/* Members as in struct net_rec. */
struct net_rec_1 {
	struct sonde_rec hdr;
	__u64 cookie, cgroup_id;
	__u64 location;
	__u32 netns, ifindex;
	__u32 reason, prog_id;
	__u32 orig_len, cap_len;
	__u32 mark, hash;
	__u32 cur_tgid, cur_tid;
	char cur_comm[16];
	char ifname[16];
	__u16 link, n_stack;
	__u8 point, dir;
	__u8 owner_by;		/* NET_OWNER_1_* */
	__s8 error;
	__u8 data[];
};

#ifndef __cplusplus
_Static_assert(sizeof(struct net_rec_1) == 144, "net_rec_1 is ABI");
#endif

#endif
