/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Accessors of kernel fields that were moved or renamed, or that share memory, with the versions of the change.
 */
#ifndef BPF_COMPAT_BPF_H
#define BPF_COMPAT_BPF_H

#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Until 6.2: bit vlan_present. */
struct sk_buff___vlan_bit {
	__u8 vlan_present : 1;
} __attribute__((preserve_access_index));

/* Since 6.2: no tag is vlan_all == 0 (commit 354259fa73e2). */
struct sk_buff___vlan_all {
	__u32 vlan_all;
} __attribute__((preserve_access_index));

/* True with a VLAN tag beside the packet: removed by the driver, or not inserted yet. */
static __always_inline bool skb_has_vlan(const struct sk_buff *skb)
{
	if (bpf_core_field_exists(struct sk_buff___vlan_all, vlan_all))
		return BPF_CORE_READ((const struct sk_buff___vlan_all *)skb, vlan_all) != 0;
	if (bpf_core_field_exists(struct sk_buff___vlan_bit, vlan_present))
		return BPF_CORE_READ_BITFIELD_PROBED((const struct sk_buff___vlan_bit *)skb, vlan_present);
	return false;
}

/* Since 5.14; called state before (commit 2f064a59a11f). */
struct task_struct___state {
	unsigned int __state;
} __attribute__((preserve_access_index));

struct task_struct___plain_state {
	volatile long state;
} __attribute__((preserve_access_index));

/* TASK_*, 0 = runnable. */
static __always_inline __u32 task_state(const struct task_struct *task)
{
	if (bpf_core_field_exists(struct task_struct___state, __state))
		return BPF_CORE_READ((const struct task_struct___state *)task, __state);
	return (__u32)BPF_CORE_READ((const struct task_struct___plain_state *)task, state);
}

/* Lowest inode number of a network namespace (PROC_NET_INIT_INO, 6.18). */
#define NETNS_INODE_MIN 0xefffff00u

/* @net: a pointer that the verifier trusts; 0 if it cannot be a namespace. */
static __always_inline __u32 net_inode(const struct net *net)
{
	__u32 inode = net ? net->ns.inum : 0;

	return inode >= NETNS_INODE_MIN ? inode : 0;
}

/* The same for any pointer. */
static __always_inline __u32 net_inode_probed(const struct net *net)
{
	__u32 inode = BPF_CORE_READ(net, ns.inum);

	return inode >= NETNS_INODE_MIN ? inode : 0;
}

static __always_inline __u32 dev_netns(const struct net_device *dev)
{
	/* user-space and odd addresses: another member of the union */
	if ((__s64)dev >= 0)
		return 0;
	return net_inode(dev->nd_net.net);
}

#endif
