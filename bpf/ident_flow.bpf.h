/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Sockets of packets, by tuple: sonde_senders, (network namespace, protocol, addresses, ports) -> the socket that
 * sends packets that look so in that namespace.
 *
 * Filled wherever a packet passes with its socket, in the namespace it passes, and where connection tracking
 * translated it: the tuple that it had before leads to the socket. The receiver of a packet is the sender of the
 * reversed tuple.
 * With remote port 0 the map holds listening and unconnected sockets (probe proc).
 *
 * Local is the source of a packet seen from its sender. IPv4-mapped IPv6 addresses are stored as IPv4.
 */
#ifndef BPF_IDENT_FLOW_BPF_H
#define BPF_IDENT_FLOW_BPF_H

#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bpf/conntrack.bpf.h"
#include "bpf/typed.bpf.h"
#include "sonde/owner_wire.h"

/* LRU: a full map evicts the least recently used entry. */
UNIT_MAP(sonde_senders, LRU_HASH, 65536, struct sonde_tuple, struct sonde_sender);

/* Ports that a socket of any namespace was ever bound to: saves the look-up of a listener for most packets. */
UNIT_MAP(sonde_bound_ports, ARRAY, 65536, __u32, __u8);

static __always_inline bool port_was_bound(__u16 port)
{
	__u32 key = port;
	__u8 *bound = bpf_map_lookup_elem(&sonde_bound_ports, &key);

	return bound && *bound;
}

static __always_inline void port_set_bound(__u16 port)
{
	__u32 key = port;
	__u8 *bound = bpf_map_lookup_elem(&sonde_bound_ports, &key);

	if (bound && !*bound)
		*bound = 1;
}

static __always_inline struct sonde_sender *flow_sender(const struct sonde_tuple *t)
{
	return bpf_map_lookup_elem(&sonde_senders, t);
}

/* The socket bound to the local end of @t, with any peer. */
static __always_inline struct sonde_sender *flow_bound(const struct sonde_tuple *t, struct sonde_tuple *ret_key)
{
	*ret_key = *t;
	ret_key->rport = 0;
	__builtin_memset(ret_key->raddr, 0, sizeof(ret_key->raddr));
	return flow_sender(ret_key);
}

/* The same without an address; @key: from flow_bound(). */
static __always_inline struct sonde_sender *flow_bound_any(struct sonde_tuple *key)
{
	__builtin_memset(key->laddr, 0, sizeof(key->laddr));
	return flow_sender(key);
}

/* Either. */
static __always_inline struct sonde_sender *flow_listener(const struct sonde_tuple *t)
{
	struct sonde_sender *s;
	struct sonde_tuple key;

	if (!port_was_bound(t->lport))
		return NULL;
	s = flow_bound(t, &key);
	return s ? s : flow_bound_any(&key);
}

/*
 * @netns: of the socket. Writes only changes: a look-up costs a third of an update, and packet paths call this for
 * every packet. A second socket that binds to the same address makes a group (SO_REUSEPORT); the map does not know
 * which of them receives a packet.
 */
static __always_inline void flow_set(const struct sonde_tuple *t, __u64 cookie, __u32 netns)
{
	struct sonde_sender v = { .cookie = cookie, .netns = netns }, *have;

	if (!cookie)
		return;
	have = flow_sender(t);
	if (have && have->cookie == cookie)
		return;
	if (!t->rport) {
		port_set_bound(t->lport);
		v.group = have != NULL;
	}
	bpf_map_update_elem(&sonde_senders, t, &v, BPF_ANY);
}

/* Removes @t if it still leads to @cookie alone. */
static __always_inline void flow_unset(const struct sonde_tuple *t, __u64 cookie)
{
	struct sonde_sender *have = flow_sender(t);

	if (have && have->cookie == cookie && !have->group)
		bpf_map_delete_elem(&sonde_senders, t);
}

#define FLOW_FEED_NS 1000000000ULL

/* A cheap hash that distinguishes the tuples of a socket. */
static __always_inline __u64 flow_hash(const struct sonde_tuple *t)
{
	const __u32 *l = (const __u32 *)t->laddr, *r = (const __u32 *)t->raddr;
	__u64 h = (__u64)t->lport << 16 | t->rport;

#pragma unroll
	for (int i = 0; i < 4; i++) {
		h = (h ^ l[i]) * 0x9e3779b97f4a7c15ULL;
		h = (h ^ r[i]) * 0x9e3779b97f4a7c15ULL;
	}
	return h;
}

/*
 * True if the maps need an update for a packet of this socket: not within a second of an update for the same tuple. A
 * socket usually sends to one peer, and an update costs as much as the packet.
 */
static __always_inline bool flow_feed_due(struct sonde_owner *o, __u64 hash, __u64 now_ns)
{
	if (o->fed_hash == hash && now_ns - o->fed_ns < FLOW_FEED_NS)
		return false;
	o->fed_hash = hash;
	o->fed_ns = now_ns;
	return true;
}

/* Converts a pair of IPv4-mapped IPv6 addresses to IPv4. Call with family 6, after laddr and raddr are set. */
static __always_inline void flow_unmap_v4(struct sonde_tuple *t)
{
	__u32 *l = (__u32 *)t->laddr, *r = (__u32 *)t->raddr;
	const __u32 mapped = 0xffff0000; /* bytes 00 00 ff ff, little endian */
	int l_mapped = !l[0] && !l[1] && l[2] == mapped;
	int r_mapped = !r[0] && !r[1] && r[2] == mapped;

	if (!l_mapped && !r_mapped)
		return;
	t->family = SONDE_IPV4;
	l[0] = l_mapped ? l[3] : 0;
	r[0] = r_mapped ? r[3] : 0;
	l[1] = l[2] = l[3] = 0;
	r[1] = r[2] = r[3] = 0;
}

/* ---- translations ---- */

struct sk_buff___nfct {
	unsigned long _nfct;	/* struct nf_conn *, and three bits of enum ip_conntrack_info */
} __attribute__((preserve_access_index));

#define NFCT_BITS 7UL
#define NFCT_IS_REPLY 3

/*
 * Connection tracking's entry of a packet, with the bits. @skb: a struct sk_buff, or the context of a tc program,
 * which has the same address. 0 = not tracked, or not yet.
 */
static __always_inline unsigned long flow_nfct(const void *skb)
{
	unsigned long nfct = 0;

	if (!bpf_core_field_exists(struct sk_buff___nfct, _nfct))
		return 0;
	if (HAS_TYPE(sk_buff))
		nfct = ((const struct sk_buff___nfct *)TYPED(skb, sk_buff))->_nfct;
	else
		bpf_probe_read_kernel(&nfct, sizeof(nfct), skb + bpf_core_field_offset(struct sk_buff___nfct, _nfct));
	return nfct & ~NFCT_BITS ? nfct : 0;
}

static __always_inline void flow_addr(__u8 *to, const union nf_inet_addr *addr, __u8 family)
{
	bpf_probe_read_kernel(to, family == SONDE_IPV4 ? 4 : 16, addr);
}

/* The tuple that a packet of @nfct had when connection tracking first saw it; family and protocol as in @now. */
static __always_inline void flow_origin(unsigned long nfct, const struct sonde_tuple *now, struct sonde_tuple *ret)
{
	const struct nf_conn *ct = (const struct nf_conn *)(nfct & ~NFCT_BITS);
	const struct nf_conntrack_tuple *t = &ct->tuplehash[0].tuple;

	if ((nfct & NFCT_BITS) >= NFCT_IS_REPLY) /* a variable index would not be relocated to the kernel's size */
		t = &ct->tuplehash[1].tuple;
	__builtin_memset(ret, 0, sizeof(*ret));
	ret->netns = now->netns;
	ret->family = now->family;
	ret->proto = now->proto;
	flow_addr(ret->laddr, &t->src.u3, now->family);
	flow_addr(ret->raddr, &t->dst.u3, now->family);
	ret->lport = bpf_ntohs(BPF_CORE_READ(t, src.u.all));
	ret->rport = bpf_ntohs(BPF_CORE_READ(t, dst.u.all));
	/* an echo has its identifier on both sides, here and in our tuples; the other side holds type and code */
	if (now->proto == IPPROTO_ICMP || now->proto == IPPROTO_ICMPV6)
		ret->rport = ret->lport;
}

/* As above, for packets that were translated: by address, by port, or both. */
static __always_inline bool flow_translated(const void *skb, const struct sonde_tuple *now, struct sonde_tuple *ret)
{
	unsigned long nfct = flow_nfct(skb);
	const struct nf_conn *ct = (const struct nf_conn *)(nfct & ~NFCT_BITS);

	if (!nfct || !(BPF_CORE_READ(ct, status) & (IPS_SRC_NAT | IPS_DST_NAT)))
		return false;
	flow_origin(nfct, now, ret);
	return true;
}

#endif
