/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The short way of a packet: known flow, nothing new about it. Looking into the table of flows calls four functions
 * of the kernel, which costs more than all else; a slot of an array is found without a call. A slot belongs to one
 * direction of one flow and holds what packets counted there; the sum with its half in the table is what is told.
 *
 * A slot is claimed here, when a direction has had some packets, and given back by user space (net_flow.c).
 */
#ifndef NET_FLOW_SLOT_BPF_H
#define NET_FLOW_SLOT_BPF_H

#include "probes/net/flow/net_flow_packet.bpf.h"
#include "probes/net/flow/net_flow_table_wire.h"

#define SLOT_AFTER 8	/* packets: most flows are shorter, and never meet a slot */
#define TCP_FIN 1
#define TCP_SYN 2
#define TCP_RST 4

/* Mapped by user space, and so each slot is one cache line. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, NET_FLOW_SLOTS);
	__type(key, __u32);
	__type(value, struct net_flow_slot);
} net_flow_slots SEC(".maps");

static __always_inline struct net_flow_slot *slot_at(const struct net_flow_slot_key *k)
{
	__u32 at = net_flow_slot_index(k);

	return bpf_map_lookup_elem(&net_flow_slots, &at);
}

/* @ip: 40 bytes. False: the short way does not take it. */
static __always_inline bool slot_key(struct __sk_buff *skb, __u8 dir, const __u8 *ip, struct net_flow_slot_key *k)
{
	if (ip[0] != 0x45 || *(const __u16 *)(ip + 6) & bpf_htons(0x3fff))
		return false;
	k->src = *(const __u32 *)(ip + 12);
	k->dst = *(const __u32 *)(ip + 16);
	k->ports = *(const __u32 *)(ip + 20);
	k->ifindex = skb->ifindex;
	k->what = NET_FLOW_SLOT_LIVE | ip[9] << 8 | dir << 16;
	return true;
}

/* In order, and no flag that was not there before. */
static __always_inline bool slot_takes_tcp(struct net_flow_slot *s, const __u8 *ip)
{
	const __u8 *tcp = ip + 20;
	__u32 seq = bpf_ntohl(*(const __u32 *)(tcp + 4)), head = 20 + (tcp[12] >> 4) * 4;
	__u32 total = bpf_ntohs(*(const __u16 *)(ip + 2));

	if (tcp[13] & (TCP_SYN | TCP_FIN | TCP_RST | ~s->tcp_flags) || !*(const __u16 *)(tcp + 14) ||
	    seq != s->next_seq)
		return false;
	if (total > head)
		s->next_seq = seq + total - head;
	return true;
}

/* Once in a tick, false: it is time to look whether there is something to tell. */
static __always_inline bool slot_turn(struct net_flow_slot *s, __u32 tick)
{
	__u64 now = bpf_ktime_get_boot_ns();

	if ((__s32)((__u32)(now >> NET_FLOW_DUE_SHIFT) - s->due) >= 0)
		return false;
	s->last_ns = now;
	s->tick = tick;
	return true;
}

/* True if the packet was counted, and that was all there was to do. */
static __always_inline bool slot_count(struct __sk_buff *skb, __u8 dir, __u32 link)
{
	const __u8 *ip = (const __u8 *)(long)skb->data + (link == SONDE_LINK_ETHERNET ? ETH_LEN : 0);
	__u32 tick = (__u32)bpf_jiffies64();
	struct net_flow_slot_key k;
	struct net_flow_slot *s;

	if (skb->protocol != bpf_htons(NET_P_IP) || ip + 40 > (const __u8 *)(long)skb->data_end)
		return false;
	if (!slot_key(skb, dir, ip, &k))
		return false;
	s = slot_at(&k);
	if (!s || !net_flow_slot_is(s, &k) || (s->tick != tick && !slot_turn(s, tick)))
		return false;
	if ((__u8)(k.what >> 8) == 6 && !slot_takes_tcp(s, ip))
		return false;
	__sync_fetch_and_add(&s->packets, 1);
	__sync_fetch_and_add(&s->bytes, skb->len + (link == SONDE_LINK_ETHERNET && skb->vlan_present ? 4 : 0));
	return true;
}

/* ---- the long way ---- */

/* The slot of a packet's direction, free, or whosever it is; NULL = it can have none. */
static __always_inline struct net_flow_slot *slot_of(const struct flow_packet *p, struct net_flow_slot_key *k)
{
	int src = p->swapped;

	if (p->key.family != 4 || (p->key.proto != 6 && p->key.proto != 17))
		return NULL;
	k->src = src ? p->key.addr[1][0] : p->key.addr[0][0];
	k->dst = src ? p->key.addr[0][0] : p->key.addr[1][0];
	k->ports = bpf_htons(src ? p->key.port[1] : p->key.port[0]) |
		   (__u32)bpf_htons(src ? p->key.port[0] : p->key.port[1]) << 16;
	k->ifindex = p->key.ifindex;
	k->what = NET_FLOW_SLOT_LIVE | p->key.proto << 8 | p->dir << 16;
	return slot_at(k);
}

/*
 * Takes a free slot. Kernels before 5.12 have no atomic operation that returns something: who adds one to nothing and
 * then reads one was alone, and whoever was not takes it back.
 */
static __always_inline bool slot_claim(struct net_flow_slot *s, const struct net_flow_slot_key *k)
{
	volatile __u32 *claims = &s->claims;

	if (*claims)
		return false;
	__sync_fetch_and_add(&s->claims, 1);
	if (*claims != 1) {
		__sync_fetch_and_add(&s->claims, -1);
		return false;
	}
	s->key.src = k->src;
	s->key.dst = k->dst;
	s->key.ports = k->ports;
	s->key.ifindex = k->ifindex;
	barrier();
	*(volatile __u32 *)&s->key.what = k->what;
	return true;
}

/* @w is the half of this direction, just counted: packets that are like it go the short way until @due_ns. */
static __always_inline void slot_refresh(struct net_flow_slot *s, const struct net_flow_half *w, __u64 due_ns)
{
	s->next_seq = w->next_seq;
	s->due = (__u32)(due_ns >> NET_FLOW_DUE_SHIFT);
	s->tcp_flags = w->tcp_flags;
}

/* ---- sums ---- */

/* Live or shut. */
static __always_inline struct net_flow_slot *slot_of_way(const struct net_flow_entry *f, __u32 ifindex, __u8 way)
{
	struct net_flow_slot_key k;
	struct net_flow_slot *s;

	if (!net_flow_slot_key_of(f, ifindex, way, &k))
		return NULL;
	s = slot_at(&k);
	return s && net_flow_slot_owned(s, &k) ? s : NULL;
}

static __always_inline void slot_add_way(const struct net_flow_entry *f, __u32 ifindex, __u8 way, struct net_flow *r)
{
	const struct net_flow_slot *s = slot_of_way(f, ifindex, way);

	if (!s)
		return;
	r->way[way].packets += s->packets;
	r->way[way].bytes += s->bytes;
	if (r->last_ns < s->last_ns)
		r->last_ns = s->last_ns;
}

static __always_inline void slot_add(const struct net_flow_entry *f, __u32 ifindex, struct net_flow *r)
{
	slot_add_way(f, ifindex, NET_WAY_FORWARD, r);
	slot_add_way(f, ifindex, NET_WAY_BACK, r);
}

/* A flow begins anew: what its slots have is not its own, and the first packet goes the long way. */
static __always_inline void slot_begin_way(const struct net_flow_entry *f, __u32 ifindex, __u8 way,
					   struct net_flow_half *h)
{
	struct net_flow_slot *s = slot_of_way(f, ifindex, way);

	if (!s)
		return;
	s->tcp_flags = 0;
	h->packets = -s->packets;
	h->bytes = -s->bytes;
}

static __always_inline void slot_begin(struct net_flow_entry *f, __u32 ifindex)
{
	slot_begin_way(f, ifindex, NET_WAY_FORWARD, &f->forward);
	slot_begin_way(f, ifindex, NET_WAY_BACK, &f->back);
}

#endif
