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

#include "probes/net/net_dns_wire.h"
#include "probes/net/net_flow_ask.bpf.h"
#include "probes/net/net_flow_packet.bpf.h"

#define TC_NEXT (-1)	/* TCX_NEXT, TC_ACT_UNSPEC */
#define ASK_TIMES 3	/* an answer that did not come by then will not come */
#define TCP_FIN 1
#define TCP_SYN 2
#define TCP_RST 4
#define TCP_ACK 16
#define TCP_TOLD (TCP_FIN | TCP_SYN | TCP_RST)

const volatile __u32 net_flow_level = NET_AGGREGATE_MEDIUM;
const volatile __u64 net_flow_interval_ns = 5000000000ULL;
const volatile __u32 net_flow_dns = 1;

struct net_point {
	__u8 in, out;	/* NET_POINT_* */
};

/* As in net_tc.bpf.c: interfaces of this namespace, written before a program is attached to them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct net_point);
} net_points SEC(".maps");

/* No LRU: a flow that went would be lost without a word. One that finds no room is counted. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct net_flow_key);
	__type(value, struct net_flow);
} net_flows SEC(".maps");

/* Room for one more of each per CPU: too large for the stack. */
struct net_flow_room {
	struct net_flow first;
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

/* ---- reports ---- */

/* @f: the state to tell; it is copied. */
static __always_inline void tell(struct net_flow *f, const struct flow_packet *p, struct net_flow_rec *r, __u8 why,
				 __u8 way)
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
	__builtin_memcpy(&r->flow, f, sizeof(r->flow));
	rec_output(l, LANE_BULK, r, sizeof(*r));
}

/* 0 = nothing to tell of this packet. */
static __always_inline __u8 reason(const struct net_flow *f, const struct net_flow_way *w, __u64 now)
{
	if (net_flow_level == NET_AGGREGATE_NONE)
		return NET_FLOW_PACKET;
	if (net_flow_level == NET_AGGREGATE_MAX)
		return 0;
	if (w->tcp_flags & TCP_TOLD & ~w->told_flags)
		return NET_FLOW_FLAGS;
	return now - f->told_ns >= net_flow_interval_ns ? NET_FLOW_ACTIVE : 0;
}

/* ---- counting ---- */

/* Signed distance: sequence numbers wrap. */
static __always_inline bool seq_before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

static __always_inline void count_tcp(struct net_flow *f, struct net_flow_way *w, const struct flow_packet *p,
				      __u8 way, __u64 now)
{
	__u32 end = p->seq + p->payload + !!(p->tcp_flags & TCP_SYN) + !!(p->tcp_flags & TCP_FIN);
	bool first = !w->tcp_flags;

	if (!p->window && !(p->tcp_flags & (TCP_RST | TCP_SYN)))
		w->zero_windows++;
	if (!first && end != p->seq && seq_before(p->seq, w->next_seq))
		w->retransmitted++;
	if (first || seq_before(w->next_seq, end))
		w->next_seq = end;
	/* SYN out and back is one half of the handshake's time, its ACK the other */
	if (!f->rtt_ns && way == NET_WAY_FORWARD && f->way[NET_WAY_BACK].tcp_flags & TCP_SYN &&
	    w->tcp_flags == TCP_SYN && !(p->tcp_flags & TCP_SYN) && now - f->first_ns < 1ULL << 32)
		f->rtt_ns = now - f->first_ns;
	w->tcp_flags |= p->tcp_flags;
	/* the other way's flags lie where another CPU may be writing: looked at when they can matter only */
	if (p->tcp_flags & TCP_RST ||
	    (w->tcp_flags & TCP_FIN && f->way[0].tcp_flags & f->way[1].tcp_flags & TCP_FIN))
		if (!f->closed_ns)
			f->closed_ns = now;
}

static __always_inline void count(struct net_flow *f, const struct flow_packet *p, __u8 way, __u64 now)
{
	struct net_flow_way *w = &f->way[way & 1];

	__sync_fetch_and_add(&w->packets, 1);
	__sync_fetch_and_add(&w->bytes, p->len);
	f->last_ns = now;
	if (p->key.proto == 6)
		count_tcp(f, w, p, way, now);
}

static __always_inline void flow_begin(struct net_flow *f, const struct flow_packet *p, __u64 now)
{
	__builtin_memset(f, 0, sizeof(*f));
	f->first_ns = now;
	f->dir = p->dir;
	f->refused = selects_process();
	flow_ends(f, &p->key, p->swapped);
}

/* True if the packet belongs to the forward direction. */
static __always_inline bool is_forward(const struct net_flow *f, const struct flow_packet *p)
{
	const __u32 *src = p->swapped ? p->key.addr[1] : p->key.addr[0], *have = (const __u32 *)f->src.addr;
	__u16 port = p->swapped ? p->key.port[1] : p->key.port[0];

	if (p->key.ifindex != LOOPBACK)
		return f->dir == p->dir;
	return have[0] == src[0] && have[1] == src[1] && have[2] == src[2] && have[3] == src[3] &&
	       f->src.port == port;
}

static __always_inline void report(struct __sk_buff *skb, struct net_flow *f, const struct flow_packet *p,
				   struct net_flow_room *room, __u8 why, __u8 way, __u64 now)
{
	f->told_ns = now;
	f->way[0].told_flags = f->way[0].tcp_flags;
	f->way[1].told_flags = f->way[1].tcp_flags;
	if (!f->owner_tgid)
		ask_owner(skb, f, way);
	if (why == NET_FLOW_NEW)
		ask_route(skb, f);
	ask_conntrack(skb, f);
	tell(f, p, &room->rec, why, way);
}

/* A connection that closed and begins anew with the same ports: the old one is told of and forgotten. */
static __always_inline bool begins_anew(const struct net_flow *f, const struct flow_packet *p)
{
	return f->closed_ns && (p->tcp_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN;
}

static __always_inline void flow_lost(__u32 cause)
{
	struct sonde_ledger *l = ledger_seen(NET_CLASS_FLOW);

	if (l)
		rec_lost(l, cause);
}

/* The flow of a packet that has none yet; NULL when there is no room for one more, which is counted. */
static __always_inline struct net_flow *flow_new(struct net_flow_room *room, const struct flow_packet *p, __u64 now)
{
	struct net_flow *f;

	flow_begin(&room->first, p, now);
	/* another CPU may have been faster: then it is there */
	bpf_map_update_elem(&net_flows, &p->key, &room->first, BPF_NOEXIST);
	f = bpf_map_lookup_elem(&net_flows, &p->key);
	if (!f)
		flow_lost(SONDE_LOST_MAP_FULL);
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
static __always_inline void tell_dns(struct __sk_buff *skb, const struct flow_packet *p, struct net_flow_room *room)
{
	struct net_dns_rec *r = &room->dns.rec;
	struct sonde_ledger *l;
	__u32 off = p->l4_off + UDP_LEN, len = skb->len - off;

	if (!p->l4_off || skb->len < off + NET_DNS_MIN)
		return;
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

static __always_inline void flow_count(struct __sk_buff *skb, const struct flow_packet *p, struct net_flow_room *room)
{
	struct net_flow *f = bpf_map_lookup_elem(&net_flows, &p->key);
	__u64 now = bpf_ktime_get_boot_ns();
	__u8 way, why;

	if (!f) {
		f = flow_new(room, p, now);
		if (!f)
			return;
	} else if (begins_anew(f, p)) {
		tell(f, p, &room->rec, NET_FLOW_CLOSED, NET_WAY_FORWARD);
		flow_begin(f, p, now);
	}
	way = is_forward(f, p) ? NET_WAY_FORWARD : NET_WAY_BACK;
	count(f, p, way, now);
	if (way == NET_WAY_BACK && is_dns(p))
		tell_dns(skb, p, room);
	why = f->told_ns ? reason(f, &f->way[way & 1], now) : NET_FLOW_NEW;
	if (why)
		report(skb, f, p, room, why, way, now);
}

static __always_inline int flow_packet(struct __sk_buff *skb, __u8 dir, __u32 link)
{
	struct flow_packet p = { .dir = dir };
	struct net_flow_room *room;
	__u32 zero = 0;

	/* what leaves by loopback comes in by it again */
	if (dir == NET_DIR_IN && skb->ifindex == LOOPBACK)
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
	if (packet_parse(skb, &p, link))
		return TC_NEXT;
	room = bpf_map_lookup_elem(&net_flow_rooms, &zero);
	if (!room)
		return TC_NEXT;
	key_order(&p);
	flow_count(skb, &p, room);
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
	struct __sk_buff *skb;
};

/*
 * A first packet is seen before connection tracking knows it, an answer before it counts as one: who says no more
 * is asked about here.
 */
static long ask_one(void *map, const struct net_flow_key *key, struct net_flow *f, struct ask_ctx *c)
{
	struct net_flow_way *w = &f->way[!!f->way[NET_WAY_BACK].packets];

	(void)map;
	(void)key;
	if (f->ct == NET_CT_ESTABLISHED || f->ct == NET_CT_RELATED || w->asked >= ASK_TIMES)
		return 0;
	w->asked++;
	ask_conntrack(c->skb, f);
	return 0;
}

/* Attached nowhere: the reader runs it inside the namespace before it walks the map itself (net_flow.c). */
SEC("tc")
int sonde_flow_ask(struct __sk_buff *skb)
{
	struct ask_ctx c = { .skb = skb };

	bpf_for_each_map_elem(&net_flows, ask_one, &c, 0);
	return TC_NEXT;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
