/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Shared by the battery's programs and its user-space half.
 */
#ifndef KERNEL_WIRE_H
#define KERNEL_WIRE_H

#define BATTERY_PACKETS_MAX 4096	/* a power of two */
#define BATTERY_MARK 0x53440000	/* a packet's mark is this + part * BATTERY_PACKETS_MAX + its number */

/* Where a packet was judged. */
#define HOOK_EGRESS 0	/* tc egress of a veth: tags in the packet */
#define HOOK_INGRESS 1	/* tc ingress of its peer: the outer tag beside the packet */
#define HOOK_DROP 2	/* tp_btf/kfree_skb, the packet dropped by the program before */
#define HOOK_L3 3	/* tc ingress of a tun device: no Ethernet header */
#define HOOK_L3_DROP 4
#define HOOK__MAX 5

struct hook_count {
	__u64 packets, nonlinear, tagged;
};

#endif
