/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The current packet: position and content of its headers. Forwards IPv4 without options or fragments, and ICMP
 * errors about it.
 */
#ifndef VPC_PACKET_H
#define VPC_PACKET_H

#include "vpc_wire.h"

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/stddef.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "vpc_table.h"

#include "sonde/datapath.bpf.h"

/* RFC 792; <linux/icmp.h> needs a C library. */
#define ICMP_ECHO 8
#define ICMP_CHECK_OFF 2

#define L3_OFF ((int)sizeof(struct ethhdr))
#define L4_OFF (L3_OFF + (int)sizeof(struct iphdr))
#define ABOUT_OFF (L4_OFF + 8)	/* an ICMP error: the beginning of the packet that it is about */

struct vpc_tuple {
	__u32 saddr, daddr;
	__u16 sport, dport;	/* ICMP: the identifier, twice */
	__u8 proto;
	__u8 pad[3];
};

struct vpc_packet {
	struct sonde_packet p;
	struct vpc_tuple t;
	struct vpc_tuple about;	/* of an ICMP error; proto 0 = it is none */
	__u8 ttl;
	__u8 icmp_type;
	__u8 tcp_flags;		/* byte 13 of the header */
};

#define TCP_SYN 2
#define TCP_FIN_RST 5

/* RFC 792: destination unreachable, time exceeded, parameter problem. */
static __always_inline int is_icmp_error(__u8 type)
{
	return type == 3 || type == 11 || type == 12;
}

/* The packet that an ICMP error quotes, as it was sent. 0, or the reason to drop. */
static __always_inline int packet_parse_about(struct __sk_buff *skb, struct vpc_packet *v)
{
	struct iphdr ip;
	__u16 ports[2];
	int at = ABOUT_OFF + (int)sizeof(ip);

	if (bpf_skb_load_bytes(skb, ABOUT_OFF, &ip, sizeof(ip)) || ip.version != 4 || ip.ihl != 5)
		return DROP_INVALID_PACKET;
	if (bpf_skb_load_bytes(skb, ip.protocol == IPPROTO_ICMP ? at + 4 : at, ports, sizeof(ports)))
		return DROP_INVALID_PACKET;
	v->about = (struct vpc_tuple){ .saddr = ip.saddr, .daddr = ip.daddr, .proto = ip.protocol, .sport = ports[0],
				       .dport = ip.protocol == IPPROTO_ICMP ? ports[0] : ports[1] };
	return 0;
}

/* The headers of an IPv4 packet. 0, or the reason to drop it. */
static __always_inline int packet_parse(struct __sk_buff *skb, struct vpc_packet *v)
{
	struct iphdr ip;
	__u16 ports[2];

	if (bpf_skb_load_bytes(skb, L3_OFF, &ip, sizeof(ip)) || ip.version != 4 || ip.ihl != 5)
		return DROP_INVALID_PACKET;
	if (ip.frag_off & bpf_htons(0x3fff))
		return DROP_UNKNOWN_L4;
	v->ttl = ip.ttl;
	v->t = (struct vpc_tuple){ .saddr = ip.saddr, .daddr = ip.daddr, .proto = ip.protocol };
	switch (ip.protocol) {
	case IPPROTO_TCP:
		if (bpf_skb_load_bytes(skb, L4_OFF + 13, &v->tcp_flags, 1))
			return DROP_INVALID_PACKET;
		/* fallthrough */
	case IPPROTO_UDP:
		if (bpf_skb_load_bytes(skb, L4_OFF, ports, sizeof(ports)))
			return DROP_INVALID_PACKET;
		v->t.sport = ports[0];
		v->t.dport = ports[1];
		return 0;
	case IPPROTO_ICMP:
		if (bpf_skb_load_bytes(skb, L4_OFF, &v->icmp_type, 1) ||
		    bpf_skb_load_bytes(skb, L4_OFF + 4, ports, sizeof(ports)))
			return DROP_INVALID_PACKET;
		if (is_icmp_error(v->icmp_type))
			return packet_parse_about(skb, v);
		v->t.sport = v->t.dport = ports[0];
		return 0;
	default:
		return DROP_UNKNOWN_L4;
	}
}

/* One hop less to live, and new neighbours. 0, or a negative errno of the helper. */
static __always_inline int packet_forward(struct __sk_buff *skb, const struct vpc_packet *v, const __u8 *smac,
					  const __u8 *dmac)
{
	__u16 old = bpf_htons(v->ttl << 8), new = bpf_htons((v->ttl - 1) << 8);
	__u8 ttl = v->ttl - 1;
	int r;

	r = bpf_l3_csum_replace(skb, L3_OFF + offsetof(struct iphdr, check), old, new, 2);
	if (!r)
		r = bpf_skb_store_bytes(skb, L3_OFF + offsetof(struct iphdr, ttl), &ttl, 1, 0);
	if (!r)
		r = bpf_skb_store_bytes(skb, offsetof(struct ethhdr, h_dest), dmac, ETH_ALEN, 0);
	if (!r)
		r = bpf_skb_store_bytes(skb, offsetof(struct ethhdr, h_source), smac, ETH_ALEN, 0);
	return r;
}

#endif
