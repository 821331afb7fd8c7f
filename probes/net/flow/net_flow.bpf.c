// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Flows at the interfaces of one network namespace: counts packets in a map, and reports a flow on an event: first
 * packet, new TCP flag, end of an interval. User space finds closed and idle flows in the map (net_flow.c). An
 * observer like net_tc.bpf.c: the verdict is "next", and the packet stays unchanged.
 *
 * Counting a packet of a known flow takes one look-up and a few additions; owner, connection tracking and route cost
 * more and are queried for reports only.
 */
#include "bpf/kernel.h"

#include "bpf/conntrack.bpf.h"
#include "bpf/pktfilter.bpf.h"
#include "probes/net/dns/net_dns_wire.h"
#include "probes/net/flow/net_flow_packet.bpf.h"
#include "probes/net/flow/net_flow_table_wire.h"
#include "probes/net/packet/net_group.bpf.h"
#include "probes/net/packet/net_load.bpf.h"
#include "probes/net/packet/net_packet.bpf.h"
#include "probes/net/packet/net_points.bpf.h"

#define QUERIES_MAX 3	/* later queries would not succeed either */
#define SLOT_AFTER 8	/* packets: most flows are shorter and never get a slot */
#define TCP_FIN 1
#define TCP_RST 4
#define TCP_ACK 16
#define TCP_ECN 0xc0
#define TCP_REPORTED (TCP_FIN | TCP_SYN | TCP_RST)

const volatile __u32 net_flow_level = NET_AGGREGATE_MEDIUM;
const volatile __u64 net_flow_interval_ns = 5000000000ULL;
const volatile __u32 net_flow_dns = 1;
const volatile __u32 net_flow_short = 1; /* slots are in use */

/*
 * Not an LRU: evictions would lose flows silently. A flow that finds no room is counted as lost. Sizes instead of
 * types, as in net_flow_direction_tables: 6.1 refuses an inner map with types where the template has none.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__uint(key_size, sizeof(struct net_flow_key));
	__uint(value_size, sizeof(struct net_flow_entry));
} net_flows SEC(".maps");

/* ---- owner, route, connection tracking: asked for reports only ---- */

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

/* The end that the packet's socket belongs to. */
static __always_inline bool end_by_socket(struct __sk_buff *skb, struct net_end *sender, struct net_end *receiver,
					  __u8 way)
{
	struct net_end e = {};

	if (!end_set(&e, bpf_get_socket_cookie(skb), SONDE_HOW_SKB, false) || !e.known)
		return false;
	if (way == NET_WAY_BACK)
		*receiver = e;
	else
		*sender = e;
	return true;
}

/* As net_end.begins would do it in each step of the look-up: for that the verifier needs twice as long. */
static __always_inline void end_find(struct net_end *e, struct sonde_tuple *t, const struct net_scratch *s)
{
	end_by_tuple(e, t, false);
	if (!(e->ended & s->begins))
		return;
	bpf_map_delete_elem(&sonde_senders, t);
	*e = (struct net_end){};
	end_bound(e, t, false);
}

/*
 * Both ends of the forward direction; @way: of the packet. The local end takes precedence: an incoming packet may
 * still carry the socket of its sender, behind a veth.
 */
static __always_inline void find_ends(struct __sk_buff *skb, const struct net_flow_entry *f, struct net_scratch *s,
				      __u8 way, struct net_ends *ret)
{
	struct net_end sender = {}, receiver = {};

	if (f->dir == NET_DIR_IN) {
		end_find(&receiver, &s->received, s);
		receiver_of_group(skb, s, &receiver);
		if (receiver.ended && f->proto != IPPROTO_TCP)
			receiver = (struct net_end){}; /* its port has no socket */
	}
	if (!receiver.known || receiver.foreign) {
		s->origin.family = 0;
		if (way == NET_WAY_FORWARD && f->dir == NET_DIR_OUT)
			find_origin(s, skb);
		if (!end_by_socket(skb, &sender, &receiver, way) && !sender_by_translation(&sender, s))
			end_find(&sender, &s->sent, s);
		if (f->dir == NET_DIR_OUT && !sender.known && !receiver.known)
			end_find(&receiver, &s->received, s);
	}
	ends_order(ret, &sender, &receiver, f->dir == NET_DIR_OUT);
}

/* The process at the local end; @way: of the packet. */
static __always_inline void owner_into(struct __sk_buff *skb, struct net_flow_entry *f, struct net_scratch *s,
				       __u8 way)
{
	const __u8 flags = f->forward.tcp_flags | f->back.tcp_flags;
	struct net_ends ends;
	struct sonde_owner *o;

	s->is_error = false;
	s->begins = flags & TCP_SYN && !(flags & (TCP_FIN | TCP_RST));
	tuple_of(&s->sent, &f->src, &f->dst, f);
	tuple_of(&s->received, &f->dst, &f->src, f);
	find_ends(skb, f, s, way, &ends);
	o = ends.owner.proc;
	if (!o && f->owner_tgid)
		return;
	f->cookie = ends.owner.cookie;
	f->owner = NET_FLOW_HOW | ends.owner.how | (ends.owner.foreign ? NET_FLOW_FOREIGN : 0);
	f->refused = selects_process();
	if (!o)
		return;
	f->refused = is_excluded(o->tgid) || !select_owner(o);
	f->forward.owns = ends.end == NET_END_SENDER;
	f->back.owns = !f->forward.owns;
	f->owner_tgid = o->tgid;
	f->owner_start_ns = o->start_ns;
	f->cgroup_id = o->cgroup_id;
}

/* The process of a listener is the owner only until the connection has a user. */
static __always_inline bool owner_is_final(const struct net_flow_entry *f)
{
	return f->owner_tgid && (f->owner & NET_FLOW_HOW_MASK) != SONDE_HOW_LISTENER;
}

static __always_inline void query_owner(struct __sk_buff *skb, struct net_flow_entry *f, __u8 way)
{
	struct net_scratch *s = scratch_of_cpu();

	if (!s || s->busy) /* the next report tries again */
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

/* Output interface and next hop of the forward direction, by the routing table. */
static __always_inline void query_route(struct __sk_buff *skb, struct net_flow_entry *f)
{
	struct fib_lookup q = { .family = f->family == SONDE_IPV4 ? AF_INET : AF_INET6,
				.ifindex = skb->ifindex,
				.tot_len = 0 };

	if (f->dir != NET_DIR_IN)
		return;
	q.l4_protocol = f->proto;
	q.sport = bpf_htons(f->src.port);
	q.dport = bpf_htons(f->dst.port);
	__builtin_memcpy(q.src, f->src.addr, 16);
	__builtin_memcpy(q.dst, f->dst.addr, 16);
	/* an unresolved neighbour (7) is fine: the route is known */
	switch (bpf_fib_lookup(skb, (void *)&q, sizeof(q), 0)) {
	case 0:
	case 7: f->out_ifindex = q.ifindex; __builtin_memcpy(f->next_hop, q.dst, 16);
	}
}

static __always_inline void ct_tuple(struct bpf_sock_tuple *t, const struct net_flow_entry *f, bool turned)
{
	const struct net_flow_end *a = turned ? &f->dst : &f->src, *b = turned ? &f->src : &f->dst;

	__builtin_memset(t, 0, sizeof(*t));
	if (f->family == SONDE_IPV4) {
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
	if (family == SONDE_IPV4)
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
 * A connection has two tuples: as sent, and as the reply is expected. This flow matches one of them, directly or
 * reversed; the other one, in forward direction, is the far side of the translation.
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
	if (!ends_differ(&here, &f->src) && !ends_differ(&there, &f->dst)) { /* before the translation */
		ct_end(&f->nat_src, &reply->dst.u3, BPF_CORE_READ(reply, dst.u.all), f->family);
		ct_end(&f->nat_dst, &reply->src.u3, BPF_CORE_READ(reply, src.u.all), f->family);
	} else if (!ends_differ(&here, &f->dst) && !ends_differ(&there, &f->src)) { /* before it, reply first */
		ct_end(&f->nat_dst, &reply->dst.u3, BPF_CORE_READ(reply, dst.u.all), f->family);
		ct_end(&f->nat_src, &reply->src.u3, BPF_CORE_READ(reply, src.u.all), f->family);
	} else { /* behind it: forward is as sent, or as replied */
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

/* Context of the calling program, a constant: each has its own kernel function. */
enum query_from { QUERY_FROM_TC, QUERY_FROM_XDP };

static __always_inline struct nf_conn *conntrack_of(void *ctx, enum query_from from, const struct net_flow_entry *f,
						    struct bpf_sock_tuple *t)
{
	if (from == QUERY_FROM_XDP)
		return f->family == SONDE_IPV4 ? conntrack_find_xdp(ctx, t, sizeof(t->ipv4), f->proto)
				      : conntrack_find_xdp(ctx, t, sizeof(t->ipv6), f->proto);
	return f->family == SONDE_IPV4 ? conntrack_find(ctx, t, sizeof(t->ipv4), f->proto)
			      : conntrack_find(ctx, t, sizeof(t->ipv6), f->proto);
}

static __always_inline bool can_query_conntrack(enum query_from from)
{
	bool lookup =
		from == QUERY_FROM_XDP ? bpf_ksym_exists(bpf_xdp_ct_lookup) : bpf_ksym_exists(bpf_skb_ct_lookup);

	return lookup && bpf_ksym_exists(bpf_ct_release);
}

static __always_inline void query_conntrack(void *ctx, enum query_from from, struct net_flow_entry *f)
{
	struct bpf_sock_tuple t;
	struct nf_conn *ct;

	if (!can_query_conntrack(from))
		return;
	if (f->proto != IPPROTO_TCP && f->proto != IPPROTO_UDP)
		return;
	ct_tuple(&t, f, false);
	ct = conntrack_of(ctx, from, f, &t);
	if (!ct) { /* behind a translation packets match only the reversed reply tuple */
		ct_tuple(&t, f, true);
		ct = conntrack_of(ctx, from, f, &t);
	}
	if (!ct)
		return;
	ct_take(f, ct);
	bpf_ct_release(ct);
}

/* ---- slots: the fast path ---- */

/*
 * The fast path of a packet of a known flow without news. A look-up in the flow table calls four kernel functions,
 * which costs more than everything else; a slot is an array element, found without a call. A slot belongs to one
 * direction of one flow and holds the packets counted there; reports add it to the flow's half in the table.
 *
 * The packet path claims a slot once a direction has SLOT_AFTER packets; user space (net_flow.c) releases it.
 */

/* User space maps it; each slot is one cache line. */
MAP_FLAGS(net_flow_slots, ARRAY, BPF_F_MMAPABLE, NET_FLOW_SLOTS, __u32, struct net_flow_slot);

static __always_inline struct net_flow_slot *slot_at(const struct net_flow_slot_key *k)
{
	__u32 at = net_flow_slot_index(k);

	return bpf_map_lookup_elem(&net_flow_slots, &at);
}

/* @ip: 40 bytes. False: the fast path does not handle it. */
static __always_inline bool slot_key(struct __sk_buff *skb, __u8 dir, const __u8 *ip, struct net_flow_slot_key *k)
{
	if (ip[0] != 0x45 || *(const __u16 *)(ip + 6) & bpf_htons(0x3fff))
		return false;
	k->src = *(const __u32 *)(ip + 12);
	k->dst = *(const __u32 *)(ip + 16);
	k->ports = *(const __u32 *)(ip + 20);
	k->ifindex = skb->ifindex;
	k->what = NET_FLOW_SLOT_LIVE | ip[9] << 8 | dir << 16;
	return true;
}

/* In sequence, and without a new flag. */
static __always_inline bool slot_takes_tcp(struct net_flow_slot *s, const __u8 *ip)
{
	const __u8 *tcp = ip + 20;
	__u32 seq = bpf_ntohl(*(const __u32 *)(tcp + 4)), head = 20 + (tcp[12] >> 4) * 4;
	__u32 total = bpf_ntohs(*(const __u16 *)(ip + 2));

	if (tcp[13] & (TCP_SYN | TCP_FIN | TCP_RST | ~s->tcp_flags) || !*(const __u16 *)(tcp + 14) ||
	    seq != s->next_seq)
		return false;
	if (total > head)
		s->next_seq = seq + total - head;
	return true;
}

/* Once per tick. False: a report may be due. */
static __always_inline bool slot_turn(struct net_flow_slot *s, __u32 tick)
{
	__u64 now = bpf_ktime_get_boot_ns();

	if ((__s32)((__u32)(now >> NET_FLOW_DUE_SHIFT) - s->due) >= 0)
		return false;
	s->last_ns = now;
	s->tick = tick;
	return true;
}

/* True if the packet was counted and needs nothing else. */
static __always_inline bool slot_count(struct __sk_buff *skb, __u8 dir, __u32 link)
{
	const __u8 *ip = (const __u8 *)(long)skb->data + (link == SONDE_LINK_ETHERNET ? ETH_LEN : 0);
	__u32 tick = (__u32)bpf_jiffies64();
	struct net_flow_slot_key k;
	struct net_flow_slot *s;

	if (skb->protocol != bpf_htons(NET_P_IP) || ip + 40 > (const __u8 *)(long)skb->data_end)
		return false;
	if (!slot_key(skb, dir, ip, &k))
		return false;
	s = slot_at(&k);
	if (!s || !net_flow_slot_is(s, &k) || (s->tick != tick && !slot_turn(s, tick)))
		return false;
	if ((__u8)(k.what >> 8) == 6 && !slot_takes_tcp(s, ip))
		return false;
	__sync_fetch_and_add(&s->packets, 1);
	__sync_fetch_and_add(&s->bytes, skb->len + (link == SONDE_LINK_ETHERNET && skb->vlan_present ? 4 : 0));
	return true;
}

/* ---- slots: claim and refresh ---- */

/* The slot of a packet's direction: free, its own or another flow's; NULL = this protocol has no slots. */
static __always_inline struct net_flow_slot *slot_of(const struct flow_packet *p, struct net_flow_slot_key *k)
{
	int src = p->swapped;

	if (p->key.family != SONDE_IPV4 || (p->key.proto != IPPROTO_TCP && p->key.proto != IPPROTO_UDP))
		return NULL;
	k->src = src ? p->key.addr[1][0] : p->key.addr[0][0];
	k->dst = src ? p->key.addr[0][0] : p->key.addr[1][0];
	k->ports = bpf_htons(src ? p->key.port[1] : p->key.port[0]) |
		   (__u32)bpf_htons(src ? p->key.port[0] : p->key.port[1]) << 16;
	k->ifindex = p->key.ifindex;
	k->what = NET_FLOW_SLOT_LIVE | p->key.proto << 8 | p->dir << 16;
	return slot_at(k);
}

/*
 * Claims a free slot. Kernels before 5.12 have no atomic operation that returns a value: a CPU that adds one and then
 * reads one was alone; any other CPU undoes its addition.
 */
static __always_inline bool slot_claim(struct net_flow_slot *s, const struct net_flow_slot_key *k)
{
	volatile __u32 *claims = &s->claims;

	if (*claims)
		return false;
	__sync_fetch_and_add(&s->claims, 1);
	if (*claims != 1) {
		__sync_fetch_and_add(&s->claims, -1);
		return false;
	}
	s->key.src = k->src;
	s->key.dst = k->dst;
	s->key.ports = k->ports;
	s->key.ifindex = k->ifindex;
	barrier();
	*(volatile __u32 *)&s->key.what = k->what;
	return true;
}

/* @w is the half of this direction, just counted: similar packets take the fast path until @due_ns. */
static __always_inline void slot_refresh(struct net_flow_slot *s, const struct net_flow_half *w, __u64 due_ns)
{
	s->next_seq = w->next_seq;
	s->due = (__u32)(due_ns >> NET_FLOW_DUE_SHIFT);
	s->tcp_flags = w->tcp_flags;
}

/* ---- slots: sums ---- */

/* Live or shut. */
static __always_inline struct net_flow_slot *slot_of_way(const struct net_flow_entry *f, __u32 ifindex, __u8 way)
{
	struct net_flow_slot_key k;
	struct net_flow_slot *s;

	if (!net_flow_slot_key_of(f, ifindex, way, &k))
		return NULL;
	s = slot_at(&k);
	return s && net_flow_slot_owned(s, &k) ? s : NULL;
}

static __always_inline void slot_add_way(const struct net_flow_entry *f, __u32 ifindex, __u8 way, struct net_flow *r)
{
	const struct net_flow_slot *s = slot_of_way(f, ifindex, way);

	if (!s)
		return;
	r->way[way].packets += s->packets;
	r->way[way].bytes += s->bytes;
	if (r->last_ns < s->last_ns)
		r->last_ns = s->last_ns;
}

static __always_inline void slot_add(const struct net_flow_entry *f, __u32 ifindex, struct net_flow *r)
{
	slot_add_way(f, ifindex, NET_WAY_FORWARD, r);
	slot_add_way(f, ifindex, NET_WAY_BACK, r);
}

/* A flow restarts: its slots hold the packets of its predecessor, and the first packet takes the slow path. */
static __always_inline void slot_begin_way(const struct net_flow_entry *f, __u32 ifindex, __u8 way,
					   struct net_flow_half *h)
{
	struct net_flow_slot *s = slot_of_way(f, ifindex, way);

	if (!s)
		return;
	s->tcp_flags = 0;
	h->packets = -s->packets;
	h->bytes = -s->bytes;
}

static __always_inline void slot_begin(struct net_flow_entry *f, __u32 ifindex)
{
	slot_begin_way(f, ifindex, NET_WAY_FORWARD, &f->forward);
	slot_begin_way(f, ifindex, NET_WAY_BACK, &f->back);
}

/* ---- scratch ---- */

/* Room for one more of each per CPU: too large for the stack. */
struct net_flow_room {
	struct flow_packet packet; /* the current one; here the verifier does not track its contents */
	struct net_flow_entry first;
	struct net_flow_rec rec;
	struct {
		struct net_dns_rec rec;
		__u8 data[NET_DNS_MAX];
	} dns;
};

MAP(net_flow_rooms, PERCPU_ARRAY, 1, __u32, struct net_flow_room);

static __always_inline struct net_flow_room *room_of_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&net_flow_rooms, &zero);
}

/* ---- reports ---- */

/* @f: the state to report; it is copied. */
static __always_inline void emit_flow(const struct net_flow_entry *f, const struct flow_packet *p,
				      struct net_flow_rec *r, __u8 why, __u8 way)
{
	struct sonde_ledger *l = ledger_seen(NET_CLASS_FLOW);
	__u32 ifindex = p->key.ifindex;
	struct net_point *point;

	if (!l)
		return;
	if (f->refused) {
		rec_filtered(l);
		return;
	}
	point = bpf_map_lookup_elem(&net_points, &ifindex);
	rec_init_keys(&r->hdr, l, NET_EV_FLOW, sizeof(*r), NET_CLASS_FLOW | SONDE_RF_IDENT, f->owner_tgid, 0,
		      f->owner_start_ns);
	ident_keys(&r->id, 0, f->cgroup_id, net_want_netns);
	r->id.sock = f->cookie;
	r->id.owner_how = f->owner & NET_FLOW_HOW_MASK;
	r->netns = net_want_netns;
	r->ifindex = ifindex;
	r->why = why;
	r->way = way;
	r->point = !point ? NET_POINT_NONE : p->dir == NET_DIR_IN ? point->in : point->out;
	r->other_point = 0;
	__builtin_memset(r->pad, 0, sizeof(r->pad));
	net_flow_of(f, &r->flow);
	slot_add(f, ifindex, &r->flow);
	rec_output(l, LANE_BULK, r, sizeof(*r));
}

/* The cause of a report; 0 = none is due. */
static __always_inline __u8 reason(const struct net_flow_entry *f, const struct net_flow_half *w, __u64 now)
{
	__u64 reported_ns = f->reported_ns;

	if (!reported_ns)
		return NET_FLOW_NEW;
	if (net_flow_level == NET_AGGREGATE_NONE)
		return NET_FLOW_PACKET;
	if (net_flow_level == NET_AGGREGATE_MAX)
		return 0;
	if (w->tcp_flags & TCP_REPORTED & ~w->reported_flags)
		return NET_FLOW_FLAGS;
	return now - reported_ns >= net_flow_interval_ns ? NET_FLOW_ACTIVE : 0;
}

static __always_inline __u64 due_after(void)
{
	return net_flow_level == NET_AGGREGATE_MAX ? 1ULL << (NET_FLOW_DUE_SHIFT + 30) : net_flow_interval_ns;
}

/* ---- counting ---- */

/* Signed distance: sequence numbers wrap. */
static __always_inline bool seq_before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

/* True if the flags of this direction change, or their meaning. */
static __always_inline bool count_tcp(struct net_flow_half *w, const struct flow_packet *p)
{
	__u32 end = p->seq + p->payload + !!(p->tcp_flags & TCP_SYN) + !!(p->tcp_flags & TCP_FIN);
	__u8 flags = w->tcp_flags | p->tcp_flags;

	if (unlikely(!p->window) && !(p->tcp_flags & (TCP_RST | TCP_SYN)))
		w->zero_windows++;
	if (w->tcp_flags && end != p->seq && seq_before(p->seq, w->next_seq))
		w->retransmitted++;
	if (!w->tcp_flags || seq_before(w->next_seq, end))
		w->next_seq = end;
	return flags != w->tcp_flags || flags & (TCP_FIN | TCP_RST);
}

/* Rare steps of a connection: the end of the handshake, a FIN of both sides, a RST. May read the other half. */
static __always_inline void tcp_turn(struct net_flow_entry *f, struct net_flow_half *w, const struct flow_packet *p,
				     __u64 now)
{
	/* SYN to SYN-ACK is one part of the handshake's time, SYN-ACK to ACK the other */
	if ((w->tcp_flags & ~TCP_ECN) == TCP_SYN && w == &f->forward && !(p->tcp_flags & TCP_SYN) && !f->rtt_ns &&
	    f->back.tcp_flags & TCP_SYN && now - f->first_ns < 1ULL << 32)
		f->rtt_ns = now - f->first_ns;
	w->tcp_flags |= p->tcp_flags;
	if (!f->closed_ns && (p->tcp_flags & TCP_RST || f->forward.tcp_flags & f->back.tcp_flags & TCP_FIN))
		f->closed_ns = now;
}

/* A packet carries the socket of its sender if that is on this host, also behind a veth. */
static __always_inline void note_srtt(struct __sk_buff *skb, struct net_flow_half *w)
{
	struct bpf_sock *sk = skb->sk;
	struct bpf_tcp_sock *tcp;

	sk = sk ? bpf_sk_fullsock(sk) : NULL;
	tcp = sk ? bpf_tcp_sock(sk) : NULL;
	if (tcp && tcp->srtt_us >> 3)	/* in eighths */
		w->srtt_us = tcp->srtt_us >> 3;
}

static __always_inline void flow_begin(struct net_flow_entry *f, const struct flow_packet *p, __u64 now)
{
	__builtin_memset(f, 0, sizeof(*f));
	f->first_ns = now;
	f->dir = p->dir;
	f->refused = selects_process();
	flow_ends(f, &p->key, p->swapped);
}

/*
 * Reports the flow of the packet in this CPU's room. A function of its own to the verifier, which walks it once, not
 * once per way to it; kernels before 5.12 pass numbers and the context only, so it looks up the flow again.
 */
__noinline int flow_report(struct __sk_buff *skb, __u32 why, __u32 way)
{
	struct net_flow_room *room = room_of_cpu();
	struct net_flow_entry *f = room ? bpf_map_lookup_elem(&net_flows, &room->packet.key) : NULL;

	if (!f)
		return 0;
	f->forward.reported_flags = f->forward.tcp_flags;
	f->back.reported_flags = f->back.tcp_flags;
	if (!owner_is_final(f))
		query_owner(skb, f, way);
	if (why == NET_FLOW_NEW)
		query_route(skb, f);
	query_conntrack(skb, QUERY_FROM_TC, f);
	emit_flow(f, &room->packet, &room->rec, why, way);
	return 0;
}

static __always_inline void flow_lost(__u32 cause)
{
	struct sonde_ledger *l = ledger_seen(NET_CLASS_FLOW);

	if (l)
		rec_lost(l, cause);
}

/* Creates the flow of a packet. NULL if the table is full, which is counted. */
static __always_inline struct net_flow_entry *flow_new(const struct flow_packet *p, __u64 now)
{
	struct net_flow_room *room = room_of_cpu();
	struct net_flow_entry *f;

	if (!room)
		return NULL;
	flow_begin(&room->first, p, now);
	/* another CPU may have created it meanwhile */
	bpf_map_update_elem(&net_flows, &p->key, &room->first, BPF_NOEXIST);
	f = bpf_map_lookup_elem(&net_flows, &p->key);
	if (!f)
		flow_lost(SONDE_LOST_MAP_FULL);
	return f;
}

/*
 * The SYN of a packet begins another connection: the flow is closed, or was at another point of the sequence. One
 * that is sent again or late has its number.
 */
static __always_inline bool syn_is_new(const struct net_flow_entry *f, const struct flow_packet *p)
{
	bool back = !is_forward(f, p);
	__u8 flags = back ? f->back.tcp_flags : f->forward.tcp_flags;
	__u8 other = back ? f->forward.tcp_flags : f->back.tcp_flags;

	if (f->closed_ns)
		return true;
	if (!flags)	/* both ends may send a SYN */
		return !(other & TCP_SYN);
	return !(flags & TCP_SYN) || f->syn_seq[back] != p->seq;
}

/*
 * Without connections: the socket of before is closed, and the packet's own sends in its place; or packets still come
 * to its port, which is asked once a tick. A late answer to a closed socket belongs to its flow.
 */
static __always_inline bool socket_is_new(struct __sk_buff *skb, const struct net_flow_entry *f,
					  const struct flow_packet *p, __u32 tick)
{
	const struct sonde_owner *before;
	__u64 cookie;

	if (p->key.proto == IPPROTO_TCP || !is_forward(f, p))
		return false;
	if (f->forward.owns) {
		cookie = bpf_get_socket_cookie(skb);
		if (!cookie || cookie == f->cookie)
			return false;
	} else if (!f->back.owns || f->forward.tick == tick) {
		return false;
	}
	before = owner_by_cookie(f->cookie);
	return before && before->ended;
}

/* Another socket has the ports: reports the old flow and starts over. */
static __always_inline struct net_flow_entry *flow_again(struct net_flow_entry *f, const struct flow_packet *p,
							 __u64 now)
{
	struct net_flow_room *room = room_of_cpu();

	if (!room)
		return f;
	emit_flow(f, p, &room->rec, NET_FLOW_CLOSED, NET_WAY_FORWARD);
	flow_begin(f, p, now);
	slot_begin(f, p->key.ifindex);
	return f;
}

/* ---- names ---- */

#define UDP_LEN 8

/* The source port is that of DNS. */
static __always_inline bool is_dns(const struct flow_packet *p)
{
	__u16 port = p->swapped ? p->key.port[1] : p->key.port[0];

	return net_flow_dns && p->key.proto == IPPROTO_UDP && port == NET_DNS_PORT;
}

/* Reports the bytes of a DNS answer whose query was seen; user space parses them. */
static __always_inline void emit_dns(struct __sk_buff *skb, const struct flow_packet *p)
{
	struct net_flow_room *room = room_of_cpu();
	__u32 off = p->l4_off + UDP_LEN, len = skb->len - off;
	struct sonde_ledger *l;
	struct net_dns_rec *r;

	if (!room || !p->l4_off || skb->len < off + NET_DNS_MIN)
		return;
	r = &room->dns.rec;
	l = ledger_seen(NET_CLASS_FLOW);
	if (!l)
		return;
	if (len > NET_DNS_MAX)
		len = NET_DNS_MAX;
	barrier_var(len);	/* bounded next to its use: older verifiers forget the bounds of a spilled number */
	if (len < NET_DNS_MIN || len > NET_DNS_MAX || bpf_skb_load_bytes(skb, off, room->dns.data, len)) {
		rec_lost(l, SONDE_LOST_COPY);
		return;
	}
	rec_init_keys(&r->hdr, l, NET_EV_DNS, sizeof(*r) + len, NET_CLASS_FLOW, 0, 0, 0);
	r->netns = net_want_netns;
	r->ifindex = p->key.ifindex;
	r->len = len;
	r->pad = 0;
	rec_output(l, LANE_BULK, r, sizeof(*r) + len);
}

/* ---- a packet ---- */

/* The slow part, not run for every packet: time stamp, rare TCP steps, report. */
static __always_inline void flow_turn(struct __sk_buff *skb, struct net_flow_entry *f, struct net_flow_half *w,
				      const struct flow_packet *p, bool forward, __u64 now)
{
	__u8 why;

	w->last_ns = now;
	if (p->key.proto == IPPROTO_TCP) {
		tcp_turn(f, w, p, now);
		note_srtt(skb, w);
	}
	if (!forward && is_dns(p))
		emit_dns(skb, p);
	why = reason(f, w, now);
	if (!why)
		return;
	f->reported_ns = now;
	flow_report(skb, why, forward ? NET_WAY_FORWARD : NET_WAY_BACK);
}

/* DNS answers take the slow path one by one. */
static __always_inline bool may_claim(const struct net_flow_entry *f, const struct net_flow_half *w,
				      const struct flow_packet *p)
{
	return w->packets >= SLOT_AFTER && !f->closed_ns && !is_dns(p);
}

static __always_inline void flow_count(struct __sk_buff *skb, const struct flow_packet *p)
{
	struct net_flow_entry *f = bpf_map_lookup_elem(&net_flows, &p->key);
	__u32 tick = (__u32)bpf_jiffies64();
	struct net_flow_slot_key k;
	struct net_flow_slot *slot;
	struct net_flow_half *w;
	bool is_syn = (p->tcp_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN;
	bool again = f && (is_syn ? syn_is_new(f, p) : socket_is_new(skb, f, p, tick));
	bool forward, turn;
	__u64 now = 0;

	if (unlikely(!f || is_syn || again)) {
		now = bpf_ktime_get_boot_ns();
		f = !f ? flow_new(p, now) : again ? flow_again(f, p, now) : f;
		if (!f)
			return;
		forward = is_forward(f, p);
		f->syn_seq[!forward] = p->seq;
	} else {
		forward = is_forward(f, p);
	}
	w = forward ? &f->forward : &f->back;
	slot = net_flow_short ? slot_of(p, &k) : NULL;
	if (slot && !net_flow_slot_is(slot, &k))
		slot = may_claim(f, w, p) && slot_claim(slot, &k) ? slot : NULL;
	else if (slot && seq_before(w->next_seq, slot->next_seq))
		w->next_seq = slot->next_seq;
	__sync_fetch_and_add(&w->packets, 1);
	__sync_fetch_and_add(&w->bytes, p->len);
	turn = net_flow_level == NET_AGGREGATE_NONE || now || w->tick != tick || (!forward && is_dns(p));
	if (p->key.proto == IPPROTO_TCP)
		turn |= count_tcp(w, p);
	if (turn) {
		w->tick = tick;
		flow_turn(skb, f, w, p, forward, now ?: bpf_ktime_get_boot_ns());
	}
	if (slot)
		slot_refresh(slot, w, f->reported_ns + due_after());
}

static __always_inline int flow_packet(struct __sk_buff *skb, __u8 dir, __u32 link)
{
	struct net_flow_room *room;

	/* a packet that leaves by loopback comes in by it again */
	if (dir == NET_DIR_IN && (skb->ifindex == LOOPBACK || is_looped_copy(skb)))
		return TC_NEXT;
	switch (pktfilter_tc(skb, link)) {
	case PKTFILTER_PASS:
		break;
	case PKTFILTER_UNDECIDED: /* user space cannot subtract it from a sum */
		flow_lost(SONDE_LOST_COPY);
		return TC_NEXT;
	default:
		return TC_NEXT;
	}
	if (net_flow_short && slot_count(skb, dir, link))
		return TC_NEXT;
	room = room_of_cpu();
	if (!room)
		return TC_NEXT;
	__builtin_memset(&room->packet, 0, sizeof(room->packet));
	room->packet.dir = dir;
	if (packet_parse(skb, &room->packet, link))
		return TC_NEXT;
	key_order(&room->packet);
	flow_count(skb, &room->packet);
	return TC_NEXT;
}

PROGRAM("tc", sonde_flow_i_l2, flow_packet(skb, NET_DIR_IN, SONDE_LINK_ETHERNET), struct __sk_buff *skb)
PROGRAM("tc", sonde_flow_o_l2, flow_packet(skb, NET_DIR_OUT, SONDE_LINK_ETHERNET), struct __sk_buff *skb)
PROGRAM("tc", sonde_flow_i_l3, flow_packet(skb, NET_DIR_IN, SONDE_LINK_RAW), struct __sk_buff *skb)
PROGRAM("tc", sonde_flow_o_l3, flow_packet(skb, NET_DIR_OUT, SONDE_LINK_RAW), struct __sk_buff *skb)

/* ---- asked later ---- */

struct query_ctx {
	struct xdp_md *xdp;
};

/*
 * The first packet is seen before connection tracking knows it, a reply before it counts as one: queries flows whose
 * state is still open again.
 */
static long query_one(void *map, const struct net_flow_key *key, struct net_flow_entry *f, struct query_ctx *c)
{
	struct net_flow_half *w = f->back.packets ? &f->back : &f->forward;

	(void)map;
	(void)key;
	if (f->ct == NET_CT_ESTABLISHED || f->ct == NET_CT_RELATED || w->queries >= QUERIES_MAX)
		return 0;
	w->queries++;
	query_conntrack(c->xdp, QUERY_FROM_XDP, f);
	return 0;
}

#define XDP_PASS 2

/*
 * Attached nowhere: user space runs it inside the namespace before it walks the map (net_flow.c). XDP, because the
 * test run of a tc program allocates a packet and frees it as a drop (tracepoint kfree_skb), visible to others.
 */
SEC("xdp")
int sonde_flow_ask(struct xdp_md *xdp)
{
	struct query_ctx c = { .xdp = xdp };

	bpf_for_each_map_elem(&net_flows, query_one, &c, 0);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
