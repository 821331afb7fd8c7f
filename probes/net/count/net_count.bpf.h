/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Sums packets and bytes per CPU and key. Only one program writes the keys of its kind, and a program does not
 * interrupt itself on a CPU, so plain additions are exact. Counting precedes rate limits and rings: the sums include
 * packets that those suppress.
 */
#ifndef NET_COUNT_BPF_H
#define NET_COUNT_BPF_H

#include "probes/net/count/net_count_wire.h"
#include "probes/net/packet/net_packet.bpf.h"

const volatile bool net_counting; /* packets are summed up */
const volatile bool net_silent;	  /* and not reported one by one */

/* Preallocated before load: drops occur in any context. */
MAP(inst_net_counts, PERCPU_HASH, 1, struct net_count_key, struct net_count);

/* Sums without room in the table, by kind: one kind may interrupt another. */
MAP(inst_net_count_rest, PERCPU_ARRAY, NET_COUNT__MAX, __u32, struct net_count);

struct net_count_name {
	char name[16];
};

MAP(inst_net_count_names, LRU_HASH, 1024, struct net_count_iface, struct net_count_name);

static __always_inline bool count_is_new(const struct net_count_key *key)
{
	return !bpf_map_lookup_elem(&inst_net_counts, key);
}

static __always_inline void count_name(__u32 netns, __u32 ifindex, struct net_device *dev)
{
	struct net_count_iface key = { netns, ifindex };
	struct net_count_name v = {};

	if (dev && !bpf_probe_read_kernel(v.name, sizeof(v.name), dev->name))
		bpf_map_update_elem(&inst_net_count_names, &key, &v, BPF_ANY);
}

static __always_inline struct net_count *count_cell(const struct net_count_key *key)
{
	struct net_count *c = bpf_map_lookup_elem(&inst_net_counts, key), none = {};
	__u32 kind = key->kind;

	if (c)
		return c;
	/* another CPU may have created it meanwhile */
	bpf_map_update_elem(&inst_net_counts, key, &none, BPF_NOEXIST);
	c = bpf_map_lookup_elem(&inst_net_counts, key);
	return c ? c : bpf_map_lookup_elem(&inst_net_count_rest, &kind);
}

/* True: the packet needs nothing else; user space adds the sum to the ledger. */
static __always_inline bool count_add(const struct net_count_key *key, __u32 bytes)
{
	struct net_count *c = count_cell(key);

	if (c) {
		c->packets++;
		c->bytes += bytes;
	}
	return net_silent;
}

#endif
