/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Source translation at the uplink: endpoints share its address and are distinguished by ports (RFC 3022; for an
 * echo, its identifier is the port).
 */
#ifndef VPC_NAT_H
#define VPC_NAT_H

#include "vpc_packet.h"

#define NAT_FIRST_PORT 32768
#define NAT_PORTS 28232
#define NAT_TRIES 16

struct vpc_nat_back {
	__u32 ip;
	__u16 port;
	__u16 pad;
};

/* By the tuple inside: the port outside. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct vpc_tuple);
	__type(value, __u16);
} vpc_nat_out SEC(".maps");

/* By the tuple of a reply, as it comes in: who inside it is for. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct vpc_tuple);
	__type(value, struct vpc_nat_back);
} vpc_nat_in SEC(".maps");

static __always_inline int l4_check_off(__u8 proto)
{
	return L4_OFF + (proto == IPPROTO_TCP ? (int)offsetof(struct tcphdr, check) :
			 proto == IPPROTO_UDP ? (int)offsetof(struct udphdr, check) :
						ICMP_CHECK_OFF);
}

/* One address and one port in place of others, checksums mended. @at_ip, @at_port: offsets in the packet. */
static __always_inline int nat_write(struct __sk_buff *skb, __u8 proto, int at_ip, __u32 old_ip, __u32 ip,
				     int at_port, __u16 old_port, __u16 port)
{
	int check = l4_check_off(proto), r = 0;
	__u64 flags = proto == IPPROTO_UDP ? BPF_F_MARK_MANGLED_0 : 0;

	if (proto != IPPROTO_ICMP)	/* whose checksum leaves the addresses out */
		r = bpf_l4_csum_replace(skb, check, old_ip, ip, flags | BPF_F_PSEUDO_HDR | sizeof(ip));
	if (!r)
		r = bpf_l4_csum_replace(skb, check, old_port, port, flags | sizeof(port));
	if (!r)
		r = bpf_skb_store_bytes(skb, at_port, &port, sizeof(port), 0);
	if (!r)
		r = bpf_l3_csum_replace(skb, L3_OFF + offsetof(struct iphdr, check), old_ip, ip, sizeof(ip));
	if (!r)
		r = bpf_skb_store_bytes(skb, at_ip, &ip, sizeof(ip), 0);
	return r;
}

/* The tuple that a reply to @t would have, @t's source being @ip and @port. */
static __always_inline struct vpc_tuple nat_reply(const struct vpc_tuple *t, __u32 ip, __u16 port)
{
	return (struct vpc_tuple){ .saddr = t->daddr, .daddr = ip, .dport = port, .proto = t->proto,
				   .sport = t->proto == IPPROTO_ICMP ? port : t->dport };
}

/* The port outside of a connection that has none yet; 0 = none was free in some tries. */
static __always_inline __u16 nat_new_port(const struct vpc_tuple *t, __u32 ip)
{
	struct vpc_nat_back back = { .ip = t->saddr, .port = t->sport };
	__u32 start = bpf_get_prandom_u32();

	for (int i = 0; i < NAT_TRIES; i++) {
		__u16 port = bpf_htons(NAT_FIRST_PORT + (start + i) % NAT_PORTS);
		struct vpc_tuple reply = nat_reply(t, ip, port);

		if (!bpf_map_update_elem(&vpc_nat_in, &reply, &back, BPF_NOEXIST) &&
		    !bpf_map_update_elem(&vpc_nat_out, t, &port, BPF_ANY))
			return port;
	}
	return 0;
}

/* Leaves as @ip. 0, or the reason to drop; *ret_error: of the helper. */
static __always_inline int nat_source(struct __sk_buff *skb, struct vpc_packet *v, __u32 ip, int *ret_error)
{
	__u16 *known = bpf_map_lookup_elem(&vpc_nat_out, &v->t), port = known ? *known : nat_new_port(&v->t, ip);
	int at_port = L4_OFF + (v->t.proto == IPPROTO_ICMP ? 4 : 0);

	if (!port)
		return DROP_NO_NAT_PORT;
	sonde_debug(&v->p, 17 /* mapping port */, bpf_ntohs(v->t.sport), bpf_ntohs(port), 0);
	sonde_debug_capture(&v->p, 10 /* before */, v->p.ifindex, 0);
	*ret_error = nat_write(skb, v->t.proto, L3_OFF + offsetof(struct iphdr, saddr), v->t.saddr, ip, at_port,
			       v->t.sport, port);
	if (*ret_error)
		return DROP_INVALID_PACKET;
	sonde_debug_capture(&v->p, 11 /* after */, v->p.ifindex, 0);
	sonde_count(&v->p, POINT_SNAT, SONDE_HERE);
	return 0;
}

/* The same for what an ICMP error is about: its source, and so the receiver of the error. */
static __always_inline int nat_write_about(struct __sk_buff *skb, const struct vpc_tuple *old,
					   const struct vpc_nat_back *back)
{
	int at_port = ABOUT_OFF + (int)sizeof(struct iphdr) + (old->proto == IPPROTO_ICMP ? 4 : 0), r;
	__u32 ip = back->ip;
	__u16 port = back->port;

	/* an IP header and its checksum add up to what they did before: ICMP's checksum learns of the port alone */
	r = bpf_l3_csum_replace(skb, ABOUT_OFF + offsetof(struct iphdr, check), old->saddr, ip, sizeof(ip));
	if (!r)
		r = bpf_skb_store_bytes(skb, ABOUT_OFF + offsetof(struct iphdr, saddr), &ip, sizeof(ip), 0);
	if (!r)
		r = bpf_l4_csum_replace(skb, L4_OFF + ICMP_CHECK_OFF, old->sport, port, sizeof(port));
	if (!r)
		r = bpf_skb_store_bytes(skb, at_port, &port, sizeof(port), 0);
	if (!r)
		r = bpf_l3_csum_replace(skb, L3_OFF + offsetof(struct iphdr, check), old->saddr, ip, sizeof(ip));
	if (!r)
		r = bpf_skb_store_bytes(skb, L3_OFF + offsetof(struct iphdr, daddr), &ip, sizeof(ip), 0);
	return r;
}

/* An ICMP error about what left as somebody else. 1 if it is one. */
static __always_inline int nat_back_about(struct __sk_buff *skb, struct vpc_packet *v, int *ret_error)
{
	struct vpc_tuple reply = { .saddr = v->about.daddr, .daddr = v->about.saddr, .sport = v->about.dport,
				   .dport = v->about.sport, .proto = v->about.proto };
	struct vpc_nat_back *back = bpf_map_lookup_elem(&vpc_nat_in, &reply);

	if (!back)
		return 0;
	*ret_error = nat_write_about(skb, &v->about, back);
	v->t.daddr = v->about.saddr = back->ip;
	v->about.sport = back->port;
	if (v->about.proto == IPPROTO_ICMP)
		v->about.dport = back->port;
	sonde_count(&v->p, POINT_REV_SNAT, SONDE_HERE);
	return 1;
}

/* Comes in for somebody inside: his address again, and v->t becomes what he sees. 1 if there is one. */
static __always_inline int nat_back(struct __sk_buff *skb, struct vpc_packet *v, int *ret_error)
{
	struct vpc_nat_back *back = bpf_map_lookup_elem(&vpc_nat_in, &v->t);
	int at_port = L4_OFF + (v->t.proto == IPPROTO_ICMP ? 4 : 2);
	__u32 old_ip = v->t.daddr;
	__u16 old_port = v->t.dport;

	if (v->about.proto)
		return nat_back_about(skb, v, ret_error);
	if (!back)
		return 0;
	v->t.daddr = back->ip;
	v->t.dport = back->port;
	if (v->t.proto == IPPROTO_ICMP)
		v->t.sport = back->port;
	*ret_error = nat_write(skb, v->t.proto, L3_OFF + offsetof(struct iphdr, daddr), old_ip, v->t.daddr, at_port,
			       old_port, v->t.dport);
	sonde_count(&v->p, POINT_REV_SNAT, SONDE_HERE);
	return 1;
}

#endif
