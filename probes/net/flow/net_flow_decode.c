// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Flow records to events. A record holds both directions; each becomes an event with its own source, counts and
 * flags. Pure.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>

#include "base/cursor.h"
#include "event/decode.h"
#include "event/event.h"
#include "probes/net/net_decode_1.h"
#include "probes/net/net_event.h"
#include "probes/net/flow/net_flow_wire.h"
#include "probes/net/net_wire.h"
#include "probes/net/net_1_wire.h"

#define REC_BEFORE_TURNS (offsetof(struct net_flow_rec, flow) + offsetof(struct net_flow, turn))
#define TCP_FIN 1
#define TCP_SYN 2
#define TCP_RST 4
#define TCP_ECN 0xc0

/* TCP state by both directions' flags. A connection older than the trace counts as established. */
static uint8_t tcp_state(const struct net_flow *f)
{
	uint8_t a = f->way[NET_WAY_FORWARD].tcp_flags, b = f->way[NET_WAY_BACK].tcp_flags;

	if (f->proto != IPPROTO_TCP)
		return FLOW_TCP_NONE;
	if ((a | b) & TCP_RST)
		return FLOW_TCP_RESET;
	if (a & b & TCP_FIN)
		return FLOW_TCP_CLOSED;
	if ((a | b) & TCP_FIN)
		return FLOW_TCP_FIN_WAIT;
	if ((a & ~TCP_ECN) == TCP_SYN) /* the client has not acknowledged the answer yet */
		return b ? FLOW_TCP_SYN_RECV : FLOW_TCP_SYN_SENT;
	return FLOW_TCP_ESTABLISHED;
}

uint64_t net_event_flow_id(uint32_t netns, uint32_t ifindex, const struct net_flow *f)
{
	const uint64_t prime = 0x100000001b3ull;
	uint64_t h = 0xcbf29ce484222325ull ^ f->first_ns;

	for (size_t i = 0; i < sizeof(f->src.addr); i++)
		h = (h ^ f->src.addr[i] ^ (uint64_t)f->dst.addr[i] << 8) * prime;
	h = (h ^ f->src.port ^ (uint64_t)f->dst.port << 16 ^ (uint64_t)f->proto << 32) * prime;
	h = (h ^ ifindex ^ (uint64_t)netns << 32) * prime;
	return h ? h : 1;
}

/* Fate of the packets of a direction: dropped if none is known to have passed. */
static bool is_foreign(const struct net_flow *f)
{
	return f->owner & NET_FLOW_HOW ? f->owner & NET_FLOW_FOREIGN : f->owner == NET_OWNER_1_REMOTE_TUPLE;
}

static void set_turn(struct net_flow_event *b, const struct net_flow_direction *t)
{
	b->dropped = t->dropped;
	b->redirected = t->redirected;
	b->reason = t->reason & ~NET_REASON_TTL;
	b->cause = t->reason & NET_REASON_TTL ? NET_CAUSE_TTL : NET_CAUSE_NONE;
	b->srtt_ns = t->srtt_us * 1000ull;
	b->verdict = NET_VERDICT_FORWARDED;
	b->action = b->nat ? NET_ACTION_NAT : NET_ACTION_PASS;
	if (t->dropped && t->dropped >= b->packets) {
		b->verdict = NET_VERDICT_DROPPED;
		b->action = NET_ACTION_DROP;
	} else if (t->redirected) {
		b->verdict = NET_VERDICT_REDIRECTED;
		b->action = NET_ACTION_REDIRECT;
	}
}

static void set_body(struct net_flow_event *b, const struct net_flow_rec *r, unsigned way)
{
	const struct net_flow *f = &r->flow;
	const struct net_flow_way *w = &f->way[way];

	*b = (struct net_flow_event){
		.id = net_event_flow_id(r->netns, r->ifindex, f),
		.packets = w->packets,
		.bytes = w->bytes,
		.duration_ns = f->last_ns > f->first_ns ? f->last_ns - f->first_ns : 0,
		.rtt_ns = f->rtt_ns,
		.first_ns = f->first_ns,
		.last_ns = f->last_ns,
		.ifindex = r->ifindex,
		.out_ifindex = way ? 0 : f->out_ifindex,
		.retransmitted = w->retransmitted,
		.zero_windows = w->zero_windows,
		.mark = f->mark,
		.why = r->why,
		.is_reply = way == NET_WAY_BACK,
		.point = r->way == way ? r->point : r->other_point ? r->other_point - 1 : NET_POINT_NONE,
		.dir = !way		      ? f->dir
		       : f->dir == NET_DIR_IN ? NET_DIR_OUT
					      : NET_DIR_IN,
		.owner_foreign = is_foreign(f),
		.tcp_flags = w->tcp_flags,
		.tcp_state = tcp_state(f),
		.ct = f->ct,
		.offloaded = f->offloaded,
		.nat = f->nat,
		.owner_end = w->owns		 ? NET_END_SENDER
			     : f->way[!way].owns ? NET_END_RECEIVER
						 : NET_END_UNKNOWN,
	};
	set_turn(b, &f->turn[way]);
	if (!way && f->out_ifindex)
		ipaddr_set(&b->next_hop, f->family, f->next_hop);
	if (f->nat) {
		const struct net_flow_end *src = way ? &f->nat_dst : &f->nat_src;
		const struct net_flow_end *dst = way ? &f->nat_src : &f->nat_dst;

		ipaddr_set(&b->nat_saddr, f->family, src->addr);
		ipaddr_set(&b->nat_daddr, f->family, dst->addr);
		b->nat_sport = src->port;
		b->nat_dport = dst->port;
	}
}

static void set_keys(struct event_keys *k, const struct net_flow_rec *r, unsigned way)
{
	const struct net_flow *f = &r->flow;
	const struct net_flow_end *src = way ? &f->dst : &f->src, *dst = way ? &f->src : &f->dst;

	k->netns = r->netns;
	k->cookie = f->cookie;
	k->cgroup_id = f->cgroup_id;
	k->owner_how = f->owner & NET_FLOW_HOW ? f->owner & NET_FLOW_HOW_MASK : net_decode_1_how(f->owner);
	k->conn.proto = f->proto;
	ipaddr_set(&k->conn.saddr, f->family, src->addr);
	ipaddr_set(&k->conn.daddr, f->family, dst->addr);
	if (f->proto == IPPROTO_ICMP || f->proto == IPPROTO_ICMPV6) /* the identifier of an echo is not a port */
		return;
	k->conn.sport = src->port;
	k->conn.dport = dst->port;
}

/*
 * True if this record has an event of direction @way: a cause in one packet concerns its direction, any other cause
 * each direction with packets.
 */
static bool is_reported(const struct net_flow_rec *r, unsigned way)
{
	if (r->why == NET_FLOW_NEW || r->why == NET_FLOW_FLAGS || r->why == NET_FLOW_PACKET)
		return r->way == way;
	return r->flow.way[way].packets;
}

int net_flow_decode(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	struct cursor c = cur_init(rec, rec->len);
	struct net_flow_rec r = { 0 };
	int ret = 0;

	if (!cur_copy(&c, &r, rec->len < sizeof(r) ? REC_BEFORE_TURNS : sizeof(r)) ||
	    !ipaddr_bytes(r.flow.family) || r.way > NET_WAY_BACK)
		return -EBADMSG;
	for (unsigned way = 0; way < 2 && ret >= 0; way++) {
		struct net_flow_event *b;

		if (!is_reported(&r, way))
			continue;
		event_decode_from_rec(ev, &net_flow_desc, rec); /* again: emit has filled it in */
		b = event_decode_new_body(ev, em);
		if (!b)
			return -ENOMEM;
		set_body(b, &r, way);
		set_keys(&ev->keys, &r, way);
		ret = em->emit(em->ctx, ev);
	}
	return ret;
}
