/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Records of the net probe. All three kinds share one layout: properties of the packet and its owner, then the
 * packet's bytes, then kernel stack addresses.
 */
#ifndef NET_WIRE_H
#define NET_WIRE_H

#include "sonde/ident_wire.h"
#include "sonde/owner_wire.h"
#include "sonde/wire.h"

#define NET_EV_TRACE SONDE_EV(2, 32)	/* a packet passed an observation point */
#define NET_EV_DROP SONDE_EV(2, 33)	/* the kernel dropped a packet */
#define NET_EV_XDP SONDE_EV(2, 34)	/* an XDP program's verdict could not be carried out */

/* Hook classes: rows of the ledger. */
#define NET_CLASS_INGRESS 0
#define NET_CLASS_EGRESS 1
#define NET_CLASS_DROP 2
#define NET_CLASS_XDP 3

/* Kinds that have a snaplen and a rate limit of their own. */
#define NET_KIND_TRACE 0
#define NET_KIND_DROP 1
#define NET_KIND_XDP 2
#define NET_KIND_REFUSED 3
#define NET_KIND__MAX 4

/* Observation points. The numbers up to 13 are those of cilium's monitor; append only. */
#define NET_POINT_TO_ENDPOINT 0
#define NET_POINT_TO_PROXY 1
#define NET_POINT_TO_HOST 2
#define NET_POINT_TO_STACK 3
#define NET_POINT_TO_OVERLAY 4
#define NET_POINT_FROM_ENDPOINT 5
#define NET_POINT_FROM_PROXY 6
#define NET_POINT_FROM_HOST 7
#define NET_POINT_FROM_STACK 8
#define NET_POINT_FROM_OVERLAY 9
#define NET_POINT_FROM_NETWORK 10
#define NET_POINT_TO_NETWORK 11
#define NET_POINT_FROM_CRYPTO 12
#define NET_POINT_TO_CRYPTO 13
#define NET_POINT__MAX 14
#define NET_POINT_NONE 255

/* State of a packet in its flow; Cilium's trace reason plus one. Append only. */
#define NET_STATE_NONE 0	/* not known */
#define NET_STATE_NEW 1		/* no answer yet */
#define NET_STATE_ESTABLISHED 2
#define NET_STATE_REPLY 3
#define NET_STATE_RELATED 4 /* an ICMP error about another flow, or expected by one */
#define NET_STATE__MAX 5

/* Flag in the reason of a drop: forwarding stopped because the packet's TTL or hop limit was exhausted. */
#define NET_REASON_TTL 0x80000000u

#define NET_SNAP_MAX 262144	/* longest snaplen, as tcpdump's */
#define NET_STACK_MAX 127	/* deepest stack, PERF_MAX_STACK_DEPTH */
#define NET_PULLED_MAX 255	/* headers ahead of skb->data, at most */

#define NET_DIR_NONE 0
#define NET_DIR_IN 1
#define NET_DIR_OUT 2

/* End of a packet. Append only. */
#define NET_END_UNKNOWN 0
#define NET_END_SENDER 1
#define NET_END_RECEIVER 2
#define NET_END__MAX 3

/* The end of a packet that is not its owner; 0 = unknown in each member. */
struct net_peer {
	__u64 sock;		/* cookie */
	__u64 start_ns;
	__u32 tgid;
	__u8 how;		/* SONDE_HOW_* */
	__u8 foreign;		/* the socket is in another namespace than the packet */
	__u8 pad[2];
	char comm[16];		/* of the process when it got the socket */
};

/* hdr.tgid and hdr.start_ns are the owner's, 0 if unknown: never just the current task's. */
struct net_rec {
	struct sonde_rec hdr;
	struct sonde_ident id;	/* of the owning socket */
	struct net_peer peer;
	__u64 location;		/* drop: return address of the call that freed the packet */
	__u32 netns;		/* inode */
	__u32 ifindex;
	/* drop: enum skb_drop_reason, perhaps | NET_REASON_TTL; xdp: enum xdp_action; trace: NET_STATE_* */
	__u32 reason;
	__u32 prog_id;		/* xdp */
	__u32 orig_len;		/* bytes on the wire, VLAN tags of the metadata included */
	__u32 cap_len;		/* bytes of them in this record */
	__u32 mark;
	__u32 hash;	/* of the skb, if already computed */
	__u32 cur_tgid; /* the current task, whoever owns the packet */
	__u32 cur_tid;
	char cur_comm[16];
	char ifname[16];	/* drop: name of the device, whose namespace may not be watched */
	__u16 link;		/* SONDE_LINK_ETHERNET or SONDE_LINK_RAW */
	__u16 n_stack;		/* addresses behind the packet */
	__u8 point;		/* NET_POINT_* */
	__u8 dir;		/* NET_DIR_* */
	__u8 owner_end;		/* NET_END_* */
	__u8 owner_foreign;	/* the owner's socket is in another namespace than the packet */
	__s8 error;		/* xdp: negative errno, or 0 */
	__u8 translated;	/* 1: a struct sonde_tuple at the end, the packet's before its translation */
	__u8 pad[6];
	__u8 data[];		/* cap_len bytes, rounded up to 8, then n_stack addresses, innermost first */
};

/* An address of a namespace. */
struct net_addr {
	__u32 netns;
	__u8 family, pad[3];	/* SONDE_IPV4, SONDE_IPV6 */
	__u8 addr[16];		/* network order; IPv4 in the first four bytes, the rest 0 */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct net_peer) == 40, "net_peer is ABI");
_Static_assert(sizeof(struct net_rec) == 40 + 64 + 40 + 96, "net_rec is ABI");
_Static_assert(__builtin_offsetof(struct net_rec, data) % 8 == 0, "addresses are aligned to 8");
#endif

#endif
