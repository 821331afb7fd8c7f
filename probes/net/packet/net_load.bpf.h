/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Reads bytes of a packet at tc.
 */
#ifndef NET_LOAD_BPF_H
#define NET_LOAD_BPF_H

#include "bpf/kernel.h"

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define TC_NEXT (-1)	/* TCX_NEXT, TC_ACT_UNSPEC */

#define PKT_LOOPBACK 5	/* PACKET_LOOPBACK of include/uapi/linux/if_packet.h */

/*
 * A copy of a packet that this host sends, looped back for its own sockets: IP does so with multicast and broadcast,
 * before the Ethernet header exists. The frame is not on the wire, and packet sockets skip it for the same reason.
 */
static __always_inline bool is_looped_copy(const struct __sk_buff *skb)
{
	return skb->pkt_type == PKT_LOOPBACK;
}

/* Loads @len bytes of the packet, including the VLAN tag of the metadata in its wire position, to @to. */
static __always_inline long load_packet(struct __sk_buff *skb, __u8 *to, __u32 len, bool tagged)
{
	__u16 tag[2];

	if (!tagged)
		return bpf_skb_load_bytes(skb, 0, to, len);
	if (len <= 16)
		return -1;
	tag[0] = skb->vlan_proto;
	tag[1] = bpf_htons(skb->vlan_tci);
	__builtin_memcpy(to + 12, tag, sizeof(tag));
	return bpf_skb_load_bytes(skb, 0, to, 12) ?: bpf_skb_load_bytes(skb, 12, to + 16, len - 16);
}

#endif
