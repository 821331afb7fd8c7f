/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Connections that a listener refused: what the kernel counts as ListenDrops.
 */
#ifndef NET_REFUSED_WIRE_H
#define NET_REFUSED_WIRE_H

#include "sonde/ident_wire.h"
#include "sonde/wire.h"

#define NET_EV_REFUSED SONDE_EV(2, 36)	/* a listener refused a connection */
#define NET_EV_UNEXPLAINED SONDE_EV(2, 37)	/* ListenDrops of a namespace, and how many of them were reported */

#define NET_CLASS_REFUSED 5	/* row of the ledger */

/* Append only. */
#define NET_REFUSED_OTHER 0		/* no memory, no route, a security module, a broadcast address */
#define NET_REFUSED_ACCEPT_QUEUE 1	/* the accept queue is full: ListenOverflows */
#define NET_REFUSED_SYN_QUEUE 2		/* the queue of requests is full, and SYN cookies are off: TCPReqQFullDrop */
#define NET_REFUSED__MAX 3

/* Segment that was refused. */
#define NET_REFUSED_SYN 0
#define NET_REFUSED_ACK 1		/* the last one of the handshake */
#define NET_REFUSED_STEP__MAX 2

/* hdr: the listener's process; id.sock: the listener. */
struct net_refused_rec {
	struct sonde_rec hdr;
	struct sonde_ident id;
	__u32 netns, ifindex;
	__u32 queue, limit;	/* entries of the queue, and its limit, if @known */
	__u16 sport, dport;	/* host order */
	__u8 family;		/* SONDE_IPV4, SONDE_IPV6 */
	__u8 cause;		/* NET_REFUSED_* */
	__u8 step;		/* NET_REFUSED_SYN, NET_REFUSED_ACK */
	__u8 known;		/* queue and limit are set */
	__u8 saddr[16], daddr[16]; /* network order; IPv4 in the first four bytes */
	char ifname[16];
};

struct net_unexplained_rec {
	struct sonde_rec hdr;
	__u64 counted;		/* ListenDrops of the kernel, from the start of the run to its end */
	__u64 seen;		/* by the programs: reported, filtered or lost, as the ledger has it */
	__u32 netns;
	__u32 pad;
};

#ifndef __cplusplus
_Static_assert(sizeof(struct net_refused_rec) == 40 + 64 + 24 + 48, "net_refused_rec is ABI");
_Static_assert(sizeof(struct net_unexplained_rec) == 40 + 24, "net_unexplained_rec is ABI");
#endif

#endif
