/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * What is known of a flow besides its packets, and costs more than counting one: the process at its local end, where
 * the routing table sends it, what connection tracking did to it.
 */
#ifndef NET_FLOW_QUERY_BPF_H
#define NET_FLOW_QUERY_BPF_H

#include "bpf/conntrack.bpf.h"
#include "probes/net/flow/net_flow_table_wire.h"
#include "probes/net/packet/net_packet.bpf.h"

/* Source and destination of the forward direction; @forward_swapped: its source is the key's second end. */
static __always_inline void flow_ends(struct net_flow_entry *f, const struct net_flow_key *k, bool forward_swapped)
{
	int src = forward_swapped;

	__builtin_memcpy(f->src.addr, src ? k->addr[1] : k->addr[0], 16);
	__builtin_memcpy(f->dst.addr, src ? k->addr[0] : k->addr[1], 16);
	f->src.port = src ? k->port[1] : k->port[0];
	f->dst.port = src ? k->port[0] : k->port[1];
	f->family = k->family;
	f->proto = k->proto;
}

static __always_inline void tuple_of(struct sonde_tuple *t, const struct net_flow_end *local,
				     const struct net_flow_end *remote, const struct net_flow_entry *f)
{
	__builtin_memset(t, 0, sizeof(*t));
	t->netns = net_want_netns;
	t->family = f->family;
	t->proto = f->proto;
	t->lport = local->port;
	t->rport = remote->port;
	__builtin_memcpy(t->laddr, local->addr, 16);
	__builtin_memcpy(t->raddr, remote->addr, 16);
}

/* Which end that is: the sender of the packet at hand if it carries a socket, else as owner_into() asked. */
static __always_inline void set_end(struct net_flow_entry *f, const struct net_scratch *s, bool received, __u8 way)
{
	bool back = s->rec.owner_by == NET_OWNER_SKB_SK ? way == NET_WAY_BACK : received;

	f->forward.owns = !back;
	f->back.owns = back;
}

/* The process at the local end; @way: of the packet. */
static __always_inline void owner_into(struct __sk_buff *skb, struct net_flow_entry *f, struct net_scratch *s,
				       __u8 way)
{
	bool received = false;
	struct sonde_owner *o = NULL;

	s->rec.cookie = 0;
	s->rec.owner_by = NET_OWNER_NONE;
	s->is_error = false;
	tuple_of(&s->sent, &f->src, &f->dst, f);
	tuple_of(&s->received, &f->dst, &f->src, f);
	/* what comes in may still carry the socket of its sender, behind a veth: the end that is here goes first */
	if (f->dir == NET_DIR_IN &&
	    (owner_exact(&s->rec, &s->received, &o) || owner_bound(&s->rec, &s->received, false, &o)) && o)
		received = true;
	else if (!owner_from_cookie(&s->rec, bpf_get_socket_cookie(skb), NET_OWNER_SKB_SK, &o) || !o)
		o = f->dir == NET_DIR_OUT ? owner_by_sender(s) : owner_by_packet(s, false);
	f->cookie = s->rec.cookie;
	f->refused = selects_process();
	if (!o)
		return;
	f->refused = is_excluded(o->tgid) || !select_owner(o->tgid, o->comm, o->cgroup_id);
	f->owner_by = s->rec.owner_by;
	set_end(f, s, received, way);
	f->owner_tgid = o->tgid;
	f->owner_start_ns = o->start_ns;
	f->cgroup_id = o->cgroup_id;
}

static __always_inline void ask_owner(struct __sk_buff *skb, struct net_flow_entry *f, __u8 way)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct net_scratch *s = bpf_map_lookup_elem(&net_scratch, &cpu);

	if (!s || s->busy)	/* the next report asks again */
		return;
	s->busy = 1;
	owner_into(skb, f, s, way);
	s->busy = 0;
}

/* UAPI, struct bpf_fib_lookup. */
struct fib_lookup {
	__u8 family, l4_protocol;
	__be16 sport, dport;
	__u16 tot_len;
	__u32 ifindex;
	__u32 flowinfo;
	__u32 src[4], dst[4];
	__be16 vlan_proto, vlan_tci;
	__u8 smac[6], dmac[6];
};

/* Where the forward direction goes on from here, by the routing table. */
static __always_inline void ask_route(struct __sk_buff *skb, struct net_flow_entry *f)
{
	struct fib_lookup q = { .family = f->family == 4 ? 2 : 10, .ifindex = skb->ifindex, .tot_len = 0 };

	if (f->dir != NET_DIR_IN)
		return;
	q.l4_protocol = f->proto;
	q.sport = bpf_htons(f->src.port);
	q.dport = bpf_htons(f->dst.port);
	__builtin_memcpy(q.src, f->src.addr, 16);
	__builtin_memcpy(q.dst, f->dst.addr, 16);
	/* a neighbour that is not resolved yet (7) does not matter: the way is known */
	switch (bpf_fib_lookup(skb, (void *)&q, sizeof(q), 0)) {
	case 0:
	case 7:
		f->out_ifindex = q.ifindex;
		__builtin_memcpy(f->next_hop, q.dst, 16);
	}
}

static __always_inline void ct_tuple(struct bpf_sock_tuple *t, const struct net_flow_entry *f, bool turned)
{
	const struct net_flow_end *a = turned ? &f->dst : &f->src, *b = turned ? &f->src : &f->dst;

	__builtin_memset(t, 0, sizeof(*t));
	if (f->family == 4) {
		__builtin_memcpy(&t->ipv4.saddr, a->addr, 4);
		__builtin_memcpy(&t->ipv4.daddr, b->addr, 4);
		t->ipv4.sport = bpf_htons(a->port);
		t->ipv4.dport = bpf_htons(b->port);
	} else {
		__builtin_memcpy(t->ipv6.saddr, a->addr, 16);
		__builtin_memcpy(t->ipv6.daddr, b->addr, 16);
		t->ipv6.sport = bpf_htons(a->port);
		t->ipv6.dport = bpf_htons(b->port);
	}
}

static __always_inline void ct_end(struct net_flow_end *e, const union nf_inet_addr *addr, __be16 port, __u8 family)
{
	__u32 words[4];

	__builtin_memset(e, 0, sizeof(*e));
	bpf_probe_read_kernel(words, sizeof(words), addr);
	if (family == 4)
		words[1] = words[2] = words[3] = 0;
	__builtin_memcpy(e->addr, words, 16);
	e->port = bpf_ntohs(port);
}

static __always_inline bool ends_differ(const struct net_flow_end *a, const struct net_flow_end *b)
{
	const __u64 *x = (const __u64 *)a, *y = (const __u64 *)b;

	return x[0] != y[0] || x[1] != y[1] || a->port != b->port;
}

/*
 * A connection has two tuples: what was sent, and the reply that is expected. Here one of them is seen (as it is, or
 * turned round); the other one, brought to the forward direction, is the far side of a translation.
 */
static __always_inline void ct_take(struct net_flow_entry *f, const struct nf_conn *ct)
{
	const struct nf_conntrack_tuple *orig = &ct->tuplehash[0].tuple, *reply = &ct->tuplehash[1].tuple;
	struct net_flow_end here, there;
	unsigned long status = BPF_CORE_READ(ct, status);

	f->ct = status & IPS_EXPECTED ? NET_CT_RELATED : status & IPS_SEEN_REPLY ? NET_CT_ESTABLISHED : NET_CT_NEW;
	f->offloaded = !!(status & (IPS_OFFLOAD | IPS_HW_OFFLOAD));
	if (bpf_core_field_exists(struct nf_conn___mark, mark))
		f->mark = BPF_CORE_READ((const struct nf_conn___mark *)ct, mark);
	f->nat = !!(status & (IPS_SRC_NAT | IPS_DST_NAT));
	if (!f->nat)
		return;
	ct_end(&here, &orig->src.u3, BPF_CORE_READ(orig, src.u.all), f->family);
	ct_end(&there, &orig->dst.u3, BPF_CORE_READ(orig, dst.u.all), f->family);
	if (!ends_differ(&here, &f->src) && !ends_differ(&there, &f->dst)) {	/* before the translation */
		ct_end(&f->nat_src, &reply->dst.u3, BPF_CORE_READ(reply, dst.u.all), f->family);
		ct_end(&f->nat_dst, &reply->src.u3, BPF_CORE_READ(reply, src.u.all), f->family);
	} else if (!ends_differ(&here, &f->dst) && !ends_differ(&there, &f->src)) {	/* the same, answered first */
		ct_end(&f->nat_dst, &reply->dst.u3, BPF_CORE_READ(reply, dst.u.all), f->family);
		ct_end(&f->nat_src, &reply->src.u3, BPF_CORE_READ(reply, src.u.all), f->family);
	} else {	/* behind it: forward is as sent, or as replied */
		ct_end(&there, &reply->dst.u3, BPF_CORE_READ(reply, dst.u.all), f->family);
		if (!ends_differ(&there, &f->src)) {
			f->nat_src = here;
			ct_end(&f->nat_dst, &orig->dst.u3, BPF_CORE_READ(orig, dst.u.all), f->family);
		} else {
			f->nat_dst = here;
			ct_end(&f->nat_src, &orig->dst.u3, BPF_CORE_READ(orig, dst.u.all), f->family);
		}
	}
}

/* Context of the program that asks, a constant: the kernel has one function for each. */
enum ask_from { ASK_FROM_TC, ASK_FROM_XDP };

static __always_inline struct nf_conn *conntrack_of(void *ctx, enum ask_from from, const struct net_flow_entry *f,
						    struct bpf_sock_tuple *t)
{
	if (from == ASK_FROM_XDP)
		return f->family == 4 ? conntrack_find_xdp(ctx, t, sizeof(t->ipv4), f->proto) :
					conntrack_find_xdp(ctx, t, sizeof(t->ipv6), f->proto);
	return f->family == 4 ? conntrack_find(ctx, t, sizeof(t->ipv4), f->proto) :
				conntrack_find(ctx, t, sizeof(t->ipv6), f->proto);
}

static __always_inline bool can_ask_conntrack(enum ask_from from)
{
	bool lookup = from == ASK_FROM_XDP ? bpf_ksym_exists(bpf_xdp_ct_lookup) : bpf_ksym_exists(bpf_skb_ct_lookup);

	return lookup && bpf_ksym_exists(bpf_ct_release);
}

static __always_inline void ask_conntrack(void *ctx, enum ask_from from, struct net_flow_entry *f)
{
	struct bpf_sock_tuple t;
	struct nf_conn *ct;

	if (!can_ask_conntrack(from))
		return;
	if (f->proto != 6 && f->proto != 17)
		return;
	ct_tuple(&t, f, false);
	ct = conntrack_of(ctx, from, f, &t);
	if (!ct) {	/* behind a translation only the reply's tuple is what is seen, turned round */
		ct_tuple(&t, f, true);
		ct = conntrack_of(ctx, from, f, &t);
	}
	if (!ct)
		return;
	ct_take(f, ct);
	bpf_ct_release(ct);
}

#endif
