/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Fate of packets behind the tc hook: dropped, redirected. The programs that see it are not bound to an interface;
 * they find the flow in the table of its namespace and count there.
 */
#ifndef NET_FLOW_DIRECTION_BPF_H
#define NET_FLOW_DIRECTION_BPF_H

#include "bpf/conntrack.bpf.h"
#include "probes/net/flow/net_flow_packet.bpf.h"
#include "probes/net/packet/net_skb.bpf.h"

/* Namespaces whose flows are counted; filled before programs are attached. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 1); /* set at run time */
	__type(key, __u32);	/* inode of the namespace */
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_HASH);
		__uint(map_flags, BPF_F_NO_PREALLOC);
		__uint(max_entries, 1);
		__uint(key_size, sizeof(struct net_flow_key));
		__uint(value_size, sizeof(struct net_flow_entry));
	});
} net_flow_direction_tables SEC(".maps");

/* @t: seen from its sender, which is `l` here. NULL = the table has no such flow. */
static __always_inline struct net_flow_direction *turn_at(void *table, const struct sonde_tuple *t, __u32 ifindex,
							  __u8 dir)
{
	struct flow_packet p = { .dir = dir };
	struct net_flow_entry *f;

	p.key.ifindex = ifindex;
	p.key.family = t->family;
	p.key.proto = t->proto;
	p.key.port[0] = t->lport;
	p.key.port[1] = t->rport;
	__builtin_memcpy(p.key.addr[0], t->laddr, 16);
	__builtin_memcpy(p.key.addr[1], t->raddr, 16);
	key_order(&p);
	f = bpf_map_lookup_elem(table, &p.key);
	if (!f)
		return NULL;
	return is_forward(f, &p) ? &f->turn[NET_WAY_FORWARD] : &f->turn[NET_WAY_BACK];
}

/* The direction of the packet at the interface is known, except when a socket's reader frees it. */
static __always_inline struct net_flow_direction *turn_find(void *table, const struct sk_buff *skb,
							    const struct sonde_tuple *t, __u32 ifindex)
{
	bool in = (__u32)BPF_CORE_READ(skb, skb_iif) == ifindex;
	struct net_flow_direction *turn = turn_at(table, t, ifindex, in ? NET_DIR_IN : NET_DIR_OUT);

	return turn ?: turn_at(table, t, ifindex, in ? NET_DIR_OUT : NET_DIR_IN);
}

/* The packet's tuple before connection tracking translated it. False: the packet is not tracked. */
static __always_inline bool turn_origin(struct sk_buff *skb, const struct sonde_tuple *now, struct sonde_tuple *ret)
{
	unsigned long nfct = flow_nfct(skb);

	if (!nfct)
		return false;
	flow_origin(nfct, now, ret);
	return true;
}

#define TURN_HEAD_READ 64	/* ports of IPv6 included */

/*
 * A packet that came in by @ifindex of its current namespace leaves the path of the stack. @head (NET_HEAD_BYTES) and
 * @t are the caller's memory.
 */
static __always_inline void turn_redirected(struct sk_buff *skb, __u32 ifindex, __u8 *head, struct sonde_tuple *t)
{
	struct net_device *dev = skb_device(skb);
	__u16 proto = bpf_ntohs(skb->protocol);
	__u32 netns = dev ? dev_netns(dev) : 0;
	void *table = bpf_map_lookup_elem(&net_flow_direction_tables, &netns);
	struct net_flow_direction *turn;
	struct net_head kind;

	if (!table || (proto != NET_P_IP && proto != NET_P_IPV6))
		return;
	__builtin_memset(head, 0, NET_HEAD_BYTES);
	if (bpf_probe_read_kernel(head, TURN_HEAD_READ, skb->head + skb->network_header))
		return;
	if (!head_tuple(head, SONDE_LINK_RAW, netns, t, &kind) || kind.turned)
		return;
	turn = turn_find(table, skb, t, ifindex);
	if (turn)
		__sync_fetch_and_add(&turn->redirected, 1);
}

#endif
