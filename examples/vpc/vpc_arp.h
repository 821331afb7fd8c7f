/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The gateway's ARP: answers every request for its address on the interface where it came in (RFC 826).
 */
#ifndef VPC_ARP_H
#define VPC_ARP_H

#include "vpc_packet.h"

#define ARP_REQUEST 1
#define ARP_REPLY 2

/* For Ethernet and IPv4. */
struct vpc_arp {
	__u16 hw, proto;
	__u8 hw_len, proto_len;
	__u16 op;
	__u8 sha[ETH_ALEN];
	__u32 spa;
	__u8 tha[ETH_ALEN];
	__u32 tpa;
} __attribute__((packed));

/* Turns the question for @ip into the answer @mac and sends it back. A tc verdict, -1 = not for us. */
static __always_inline int arp_answer(struct __sk_buff *skb, struct vpc_packet *v, __u32 ip, const __u8 *mac)
{
	struct vpc_arp arp, out;

	if (bpf_skb_load_bytes(skb, L3_OFF, &arp, sizeof(arp)) || arp.op != bpf_htons(ARP_REQUEST) ||
	    arp.tpa != ip)
		return -1;
	out = arp;
	out.op = bpf_htons(ARP_REPLY);
	__builtin_memcpy(out.sha, mac, ETH_ALEN);
	__builtin_memcpy(out.tha, arp.sha, ETH_ALEN);
	out.spa = arp.tpa;
	out.tpa = arp.spa;
	if (bpf_skb_store_bytes(skb, L3_OFF, &out, sizeof(out), 0) ||
	    bpf_skb_store_bytes(skb, offsetof(struct ethhdr, h_dest), arp.sha, ETH_ALEN, 0) ||
	    bpf_skb_store_bytes(skb, offsetof(struct ethhdr, h_source), mac, ETH_ALEN, 0))
		return TC_ACT_SHOT;
	sonde_count(&v->p, POINT_ARP_RESPONSE, SONDE_HERE);
	return bpf_redirect(skb->ifindex, 0);
}

#endif
