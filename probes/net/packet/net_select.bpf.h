/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Selection of a packet in tracing programs, which see those of every namespace and device: --interface and the
 * packet filter.
 */
#ifndef NET_SELECT_BPF_H
#define NET_SELECT_BPF_H

#include "bpf/pktfilter.bpf.h"
#include "probes/net/packet/net_skb.bpf.h"

/*
 * --interface: names and prefixes (a literal includes its NUL), also for devices of which the skb kept only the
 * number.
 */
const volatile bool net_select_ifaces;

struct net_iface_prefix {
	__u32 prefix_bits;
	char name[16];
};

struct net_ifindex {
	__u32 netns, ifindex;
};

MAP_FLAGS(net_ifaces, LPM_TRIE, BPF_F_NO_PREALLOC, 1 /* set at run time */, struct net_iface_prefix, __u8);

MAP_FLAGS(inst_net_wanted, HASH, BPF_F_NO_PREALLOC, 65536, struct net_ifindex, __u8);

static __always_inline bool skb_select_iface(const struct net_skb *k)
{
	struct net_ifindex number = { .netns = k->netns, .ifindex = k->ifindex };
	struct net_iface_prefix name = { .prefix_bits = sizeof(name.name) * 8 };

	if (!net_select_ifaces)
		return true;
	if (!k->dev)
		return bpf_map_lookup_elem(&inst_net_wanted, &number) != NULL;
	if (bpf_probe_read_kernel(name.name, sizeof(name.name), k->dev->name))
		return false;
	return bpf_map_lookup_elem(&net_ifaces, &name) != NULL;
}

/* For the packet filter, a packet that cannot be located in its skb has no bytes. */
static __always_inline int skb_filter(struct sk_buff *skb, const struct net_skb *k)
{
	const struct pktfilter_packet p = {
		.skb = skb, .start = skb->head + k->start, .linear = k->link ? k->linear_len : 0,
		.len = k->link ? k->orig_len : 0, .link = k->link, .tagged = k->tagged,
		.vlan_proto = skb->vlan_proto, .vlan_tci = skb->vlan_tci,
	};

	return pktfilter_skb(&p);
}

#endif
