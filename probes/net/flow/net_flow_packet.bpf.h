/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Parses the headers that flows need, in pieces: a packet of a known flow must cost little.
 */
#ifndef NET_FLOW_PACKET_BPF_H
#define NET_FLOW_PACKET_BPF_H

#include "probes/net/flow/net_flow_table_wire.h"
#include "probes/net/packet/net_packet.bpf.h"

#ifndef unlikely	/* libbpf 1.5 has it */
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

#define ETH_LEN 14
#define LOOPBACK 1	/* ifindex in every namespace: LOOPBACK_IFINDEX of include/net/flow.h */

/* The current packet. */
struct flow_packet {
	struct net_flow_key key; /* ordered after key_order(); before, source and destination */
	__u32 len;		/* on the wire */
	__u32 seq, payload;	/* TCP */
	__u16 window;
	__u16 l4_off; /* offset of the transport header */
	__u8 tcp_flags;
	__u8 swapped;		/* the source became the key's second end */
	__u8 dir;		/* NET_DIR_* */
};

/* ---- headers ---- */

/*
 * Loads @len bytes, a multiple of 4, at @off: directly if they are linear, as headers nearly always are, else by the
 * helper, which is slower. 0, or negative if the packet ends before.
 */
static __always_inline int load(struct __sk_buff *skb, __u32 off, void *to, __u32 len)
{
	const void *data = (const void *)(long)skb->data, *end = (const void *)(long)skb->data_end;
	const __u32 *from;

	if (off > 255) /* headers start before it; the verifier needs a bound */
		return -1;
	from = data + off;
	if ((const void *)from + len > end)
		return bpf_skb_load_bytes(skb, off, to, len);
	for (__u32 i = 0; i < len / sizeof(*from); i++)
		((__u32 *)to)[i] = from[i];
	return 0;
}

static __always_inline int parse_ports(struct __sk_buff *skb, struct flow_packet *p, __u32 off, __u32 l4_len)
{
	__u8 tcp[16] __attribute__((aligned(8)));
	__u16 *ports = (__u16 *)tcp;

	p->l4_off = off;
	if (p->key.proto == IPPROTO_ICMP || p->key.proto == IPPROTO_ICMPV6) {
		if (load(skb, off, tcp, 8))
			return 0;
		if (is_echo(p->key.proto, tcp[0]))
			p->key.port[0] = p->key.port[1] = bpf_ntohs(ports[2]);
		return 0;
	}
	if (!has_ports(p->key.proto))
		return 0;
	if (p->key.proto != IPPROTO_TCP) {
		if (load(skb, off, tcp, 4))
			return -1;
	} else if (load(skb, off, tcp, sizeof(tcp))) {
		return -1;
	}
	p->key.port[0] = bpf_ntohs(ports[0]);
	p->key.port[1] = bpf_ntohs(ports[1]);
	if (p->key.proto == IPPROTO_TCP) {
		__u32 head = (tcp[12] >> 4) * 4;

		p->seq = bpf_ntohl(*(__u32 *)(tcp + 4));
		p->tcp_flags = tcp[13];
		p->window = bpf_ntohs(ports[7]);
		p->payload = l4_len > head ? l4_len - head : 0;
	}
	return 0;
}

static __always_inline int parse_v4(struct __sk_buff *skb, struct flow_packet *p, __u32 off)
{
	__u8 ip[20] __attribute__((aligned(8)));
	__u32 head, total;

	if (load(skb, off, ip, sizeof(ip)))
		return -1;
	head = (ip[0] & 15) * 4;
	total = ip[2] << 8 | ip[3];
	p->key.family = SONDE_IPV4;
	p->key.proto = ip[9];
	p->key.addr[0][0] = *(__u32 *)(ip + 12);
	p->key.addr[1][0] = *(__u32 *)(ip + 16);
	if ((ip[6] & 0x1f) | ip[7])	/* only the first fragment has ports */
		return 0;
	return parse_ports(skb, p, off + head, total > head ? total - head : 0);
}

static __always_inline int parse_v6(struct __sk_buff *skb, struct flow_packet *p, __u32 off)
{
	__u8 ip[40] __attribute__((aligned(8))), ext[4] __attribute__((aligned(8)));
	__u32 at = off + sizeof(ip), end;

	if (load(skb, off, ip, sizeof(ip)))
		return -1;
	p->key.family = SONDE_IPV6;
	p->key.proto = ip[6];
	__builtin_memcpy(p->key.addr[0], ip + 8, 16);
	__builtin_memcpy(p->key.addr[1], ip + 24, 16);
	end = at + (ip[4] << 8 | ip[5]);
	for (int i = 0; i < 4; i++) {
		if (p->key.proto != IPPROTO_HOPOPTS && p->key.proto != IPPROTO_ROUTING &&
		    p->key.proto != IPPROTO_DSTOPTS && p->key.proto != IPPROTO_FRAGMENT)
			break;
		if (load(skb, at, ext, sizeof(ext)))
			return -1;
		if (p->key.proto == IPPROTO_FRAGMENT && ((ext[2] << 8 | ext[3]) & 0xfff8)) {
			p->key.proto = ext[0];
			return 0;
		}
		at += p->key.proto == IPPROTO_FRAGMENT ? 8 : (ext[1] + 1) * 8;
		p->key.proto = ext[0];
	}
	return parse_ports(skb, p, at, end > at ? end - at : 0);
}

/* Puts the lower end first, so that both directions share a key. */
static __always_inline void key_order(struct flow_packet *p)
{
	struct net_flow_key *k = &p->key;
	bool swap = false;

	for (int i = 0; i < 4; i++) {
		if (k->addr[0][i] == k->addr[1][i])
			continue;
		swap = k->addr[0][i] > k->addr[1][i];
		goto decided;
	}
	swap = k->port[0] > k->port[1];
decided:
	p->swapped = swap;
	if (k->ifindex != LOOPBACK)
		k->out = (p->dir == NET_DIR_OUT) != swap;
	if (!swap)
		return;
	for (int i = 0; i < 4; i++) {
		__u32 a = k->addr[0][i];

		k->addr[0][i] = k->addr[1][i];
		k->addr[1][i] = a;
	}
	{
		__u16 port = k->port[0];

		k->port[0] = k->port[1];
		k->port[1] = port;
	}
}

/* True if the packet belongs to the forward direction. */
static __always_inline bool is_forward(const struct net_flow_entry *f, const struct flow_packet *p)
{
	const __u32 *src = p->swapped ? p->key.addr[1] : p->key.addr[0], *have = (const __u32 *)f->src.addr;
	__u16 port = p->swapped ? p->key.port[1] : p->key.port[0];

	if (p->key.ifindex != LOOPBACK)
		return f->dir == p->dir;
	return have[0] == src[0] && have[1] == src[1] && have[2] == src[2] && have[3] == src[3] &&
	       f->src.port == port;
}

/*
 * The common case: IPv4 without options, unfragmented, with a whole TCP header (or as many bytes behind a UDP
 * header), all of it linear. False: the slow path must parse it.
 */
static __always_inline bool parse_quick(struct __sk_buff *skb, struct flow_packet *p, __u32 off)
{
	const __u8 *ip = (const __u8 *)(long)skb->data + off, *tcp = ip + 20;
	__u32 total;

	if (skb->protocol != bpf_htons(NET_P_IP) || tcp + 20 > (const __u8 *)(long)skb->data_end)
		return false;
	if (ip[0] != 0x45 || *(const __u16 *)(ip + 6) & bpf_htons(0x3fff) || (ip[9] != 6 && ip[9] != 17))
		return false;
	p->key.family = SONDE_IPV4;
	p->key.proto = ip[9];
	p->key.addr[0][0] = *(const __u32 *)(ip + 12);
	p->key.addr[1][0] = *(const __u32 *)(ip + 16);
	p->key.port[0] = bpf_ntohs(*(const __u16 *)tcp);
	p->key.port[1] = bpf_ntohs(*(const __u16 *)(tcp + 2));
	p->l4_off = off + 20;
	if (ip[9] != 6)
		return true;
	total = bpf_ntohs(*(const __u16 *)(ip + 2));
	p->seq = bpf_ntohl(*(const __u32 *)(tcp + 4));
	p->payload = 20 + (tcp[12] >> 4) * 4;
	p->payload = total > p->payload ? total - p->payload : 0;
	p->tcp_flags = tcp[13];
	p->window = bpf_ntohs(*(const __u16 *)(tcp + 14));
	return true;
}

/* 0, or -1 if it is not IP. */
static __always_inline int packet_parse(struct __sk_buff *skb, struct flow_packet *p, __u32 link)
{
	__u32 off = link == SONDE_LINK_ETHERNET ? ETH_LEN : 0;
	__u16 proto = bpf_ntohs(skb->protocol);
	__u16 tag[2];

	p->len = skb->len + (link == SONDE_LINK_ETHERNET && skb->vlan_present ? 4 : 0);
	p->key.ifindex = skb->ifindex;
	if (parse_quick(skb, p, off))
		return 0;
	for (int i = 0; i < 2 && (proto == NET_P_8021Q || proto == NET_P_8021AD); i++) {
		if (bpf_skb_load_bytes(skb, off, tag, sizeof(tag)))
			return -1;
		proto = bpf_ntohs(tag[1]);
		off += 4;
	}
	if (proto == NET_P_IP)
		return parse_v4(skb, p, off);
	return proto == NET_P_IPV6 ? parse_v6(skb, p, off) : -1;
}

#endif
