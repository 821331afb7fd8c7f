// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See cilium_map.h. Looks up fields once per event type.
 */
#include "sinks/cilium/cilium_map.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "cilium/kdrops.h"
#include "cilium/names.h"
#include "cilium/notify.h"
#include "cilium/print.h"
#include "event/core.h"
#include "event/event.h"
#include "event/names.h"
#include "sonde/wire.h"

enum { POINT_TO_ENDPOINT = 0, POINT_FROM_ENDPOINT = 5, POINT_FROM_NETWORK = 10, POINT_TO_NETWORK = 11 };

#define IDENTITY_HOST 1
#define IDENTITY_WORLD 2
#define IDENTITY_ENDPOINT 256	/* plus the endpoint's id: the first number that Cilium does not reserve */
#define STATE_UNKNOWN 5		/* trace reason */

struct map_type {
	const struct event_desc *desc;
	/* NULL = the type lacks it */
	const struct field *reason, *cause, *point, *action, *hash, *owner_end, *owner_foreign, *state;
	struct { const struct field *path, *method, *kind, *side, *status, *latency; } call;
};

void cilium_map_fini(struct cilium_map *m)
{
	vec_fini(&m->types);
	buf_fini(&m->bytes);
}

static const struct field *field_of(const struct event_desc *d, const char *name)
{
	return FIND_ITEM(it, d->fields, d->n_fields, !strcmp(it->name, name));
}

static const struct map_type *type_of(struct cilium_map *m, const struct event_desc *d)
{
	for (size_t i = 0; i < m->types.len; i++)
		if (m->types.items[i].desc == d)
			return &m->types.items[i];
	if (vec_grow(&m->types) < 0)
		return NULL;
	m->types.items[m->types.len] = (struct map_type){
		.desc = d, .reason = field_of(d, "drop.reason"), .cause = field_of(d, "drop.cause"),
		.point = field_of(d, "net.point"),
		.action = field_of(d, "xdp.action"), .hash = field_of(d, "net.hash"),
		.owner_end = field_of(d, "owner.end"),
		.owner_foreign = field_of(d, "owner.foreign"), .state = field_of(d, "net.state"),
		.call = {
			.path = field_of(d, "rpc.path"), .method = field_of(d, "rpc.method"),
			.kind = field_of(d, "rpc.kind"), .side = field_of(d, "rpc.side"),
			.status = field_of(d, "rpc.http_status"), .latency = field_of(d, "rpc.latency"),
		},
	};
	return &m->types.items[m->types.len++];
}

static uint64_t number(const struct event *ev, const struct field *f)
{
	uint64_t v = 0;

	return f && event_get_number(ev, f, &v) == 0 ? v : 0;
}

/* ---- the packet ---- */

/* Ethertype after VLAN tags; 0 = none. */
static uint16_t ether_type(const uint8_t *data, size_t len)
{
	struct cursor c = cur_init(data, len);
	uint16_t type;

	cur_skip(&c, 12);
	type = cur_u16be(&c);
	while (type == 0x8100 || type == 0x88a8) {
		cur_skip(&c, 2);
		type = cur_u16be(&c);	/* 0 at the end of the bytes */
	}
	return cur_ok(&c) ? type : 0;
}

static bool is_ipv6(const struct cilium_packet *p)
{
	if (p->flags & CILIUM_FLAG_L3)
		return p->len && p->data[0] >> 4 == 6;
	return ether_type(p->data, p->len) == 0x86dd;
}

/* Bytes before the IP header that Cilium's clients do not know; -1 if they cannot read the link type. */
static int strip_of(uint32_t link)
{
	switch (link) {
	case SONDE_LINK_ETHERNET:
	case SONDE_LINK_RAW:
		return 0;
	case SONDE_LINK_SLL:
		return 16;
	case SONDE_LINK_SLL2:
		return 20;
	default:
		return -1;
	}
}

/* Returns the packet section, or NULL. */
static const struct sec_packet *set_packet(const struct event *ev, struct cilium_packet *ret)
{
	const uint8_t *data = NULL;
	const struct sec_packet *pkt = event_packet(ev, &data);
	int strip = pkt ? strip_of(pkt->link) : -1;

	if (!pkt)
		return NULL;
	ret->orig_len = pkt->orig_len;
	if (strip < 0 || pkt->cap_len <= (uint32_t)strip)
		return pkt;
	ret->data = data + strip;
	ret->len = pkt->cap_len - (uint32_t)strip;
	ret->orig_len -= MIN(ret->orig_len, (uint32_t)strip);
	ret->flags = pkt->link == SONDE_LINK_ETHERNET ? 0 : CILIUM_FLAG_L3;
	if (is_ipv6(ret))
		ret->flags |= CILIUM_FLAG_IPV6;
	return pkt;
}

/* ---- endpoints and identities ---- */

static uint16_t endpoint_id(const struct event *ev, uint32_t ifindex)
{
	const char *space = event_names_get(ev->names, SONDE_NAME_NETNS, ev->keys.netns);
	uint64_t mixed = ((uint64_t)ev->keys.netns << 32 | ifindex) * 0x9e3779b97f4a7c15ull;

	if (!ifindex)
		return 0;
	if ((!ev->keys.netns || (space && !strcmp(space, "host"))) && ifindex < 0x8000)
		return (uint16_t)ifindex;
	return (uint16_t)(0x8000 | mixed >> 49);
}

/* The packet is for a process of this namespace. */
static bool owner_receives(const struct event *ev, const struct map_type *t)
{
	struct value end = event_value(ev, t->owner_end);

	return ev->tgid && value_is(&end, "dst") && !number(ev, t->owner_foreign);
}

static bool is_loopback(const struct ipaddr *ip)
{
	static const uint8_t one[16] = { [15] = 1 };

	if (ip->family == SONDE_IPV4)
		return ip->addr[0] == 127;
	return ip->family == SONDE_IPV6 && !memcmp(ip->addr, one, sizeof(one));
}

/* OWN: the host if the owner is a socket of this namespace, else unknown (the packet may be forwarded). */
enum end { END_UNKNOWN, END_HOST, END_WORLD, END_ENDPOINT, END_OWN, END__MAX };

static const struct { uint8_t src, dst; } ends_of_point[] = {
	[POINT_TO_ENDPOINT] = { END_OWN, END_ENDPOINT },
	[2] = { END_UNKNOWN, END_HOST },
	[3] = { END_HOST, END_HOST },	/* loopback: host to host */
	[4] = { END_OWN, END_WORLD },
	[POINT_FROM_ENDPOINT] = { END_ENDPOINT, END_OWN },
	[7] = { END_HOST, END_UNKNOWN },
	[8] = { END_HOST, END_HOST },
	[9] = { END_WORLD, END_OWN },
	[POINT_FROM_NETWORK] = { END_WORLD, END_OWN },
	[POINT_TO_NETWORK] = { END_OWN, END_WORLD },
};

static uint32_t identity(uint8_t end, bool owned, uint16_t endpoint)
{
	switch ((enum end)end) {
	case END_UNKNOWN: return 0;
	case END_HOST: return IDENTITY_HOST;
	case END_WORLD: return IDENTITY_WORLD;
	case END_ENDPOINT: return endpoint ? IDENTITY_ENDPOINT + (uint32_t)endpoint : 0;
	case END_OWN: return owned ? IDENTITY_HOST : 0;
	case END__MAX: break;
	}
	return 0;
}

/* ---- kinds ---- */

/* Maps the connection state to Cilium's trace reason. */
static uint8_t state_of(const struct event *ev, const struct map_type *t)
{
	struct value v = event_value(ev, t->state);

	for (uint8_t i = 0; i < STATE_UNKNOWN; i++)
		if (value_is(&v, cilium_names_state(i)))
			return i;
	return STATE_UNKNOWN;
}

static void set_trace(struct cilium_notify *n, const struct event *ev, const struct map_type *t,
		      const struct sec_packet *pkt, uint8_t point)
{
	struct cilium_trace *tr = &n->trace;
	uint16_t endpoint = endpoint_id(ev, pkt->ifindex);
	bool owned = ev->tgid && !number(ev, t->owner_foreign);

	n->type = CILIUM_TRACE;
	n->subtype = point;
	tr->reason = state_of(ev, t);
	tr->ifindex = pkt->ifindex;
	if (point == POINT_TO_ENDPOINT)
		tr->dst_id = endpoint;
	else if (point == POINT_FROM_ENDPOINT)
		n->source = endpoint;
	if (point >= ARRAY_SIZE(ends_of_point))
		return;
	tr->src_identity = identity(ends_of_point[point].src, owned, endpoint);
	tr->dst_identity = identity(ends_of_point[point].dst, owned, endpoint);
}

uint8_t cilium_map_drop_code(const struct value *reason, const struct value *cause)
{
	if (cause->kind == VAL_STR)
		return cilium_kdrops_code_of_text(cause->str, cause->len);
	return cilium_kdrops_code(reason->kind == VAL_STR ? reason->str : NULL, reason->len);
}

static void set_drop(struct cilium_notify *n, const struct event *ev, const struct map_type *t,
		     const struct sec_packet *pkt)
{
	const struct conn *c = &ev->keys.conn;
	bool both = is_loopback(&c->saddr) || is_loopback(&c->daddr);
	struct value reason = event_value(ev, t->reason), cause = event_value(ev, t->cause);

	n->type = CILIUM_DROP;
	n->subtype = cilium_map_drop_code(&reason, &cause);
	n->drop.ifindex = pkt ? pkt->ifindex : 0;
	n->drop.src_identity = both ? IDENTITY_HOST : 0;
	n->drop.dst_identity = both || owner_receives(ev, t) ? IDENTITY_HOST : 0;
}

/* False if the event does not map to a notification. */
static bool set_notify(struct cilium_notify *n, const struct event *ev, const struct map_type *t)
{
	const struct sec_packet *pkt = set_packet(ev, &n->pkt);

	n->hash = (uint32_t)number(ev, t->hash);
	if (t->reason) {
		set_drop(n, ev, t, pkt);
	} else if (t->action) {
		n->type = CILIUM_DROP;
		n->subtype = CILIUM_DROP_OTHER;
	} else if (pkt) {
		set_trace(n, ev, t, pkt, t->point ? (uint8_t)number(ev, t->point) :
			  pkt->direction == 2 ? POINT_TO_NETWORK : POINT_FROM_NETWORK);
	} else {
		return false;
	}
	return true;
}

/* ---- RPCs ---- */

/* @local: the process is at this end. */
static void set_call_end(struct cilium_call_end *ret, const struct ipaddr *ip, uint16_t port, bool local)
{
	_cleanup_(buf_fini) struct buf text = { 0 };

	*ret = (struct cilium_call_end){
		.ipv6 = ip->family == SONDE_IPV6, .port = port,
		.identity = local || is_loopback(ip) ? IDENTITY_HOST : ip->family ? IDENTITY_WORLD : 0,
	};
	if (ip->family)
		ipaddr_text(ip, &text);
	snprintf(ret->addr, sizeof(ret->addr), "%.*s", (int)text.len, text.len ? text.data : "");
}

/* The connection key of an RPC points from client to server. gRPC requests are POST. */
static int put_call(struct cilium_map *m, const struct event *ev, const struct map_type *t)
{
	struct value path = event_value(ev, t->call.path), method = event_value(ev, t->call.method);
	struct value kind = event_value(ev, t->call.kind), side = event_value(ev, t->call.side);
	const struct conn *conn = &ev->keys.conn;
	_cleanup_(buf_fini) struct buf time = { 0 };
	struct cilium_call c = { .server = value_is(&side, "server"), .code = (int)number(ev, t->call.status) };

	set_call_end(&c.asks, &conn->saddr, conn->sport, !c.server);
	set_call_end(&c.answers, &conn->daddr, conn->dport, c.server);
	if (value_is(&kind, "grpc"))
		method = (struct value){ .kind = VAL_STR, .str = "POST", .len = strlen("POST") };
	c.method = method.kind == VAL_STR ? method.str : "";
	c.method_len = method.kind == VAL_STR ? method.len : 0;
	c.url = path.kind == VAL_STR ? path.str : "";
	c.url_len = path.kind == VAL_STR ? path.len : 0;
	if (time_text_rfc3339_utc(&m->time, ev, &time))
		snprintf(c.timestamp, sizeof(c.timestamp), "%.*s", (int)time.len, time.data);
	cilium_gob_put_call(&m->bytes, &c);
	return buf_error(&m->bytes);
}

static bool set_raw(const struct event *ev, struct cilium_payload *ret)
{
	const struct section *s = event_section(ev, SEC_NOTIFY);
	struct cursor c = cur_init(s ? s->data : NULL, s ? s->len : 0);
	struct sec_notify head;

	if (!cur_copy(&c, &head, sizeof(head)))
		return false;
	*ret = (struct cilium_payload){ .cpu = head.cpu, .type = head.type, .lost = head.lost, .len = cur_left(&c) };
	ret->data = cur_bytes(&c, ret->len);
	return true;
}

int cilium_map_event(struct cilium_map *m, const struct event *ev, struct cilium_payload *ret)
{
	struct cilium_notify n = { 0 };
	const struct map_type *t;
	int r;

	if (set_raw(ev, ret))
		return 1;
	*ret = (struct cilium_payload){ .cpu = ev->cpu, .type = CILIUM_RECORD_SAMPLE };
	if (ev->desc->type == SONDE_EV_LOST) {
		ret->type = CILIUM_RECORD_LOST;
		ret->lost = ((const struct core_lost *)ev->body)->count;
		return 1;
	}
	t = type_of(m, ev->desc);
	if (!t)
		return -ENOMEM;
	buf_reset(&m->bytes);
	if (t->call.path && t->call.latency && ev->desc->class == EVENT_DATA)	/* not open RPCs */
		r = put_call(m, ev, t);
	else if (set_notify(&n, ev, t))
		r = cilium_encode(&n, &m->bytes);
	else
		return 0;
	ret->data = (const uint8_t *)m->bytes.data;
	ret->len = m->bytes.len;
	return r < 0 ? r : 1;
}
