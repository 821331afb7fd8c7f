/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Parses the headers that rules can match. doc/policy.md defines when a header is invalid, a fragment or truncated.
 */
#ifndef NET_POLICY_BPF_H
#define NET_POLICY_BPF_H

#include "probes/net/flow/net_flow_packet.bpf.h"
#include "probes/net/policy/net_policy_wire.h"

#define POLICY_EXT_MAX 8	/* IPv6 extension headers to skip */

struct policy_packet {
	__u8 src[16], dst[16];
	__u16 sport, dport;	/* host order; ICMP: 0 and the type */
	__u8 family;		/* 4, 6; 0 = the IP header is invalid: no rule matches */
	__u8 proto;
	__u8 state;		/* SONDE_POLICY_STATE_* */
	__u8 pad;
};

/* Smallest transport header in bytes; 0 = rules match no field of it. */
static __always_inline __u32 transport_need(__u8 proto)
{
	switch (proto) {
	case 6: return 20;
	case 17: return 8;
	case 132: return 12;
	case 1:
	case 58: return 8;
	default: return 0;
	}
}

static __always_inline void policy_parse_transport(struct __sk_buff *skb, struct policy_packet *p, __u32 off,
						   __u32 end)
{
	__u8 head[16] __attribute__((aligned(8)));
	__u16 *ports = (__u16 *)head;
	__u32 need = transport_need(p->proto);

	p->state = SONDE_POLICY_STATE_WHOLE;
	if (!need)
		return;
	if (off + need > end || load(skb, off, head, 8)) {
		p->state = SONDE_POLICY_STATE_CUT;
		return;
	}
	if (p->proto == 1 || p->proto == 58) {
		p->dport = head[0];
		return;
	}
	p->sport = bpf_ntohs(ports[0]);
	p->dport = bpf_ntohs(ports[1]);
	if (p->proto != 6)
		return;
	if (load(skb, off + 8, head, 8))
		p->state = SONDE_POLICY_STATE_CUT;
	else if (head[5] & 0x14)	/* ACK, RST */
		p->state = SONDE_POLICY_STATE_ESTABLISHED;
}

static __always_inline void policy_parse_v4(struct __sk_buff *skb, struct policy_packet *p, __u32 off)
{
	__u8 ip[20] __attribute__((aligned(8)));
	__u32 head, total, end = skb->len;

	if (load(skb, off, ip, sizeof(ip)))
		return;
	head = (ip[0] & 15) * 4;
	total = ip[2] << 8 | ip[3];
	if (total && off + total < end)	/* 0: GSO packet above 64 KiB */
		end = off + total;
	if (ip[0] >> 4 != 4 || head < sizeof(ip) || off + head > end)
		return;
	p->family = 4;
	p->proto = ip[9];
	__builtin_memcpy(p->src, ip + 12, 4);
	__builtin_memcpy(p->dst, ip + 16, 4);
	if ((ip[6] & 0x1f) | ip[7])
		p->state = SONDE_POLICY_STATE_FRAGMENT;
	else
		policy_parse_transport(skb, p, off + head, end);
}

static __always_inline bool is_extension(__u8 proto)
{
	return proto == 0 || proto == 43 || proto == 60 || proto == 44;
}

static __always_inline void policy_parse_v6(struct __sk_buff *skb, struct policy_packet *p, __u32 off)
{
	__u8 ip[40] __attribute__((aligned(8))), ext[8] __attribute__((aligned(8)));
	__u32 at = off + sizeof(ip), len, end = skb->len;

	if (load(skb, off, ip, sizeof(ip)) || ip[0] >> 4 != 6)
		return;
	len = ip[4] << 8 | ip[5];
	if (len && at + len < end)
		end = at + len;
	p->family = 6;
	p->proto = ip[6];
	__builtin_memcpy(p->src, ip + 8, 16);
	__builtin_memcpy(p->dst, ip + 24, 16);
	p->state = SONDE_POLICY_STATE_CUT;
	for (int i = 0; i < POLICY_EXT_MAX && is_extension(p->proto); i++) {
		if (at + 8 > end || load(skb, at, ext, sizeof(ext)))
			return;
		if (p->proto == 44 && ((ext[2] << 8 | ext[3]) & 0xfff8)) {
			p->proto = ext[0];
			p->state = SONDE_POLICY_STATE_FRAGMENT;
			return;
		}
		len = p->proto == 44 ? 8 : (ext[1] + 1) * 8;
		if (at + len > end)
			return;
		at += len;
		p->proto = ext[0];
	}
	if (!is_extension(p->proto))
		policy_parse_transport(skb, p, at, end);
}

/* False: neither IPv4 nor IPv6, so rules do not apply. */
static __always_inline bool policy_parse_packet(struct __sk_buff *skb, struct policy_packet *p, __u32 link)
{
	__u32 off = link == SONDE_LINK_ETHERNET ? ETH_LEN : 0;
	__u16 proto = bpf_ntohs(skb->protocol);
	__u16 tag[2];

	__builtin_memset(p, 0, sizeof(*p));
	for (int i = 0; i < 2 && (proto == NET_P_8021Q || proto == NET_P_8021AD); i++) {
		if (bpf_skb_load_bytes(skb, off, tag, sizeof(tag)))
			return false;
		proto = bpf_ntohs(tag[1]);
		off += 4;
	}
	if (proto == NET_P_IP)
		policy_parse_v4(skb, p, off);
	else if (proto == NET_P_IPV6)
		policy_parse_v6(skb, p, off);
	else
		return false;
	return true;
}

#endif
