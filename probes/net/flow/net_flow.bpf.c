// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Flows at the interfaces of one network namespace: packets are counted in a map, and told of when something happens:
 * a first packet, a TCP flag, an interval that is over. What closed or fell silent the reader finds in the map
 * (net_flow.c). An observer as net_tc.bpf.c is one: the verdict is "next", nothing is changed or pulled.
 *
 * Counting a packet of a known flow is one look-up and some additions; all that costs more (owner, connection
 * tracking, route) is asked when there is something to tell.
 */
#include "bpf/kernel.h"

#include "probes/net/dns/net_dns_wire.h"
#include "probes/net/flow/net_flow_query.bpf.h"
#include "probes/net/flow/net_flow_packet.bpf.h"
#include "probes/net/flow/net_flow_slot.bpf.h"
#include "probes/net/flow/net_flow_table_wire.h"
#include "probes/net/packet/net_load.bpf.h"
#include "probes/net/packet/net_points.bpf.h"

#define ASK_TIMES 3	/* an answer that did not come by then will not come */
#define TCP_ACK 16
#define TCP_ECN 0xc0
#define TCP_TOLD (TCP_FIN | TCP_SYN | TCP_RST)

const volatile __u32 net_flow_level = NET_AGGREGATE_MEDIUM;
const volatile __u64 net_flow_interval_ns = 5000000000ULL;
const volatile __u32 net_flow_dns = 1;
const volatile __u32 net_flow_short = 1;	/* slots are there: net_flow_slot.bpf.h */

/* No LRU: a flow that went would be lost without a word. One that finds no room is counted. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct net_flow_key);
	__type(value, struct net_flow_entry);
} net_flows SEC(".maps");

/* Room for one more of each per CPU: too large for the stack. */
struct net_flow_room {
	struct flow_packet packet;	/* the one at hand; here the verifier forgets what it may be */
	__u8 any;		/* forget() */
	struct net_flow_entry first;
	struct net_flow_rec rec;
	struct {
		struct net_dns_rec rec;
		__u8 data[NET_DNS_MAX];
	} dns;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct net_flow_room);
} net_flow_rooms SEC(".maps");

static __always_inline struct net_flow_room *room_of_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&net_flow_rooms, &zero);
}

/*
 * The same number, of which the verifier no longer knows what it can be: it walks what follows once, not once for
 * each value.
 */
static __always_inline __u8 forget(struct net_flow_room *room, __u8 value)
{
	*(volatile __u8 *)&room->any = value;
	return *(volatile __u8 *)&room->any;
}

/* ---- reports ---- */

/* @f: the state to tell; it is copied. */
static __always_inline void tell(const struct net_flow_entry *f, const struct flow_packet *p,
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
	rec_init_keys(&r->hdr, l, NET_EV_FLOW, sizeof(*r), NET_CLASS_FLOW, f->owner_tgid, 0, f->owner_start_ns);
	r->netns = net_want_netns;
	r->ifindex = ifindex;
	r->why = why;
	r->way = way;
	r->point = !point ? NET_POINT_NONE : p->dir == NET_DIR_IN ? point->in : point->out;
	__builtin_memset(r->pad, 0, sizeof(r->pad));
	net_flow_of(f, &r->flow);
	slot_add(f, ifindex, &r->flow);
	rec_output(l, LANE_BULK, r, sizeof(*r));
}

/* 0 = nothing to tell of this packet. */
static __always_inline __u8 reason(const struct net_flow_entry *f, const struct net_flow_half *w, __u64 now)
{
	__u64 told_ns = f->told_ns;

	if (!told_ns)
		return NET_FLOW_NEW;
	if (net_flow_level == NET_AGGREGATE_NONE)
		return NET_FLOW_PACKET;
	if (net_flow_level == NET_AGGREGATE_MAX)
		return 0;
	if (w->tcp_flags & TCP_TOLD & ~w->told_flags)
		return NET_FLOW_FLAGS;
	return now - told_ns >= net_flow_interval_ns ? NET_FLOW_ACTIVE : 0;
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

/* True if it changes what the flags of this direction are, or what they mean. */
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

/* What happens once in a connection: the handshake's end, a FIN of both sides, a RST. May look at the other half. */
static __always_inline void tcp_turn(struct net_flow_entry *f, struct net_flow_half *w, const struct flow_packet *p,
				     __u64 now)
{
	/* SYN out and back is one half of the handshake's time, its ACK the other */
	if ((w->tcp_flags & ~TCP_ECN) == TCP_SYN && w == &f->forward && !(p->tcp_flags & TCP_SYN) && !f->rtt_ns &&
	    f->back.tcp_flags & TCP_SYN && now - f->first_ns < 1ULL << 32)
		f->rtt_ns = now - f->first_ns;
	w->tcp_flags |= p->tcp_flags;
	if (!f->closed_ns && (p->tcp_flags & TCP_RST || f->forward.tcp_flags & f->back.tcp_flags & TCP_FIN))
		f->closed_ns = now;
}

/* A packet carries the socket of its sender where that is on this host, also behind a veth. */
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

static __always_inline void report(struct __sk_buff *skb, struct net_flow_entry *f, const struct flow_packet *p,
				   __u8 why, __u8 way, __u64 now)
{
	struct net_flow_room *room = room_of_cpu();

	if (!room)
		return;
	why = forget(room, why);
	way = forget(room, way);
	f->told_ns = now;
	f->forward.told_flags = f->forward.tcp_flags;
	f->back.told_flags = f->back.tcp_flags;
	if (!f->owner_tgid)
		ask_owner(skb, f, way);
	if (why == NET_FLOW_NEW)
		ask_route(skb, f);
	ask_conntrack(skb, ASK_FROM_TC, f);
	tell(f, p, &room->rec, why, way);
}

static __always_inline void flow_lost(__u32 cause)
{
	struct sonde_ledger *l = ledger_seen(NET_CLASS_FLOW);

	if (l)
		rec_lost(l, cause);
}

/* The flow of a packet that has none yet; NULL when there is no room for one more, which is counted. */
static __always_inline struct net_flow_entry *flow_new(const struct flow_packet *p, __u64 now)
{
	struct net_flow_room *room = room_of_cpu();
	struct net_flow_entry *f;

	if (!room)
		return NULL;
	flow_begin(&room->first, p, now);
	/* another CPU may have been faster: then it is there */
	bpf_map_update_elem(&net_flows, &p->key, &room->first, BPF_NOEXIST);
	f = bpf_map_lookup_elem(&net_flows, &p->key);
	if (!f)
		flow_lost(SONDE_LOST_MAP_FULL);
	return f;
}

/* A connection that closed and begins anew with the same ports: the old one is told of and forgotten. */
static __always_inline struct net_flow_entry *flow_again(struct net_flow_entry *f, const struct flow_packet *p,
							 __u64 now)
{
	struct net_flow_room *room = f->closed_ns ? room_of_cpu() : NULL;

	if (!room)
		return f;
	tell(f, p, &room->rec, NET_FLOW_CLOSED, NET_WAY_FORWARD);
	flow_begin(f, p, now);
	slot_begin(f, p->key.ifindex);
	return f;
}

/* ---- names ---- */

#define UDP_LEN 8

/* The source's port is that of name servers. */
static __always_inline bool is_dns(const struct flow_packet *p)
{
	__u16 port = p->swapped ? p->key.port[1] : p->key.port[0];

	return net_flow_dns && p->key.proto == 17 && port == NET_DNS_PORT;
}

/* The bytes of an answer to a question that was seen: user space reads them. */
static __always_inline void tell_dns(struct __sk_buff *skb, const struct flow_packet *p)
{
	struct net_flow_room *room = room_of_cpu();
	__u32 off = p->l4_off + UDP_LEN, len = skb->len - off;
	struct sonde_ledger *l;
	struct net_dns_rec *r;

	if (!room || !p->l4_off || skb->len < off + NET_DNS_MIN)
		return;
	r = &room->dns.rec;
	if (len > NET_DNS_MAX)
		len = NET_DNS_MAX;
	l = ledger_seen(NET_CLASS_FLOW);
	if (!l)
		return;
	if (len < NET_DNS_MIN || bpf_skb_load_bytes(skb, off, room->dns.data, len)) {
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

/* What not every packet asks for: the time, and what there is to tell. */
static __always_inline void flow_turn(struct __sk_buff *skb, struct net_flow_entry *f, struct net_flow_half *w,
				      const struct flow_packet *p, bool forward, __u64 now)
{
	__u8 why;

	w->last_ns = now;
	if (p->key.proto == 6) {
		tcp_turn(f, w, p, now);
		note_srtt(skb, w);
	}
	if (!forward && is_dns(p))
		tell_dns(skb, p);
	why = reason(f, w, now);
	if (why)
		report(skb, f, p, why, forward ? NET_WAY_FORWARD : NET_WAY_BACK, now);
}

/* Answers of name servers are read one by one. */
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
	bool forward, turn;
	__u64 now = 0;

	if (unlikely(!f || (p->tcp_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN)) {
		now = bpf_ktime_get_boot_ns();
		f = f ? flow_again(f, p, now) : flow_new(p, now);
		if (!f)
			return;
	}
	forward = is_forward(f, p);
	w = forward ? &f->forward : &f->back;
	slot = net_flow_short ? slot_of(p, &k) : NULL;
	if (slot && !net_flow_slot_is(slot, &k))
		slot = may_claim(f, w, p) && slot_claim(slot, &k) ? slot : NULL;
	else if (slot && seq_before(w->next_seq, slot->next_seq))
		w->next_seq = slot->next_seq;
	__sync_fetch_and_add(&w->packets, 1);
	__sync_fetch_and_add(&w->bytes, p->len);
	turn = net_flow_level == NET_AGGREGATE_NONE || now || w->tick != tick || (!forward && is_dns(p));
	if (p->key.proto == 6)
		turn |= count_tcp(w, p);
	if (turn) {
		w->tick = tick;
		flow_turn(skb, f, w, p, forward, now ?: bpf_ktime_get_boot_ns());
	}
	if (slot)
		slot_refresh(slot, w, f->told_ns + due_after());
}

static __always_inline int flow_packet(struct __sk_buff *skb, __u8 dir, __u32 link)
{
	struct net_flow_room *room;

	/* what leaves by loopback comes in by it again */
	if (dir == NET_DIR_IN && (skb->ifindex == LOOPBACK || is_looped_copy(skb)))
		return TC_NEXT;
	switch (pktfilter_tc(skb, link)) {
	case PKTFILTER_PASS:
		break;
	case PKTFILTER_UNDECIDED:	/* user space cannot take it out of a sum again */
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

SEC("tc")
int sonde_flow_i_l2(struct __sk_buff *skb)
{
	return flow_packet(skb, NET_DIR_IN, SONDE_LINK_ETHERNET);
}

SEC("tc")
int sonde_flow_o_l2(struct __sk_buff *skb)
{
	return flow_packet(skb, NET_DIR_OUT, SONDE_LINK_ETHERNET);
}

SEC("tc")
int sonde_flow_i_l3(struct __sk_buff *skb)
{
	return flow_packet(skb, NET_DIR_IN, SONDE_LINK_RAW);
}

SEC("tc")
int sonde_flow_o_l3(struct __sk_buff *skb)
{
	return flow_packet(skb, NET_DIR_OUT, SONDE_LINK_RAW);
}

/* ---- asked later ---- */

struct ask_ctx {
	struct xdp_md *xdp;
};

/*
 * A first packet is seen before connection tracking knows it, an answer before it counts as one: who says no more
 * is asked about here.
 */
static long ask_one(void *map, const struct net_flow_key *key, struct net_flow_entry *f, struct ask_ctx *c)
{
	struct net_flow_half *w = f->back.packets ? &f->back : &f->forward;

	(void)map;
	(void)key;
	if (f->ct == NET_CT_ESTABLISHED || f->ct == NET_CT_RELATED || w->asked >= ASK_TIMES)
		return 0;
	w->asked++;
	ask_conntrack(c->xdp, ASK_FROM_XDP, f);
	return 0;
}

#define XDP_PASS 2

/*
 * Attached nowhere: the reader runs it inside the namespace before it walks the map itself (net_flow.c). XDP, because
 * the test run of a tc program allocates a packet and frees it as a drop (tracepoint kfree_skb), which others see.
 */
SEC("xdp")
int sonde_flow_ask(struct xdp_md *xdp)
{
	struct ask_ctx c = { .xdp = xdp };

	bpf_for_each_map_elem(&net_flows, ask_one, &c, 0);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
