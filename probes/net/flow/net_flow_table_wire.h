/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A flow in the kernel's table, and its conversion to a record.
 *
 * Two CPUs usually count the two directions, and a cache line that both write costs each more than all the other
 * work. So packets write to their direction's half, and at least 64 bytes that packets do not touch surround it:
 * distances, because the alignment of a map value to cache lines is unknown.
 */
#ifndef NET_FLOW_TABLE_WIRE_H
#define NET_FLOW_TABLE_WIRE_H

#ifndef __bpf__
#include <netinet/in.h>
#endif

#include "probes/net/flow/net_flow_wire.h"
#include "probes/net/net_wire.h"

/* Fields that packets of one direction write. */
struct net_flow_half {
	__u64 packets, bytes;
	__u64 last_ns;		/* of the first packet in a tick, and of those that change something */
	__u32 tick;		/* jiffies then: reading the clock costs as much as finding the flow */
	__u32 retransmitted, zero_windows, next_seq; /* as in struct net_flow_way, and so is the next */
	__u8 tcp_flags, reported_flags, queries, owns;
	__u32 srtt_us; /* as in struct net_flow_direction */
};

/* Value of the map net_flows; fields as in struct net_flow. */
struct net_flow_entry {
	__u64 reported_ns, closed_ns; /* each packet reads the first line */
	__u8 dir, family, proto, nat, ct, offloaded, owner, refused;
	struct net_flow_end src, dst;
	__u64 cookie, cgroup_id;
	struct net_flow_half forward;
	struct net_flow_end nat_src, nat_dst;
	__u8 next_hop[16];
	__u64 owner_start_ns, first_ns;
	__u32 owner_tgid, rtt_ns;
	struct net_flow_half back;
	__u32 mark, out_ifindex;
	__u32 syn_seq[2];	/* of the last SYN, by NET_WAY_* */
	struct net_flow_direction turn[2]; /* written by other programs than those of packets */
};

static inline void net_flow_way_of(const struct net_flow_half *h, struct net_flow_way *ret)
{
	ret->packets = h->packets;
	ret->bytes = h->bytes;
	ret->retransmitted = h->retransmitted;
	ret->zero_windows = h->zero_windows;
	ret->next_seq = h->next_seq;
	ret->tcp_flags = h->tcp_flags;
	ret->reported_flags = h->reported_flags;
	ret->queries = h->queries;
	ret->owns = h->owns;
}

/* Fills in all of *ret. */
static inline void net_flow_of(const struct net_flow_entry *e, struct net_flow *ret)
{
	ret->first_ns = e->first_ns;
	ret->last_ns = e->forward.last_ns > e->back.last_ns ? e->forward.last_ns : e->back.last_ns;
	ret->reported_ns = e->reported_ns;
	ret->closed_ns = e->closed_ns;
	net_flow_way_of(&e->forward, &ret->way[NET_WAY_FORWARD]);
	net_flow_way_of(&e->back, &ret->way[NET_WAY_BACK]);
	ret->cookie = e->cookie;
	ret->cgroup_id = e->cgroup_id;
	ret->owner_start_ns = e->owner_start_ns;
	ret->owner_tgid = e->owner_tgid;
	ret->rtt_ns = e->rtt_ns;
	ret->mark = e->mark;
	ret->out_ifindex = e->out_ifindex;
	ret->src = e->src;
	ret->dst = e->dst;
	ret->nat_src = e->nat_src;
	ret->nat_dst = e->nat_dst;
	__builtin_memcpy(ret->next_hop, e->next_hop, sizeof(ret->next_hop));
	ret->family = e->family;
	ret->proto = e->proto;
	ret->dir = e->dir;
	ret->owner = e->owner;
	ret->ct = e->ct;
	ret->offloaded = e->offloaded;
	ret->nat = e->nat;
	ret->refused = e->refused;
	__builtin_memcpy(ret->turn, e->turn, sizeof(ret->turn));
	ret->turn[NET_WAY_FORWARD].srtt_us = e->forward.srtt_us;
	ret->turn[NET_WAY_BACK].srtt_us = e->back.srtt_us;
}

/* ---- slots ---- */

#define NET_FLOW_SLOTS 4096	/* per namespace, a power of two */
#define NET_FLOW_SLOT_BITS 12

/* Low byte of `what`; 0 = free. */
#define NET_FLOW_SLOT_LIVE 1	/* packets are counted into it */
#define NET_FLOW_SLOT_SHUT 2	/* only packets in flight still count: its flow is about to be removed */

/* One direction, as in the packet. */
struct net_flow_slot_key {
	__u32 src, dst, ports;	/* network order */
	__u32 ifindex;
	__u32 what;		/* NET_FLOW_SLOT_* | protocol << 8 | NET_DIR_* << 16 */
};

#define NET_FLOW_DUE_SHIFT 20

/* IPv4 without options, TCP and UDP. */
struct net_flow_slot {
	struct net_flow_slot_key key;
	__u32 claims;	      /* 1 = owned by a flow */
	__u64 packets, bytes; /* in addition to those of the half in the table */
	__u64 last_ns;
	__u32 tick, next_seq; /* these three as in the half, but newer */
	__u32 due;	      /* time of the next possible report, in ns >> NET_FLOW_DUE_SHIFT */
	__u8 tcp_flags, pad[3];
};

static inline __u32 net_flow_slot_index(const struct net_flow_slot_key *k)
{
	__u64 h = (k->src | (__u64)k->dst << 32) * 0x9e3779b97f4a7c15ull ^
		  (k->ports | (__u64)k->ifindex << 32) * 0xc2b2ae3d27d4eb4full;

	return (h ^ h >> 29) * 0x9e3779b97f4a7c15ull >> (64 - NET_FLOW_SLOT_BITS);
}

/* @k: the key of a live slot. */
static inline int net_flow_slot_is(const struct net_flow_slot *s, const struct net_flow_slot_key *k)
{
	return s->key.src == k->src && s->key.dst == k->dst && s->key.ports == k->ports &&
	       s->key.ifindex == k->ifindex && s->key.what == k->what;
}

/* The same for a live or shut slot. */
static inline int net_flow_slot_owned(const struct net_flow_slot *s, const struct net_flow_slot_key *k)
{
	struct net_flow_slot_key shut = *k;

	shut.what ^= NET_FLOW_SLOT_LIVE ^ NET_FLOW_SLOT_SHUT;
	return net_flow_slot_is(s, k) || net_flow_slot_is(s, &shut);
}

/* 0 = flows of this kind have no slot. */
static inline int net_flow_slot_key_of(const struct net_flow_entry *e, __u32 ifindex, unsigned way,
				       struct net_flow_slot_key *ret)
{
	const struct net_flow_end *src = way ? &e->dst : &e->src, *dst = way ? &e->src : &e->dst;
	__u8 dir = !way || ifindex == 1 ? e->dir : e->dir ^ NET_DIR_IN ^ NET_DIR_OUT;	/* 1: loopback */

	if (e->family != SONDE_IPV4 || (e->proto != IPPROTO_TCP && e->proto != IPPROTO_UDP))
		return 0;
	__builtin_memcpy(&ret->src, src->addr, 4);
	__builtin_memcpy(&ret->dst, dst->addr, 4);
	ret->ports = __builtin_bswap16(src->port) | (__u32)__builtin_bswap16(dst->port) << 16;
	ret->ifindex = ifindex;
	ret->what = NET_FLOW_SLOT_LIVE | (__u32)e->proto << 8 | (__u32)dir << 16;
	return 1;
}

#ifndef __cplusplus
_Static_assert(sizeof(struct net_flow_half) == 48, "no hole in a half");
_Static_assert(sizeof(struct net_flow_entry) == 320, "no hole in an entry");
_Static_assert(sizeof(struct net_flow_slot) == 64, "a slot is a cache line");
_Static_assert(__builtin_offsetof(struct net_flow_entry, forward) - __builtin_offsetof(struct net_flow_entry, src) >=
	       64, "the head is on no line of a half");
_Static_assert(__builtin_offsetof(struct net_flow_entry, back) -
	       __builtin_offsetof(struct net_flow_entry, nat_src) >= 64, "nor are the halves on one");
#endif

#endif
