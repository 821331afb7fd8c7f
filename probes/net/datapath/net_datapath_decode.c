// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Decodes records with other datapaths' notifications. Layouts: cilium/notify.h.
 */
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "cilium/notify.h"
#include "cilium/print.h"
#include "event/core.h"
#include "event/decode.h"
#include "event/event.h"
#include "probes/net/datapath/net_datapath_event.h"
#include "probes/net/net_event.h"
#include "probes/net/net_wire.h"
#include "sonde/foreign_wire.h"

/* ---- drops and traces: as our own ---- */

static uint8_t direction_of(const struct cilium_notify *n)
{
	if (n->type != CILIUM_TRACE || n->subtype >= NET_POINT__MAX)
		return NET_DIR_NONE;
	return n->subtype <= NET_POINT_TO_OVERLAY || n->subtype == NET_POINT_TO_NETWORK ||
	       n->subtype == NET_POINT_TO_CRYPTO ? NET_DIR_OUT : NET_DIR_IN;
}

static void set_drop(struct net_event *b, const struct cilium_notify *n)
{
	const struct cilium_drop *d = &n->drop;

	b->reason = SONDE_FOREIGN_REASON | n->subtype;
	b->ifindex = d->ifindex;
	b->src_identity = d->src_identity;
	b->dst_identity = d->dst_identity;
	b->src_endpoint = n->source;
	b->dst_endpoint = d->dst_id;
	b->file = d->file;
	b->line = d->line;
	b->error = d->ext_error;
}

static void set_trace(struct net_event *b, const struct cilium_notify *n)
{
	const struct cilium_trace *t = &n->trace;

	b->point = n->subtype;
	b->ifindex = t->ifindex;
	b->src_identity = t->src_identity;
	b->dst_identity = t->dst_identity;
	b->src_endpoint = n->source;
	b->dst_endpoint = t->dst_id;
}

/* @b: receives header fields, NULL = none. */
static int add_packet(struct event *ev, struct net_event *b, const struct cilium_notify *n, uint32_t ifindex,
		      struct arena *scratch)
{
	const struct cilium_packet *p = &n->pkt;
	const struct sec_packet head = {
		.link = p->flags & CILIUM_FLAG_L3 ? SONDE_LINK_RAW : SONDE_LINK_ETHERNET,
		.orig_len = p->orig_len > p->len ? p->orig_len : (uint32_t)p->len, .cap_len = (uint32_t)p->len,
		.ifindex = ifindex, .direction = direction_of(n),
	};

	if (!p->len)
		return 0;
	return net_event_add_packet(ev, b, &head, p->data, scratch);
}

static int set_path(struct event *ev, const struct cilium_notify *n, struct arena *scratch)
{
	struct net_event *b = arena_alloc(scratch, sizeof(*b));

	if (!b)
		return -ENOMEM;
	*b = (struct net_event){
		.len = n->pkt.orig_len, .cap_len = (uint32_t)n->pkt.len, .hash = n->hash,
		.point = NET_POINT_NONE, .dir = direction_of(n),
	};
	ev->desc = n->type == CILIUM_DROP ? &net_drop_desc : &net_trace_desc;
	ev->body = b;
	ev->body_len = sizeof(*b);
	if (n->type == CILIUM_DROP)
		set_drop(b, n);
	else
		set_trace(b, n);
	return add_packet(ev, b, n, b->ifindex, scratch);
}

/* ---- the other kinds ---- */

static const struct event_desc *desc_of(uint8_t type)
{
	switch (type) {
	case CILIUM_DEBUG: return &net_debug_desc;
	case CILIUM_CAPTURE: return &net_capture_desc;
	case CILIUM_POLICY: return &net_policy_desc;
	case CILIUM_RECORDER: return &net_recorder_desc;
	case CILIUM_SOCK: return &net_sock_desc;
	case CILIUM_L7: return &net_l7_desc;
	case CILIUM_AGENT: return &net_agent_desc;
	default: return &net_other_desc;
	}
}

static void set_sock_keys(struct event *ev, const struct cilium_sock *s)
{
	static const uint8_t protos[] = { 0, 6, 17 };
	struct conn *c = &ev->keys.conn;

	ev->keys.cookie = s->cookie;
	ev->keys.cgroup_id = s->cgroup_id;
	c->daddr.family = s->ipv6 ? SONDE_IPV6 : SONDE_IPV4;
	memcpy(c->daddr.addr, s->dst_ip, s->ipv6 ? 16 : 4);
	c->dport = s->dst_port;
	c->proto = s->proto < sizeof(protos) ? protos[s->proto] : 0;
}

static int set_other(struct event *ev, const struct cilium_notify *n, bool known, struct arena *scratch)
{
	struct net_datapath_event_event *b = arena_alloc(scratch, sizeof(*b));

	if (!b)
		return -ENOMEM;
	*b = (struct net_datapath_event_event){ .kind = n->type };
	ev->body = b;
	ev->body_len = sizeof(*b);
	ev->desc = known ? desc_of(n->type) : &net_other_desc;
	if (!known || n->type >= CILIUM_L7)
		return 0;
	b->code = n->subtype;
	b->hash = n->hash;
	b->endpoint = n->source;
	b->len = n->pkt.orig_len;
	b->cap_len = (uint32_t)n->pkt.len;
	if (n->type == CILIUM_POLICY)
		b->verdict = n->policy.verdict;
	if (n->type == CILIUM_SOCK)
		set_sock_keys(ev, &n->sock);
	return add_packet(ev, NULL, n, 0, scratch);
}

static int set_event(struct event *ev, const struct sonde_foreign_rec *r, const uint8_t *data, struct arena *scratch)
{
	struct cilium_notify n = { 0 };
	struct core_lost *lost;
	bool known;

	if (r->kind == CILIUM_RECORD_LOST) {
		lost = arena_alloc(scratch, sizeof(*lost));
		if (!lost)
			return -ENOMEM;
		*lost = (struct core_lost){ .count = r->lost, .cause = SONDE_LOST_RING_FULL };
		ev->desc = &core_lost_desc;
		ev->body = lost;
		ev->body_len = sizeof(*lost);
		return 0;
	}
	known = r->kind == CILIUM_RECORD_SAMPLE && cilium_notify_decode(data, r->len, &n, NULL) == 0;
	if (known && (n.type == CILIUM_DROP || n.type == CILIUM_TRACE))
		return set_path(ev, &n, scratch);
	return set_other(ev, &n, known, scratch);
}

static int add_notify(struct event *ev, const struct sonde_foreign_rec *r, const uint8_t *data, struct arena *scratch)
{
	struct sec_notify *s = arena_alloc(scratch, sizeof(*s) + r->len);

	if (!s)
		return -ENOMEM;
	*s = (struct sec_notify){ .cpu = r->cpu, .type = r->kind, .lost = r->lost };
	if (r->len)
		memcpy(s + 1, data, r->len);
	return event_add_section(ev, SEC_NOTIFY, s, (uint32_t)sizeof(*s) + r->len);
}

static int decode_foreign(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	struct cursor c = cur_init(rec, rec->len);
	struct sonde_foreign_rec r;
	const uint8_t *data;
	int ret;

	if (!cur_copy(&c, &r, sizeof(r)))
		return -EBADMSG;
	data = cur_bytes(&c, r.len);
	if (!cur_ok(&c))
		return -EBADMSG;
	ret = set_event(ev, &r, data, em->scratch);
	if (ret >= 0)
		ret = add_notify(ev, &r, data, em->scratch);
	return ret < 0 ? ret : em->emit(em->ctx, ev);
}

/* net_other_desc stands in until set_event() knows the kind. */
static const struct decode_row rows[] = { { SONDE_EV_FOREIGN, &net_other_desc, decode_foreign }, { 0 } };

static const struct event_desc *const events[] = {
	&net_debug_desc, &net_capture_desc, &net_policy_desc, &net_recorder_desc, &net_sock_desc, &net_l7_desc,
	&net_agent_desc, &net_other_desc, NULL,
};

static int hide_all(_unused_ struct sonde_rec *r)
{
	return -EACCES;	/* packets and messages of unknown owners */
}

static const struct content_rule content[] = { { SONDE_EV_FOREIGN, hide_all }, { 0 } };

extern const struct decoder_ops net_datapath_event_decoder;
const struct decoder_ops net_datapath_event_decoder = {
	.name = "foreign",
	.probe = SONDE_FOREIGN_ID,
	.events = events,
	.rows = rows,
	.content = content,
};
