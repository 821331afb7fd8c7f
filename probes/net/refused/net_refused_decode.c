// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Refused connections and the comparison with the kernel's count: records to events, fields, lines. Pure.
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/names.h"
#include "event/value.h"
#include "probes/net/net_event.h"
#include "probes/net/net_text.h"
#include "probes/net/refused/net_refused_wire.h"

static const struct xlat_val cause_vals[] = {
	{ NET_REFUSED_OTHER, "other" }, { NET_REFUSED_ACCEPT_QUEUE, "accept-queue" },
	{ NET_REFUSED_SYN_QUEUE, "syn-queue" },
};
_Static_assert(ARRAY_SIZE(cause_vals) == NET_REFUSED__MAX, "each cause has a name");
const struct xlat net_refused_xlat = { .name = "refused_cause", .vals = cause_vals, .n = ARRAY_SIZE(cause_vals) };

static const struct xlat_val step_vals[] = { { NET_REFUSED_SYN, "syn" }, { NET_REFUSED_ACK, "ack" } };
_Static_assert(ARRAY_SIZE(step_vals) == NET_REFUSED_STEP__MAX, "each step has a name");
static const struct xlat step_xlat = { .name = "refused_step", .vals = step_vals, .n = ARRAY_SIZE(step_vals) };

int net_refused_decode(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	struct net_refused_event *b;
	struct net_refused_rec r;

	if (!decode_fixed(rec, &r, sizeof(r)) || !ipaddr_bytes(r.family))
		return -EBADMSG;
	b = event_decode_new_body(ev, em);
	if (!b)
		return -ENOMEM;
	*b = (struct net_refused_event){
		.ifindex = r.ifindex, .queue = r.queue, .limit = r.limit, .cause = r.cause, .step = r.step,
		.known = !!r.known,
	};
	ipaddr_set(&ev->keys.conn.saddr, r.family, r.saddr);
	ipaddr_set(&ev->keys.conn.daddr, r.family, r.daddr);
	ev->keys.conn.sport = r.sport;
	ev->keys.conn.dport = r.dport;
	ev->keys.conn.proto = IPPROTO_TCP;
	return em->emit(em->ctx, ev);
}

int net_refused_decode_unexplained(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	struct net_unexplained_event *b;
	struct net_unexplained_rec r;

	if (!decode_fixed(rec, &r, sizeof(r)))
		return -EBADMSG;
	b = event_decode_new_body(ev, em);
	if (!b)
		return -ENOMEM;
	*b = (struct net_unexplained_event){
		.counted = r.counted, .seen = r.seen, .rest = r.counted > r.seen ? r.counted - r.seen : 0,
	};
	ev->keys.netns = r.netns;
	return em->emit(em->ctx, ev);
}

/* ---- fields ---- */

enum { GET_QUEUE = NET_GET__ENDS, GET_LIMIT, GET_VERDICT };

#define ROW(member, name_, kind_, doc_, ...) \
	FIELD_ROW(struct net_refused_event, member, name_, kind_, doc_, ##__VA_ARGS__)

static const struct field refused_fields[] = {
	ROW(cause, "refused.cause", FIELD_ENUM, "accept-queue, syn-queue: which queue is full; other",
	    .xlat = &net_refused_xlat),
	ROW(step, "refused.step", FIELD_ENUM, "refused segment of the handshake: syn, ack", .xlat = &step_xlat),
	NET_GET_ROW(GET_QUEUE, "refused.queue", FIELD_UINT, "entries of that queue"),
	NET_GET_ROW(GET_LIMIT, "refused.limit", FIELD_UINT, "backlog of the listener"),
	ROW(ifindex, "net.iface", FIELD_IFACE, "interface", .flags = FIELD_OPTIONAL),
	NET_END_ROWS("client", "listener"),
	NET_GET_ROW(GET_VERDICT, "net.verdict", FIELD_ENUM, "dropped", .xlat = &net_verdict_xlat,
		.flags = FIELD_SILENT),
};

static int get_number(const struct net_refused_event *b, uint32_t v, struct value *ret)
{
	*ret = (struct value){ .kind = VAL_UINT, .u = v };
	return b->known ? 0 : -ENOENT;
}

static int refused_get(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct net_refused_event *b = ev->body;

	switch (f->off) {
	case GET_QUEUE: return get_number(b, b->queue, ret);
	case GET_LIMIT: return get_number(b, b->limit, ret);
	case GET_VERDICT: return net_text_get_named(&net_verdict_xlat, NET_VERDICT_DROPPED, ret);
	default: return net_text_get_end(ev, f->off, ret);
	}
}

#undef ROW
#define ROW(member, name_, kind_, doc_, ...) \
	FIELD_ROW(struct net_unexplained_event, member, name_, kind_, doc_, ##__VA_ARGS__)

static const struct field unexplained_fields[] = {
	ROW(counted, "unexplained.counted", FIELD_UINT,
	    "connections that the kernel counted as refused (ListenDrops)"),
	ROW(seen, "unexplained.seen", FIELD_UINT, "those of them that were seen one by one"),
	ROW(rest, "unexplained.rest", FIELD_UINT, "the others"),
};

/* ---- text ---- */

/* "xx refused (accept-queue 5 of 4) eth0: 10.0.0.1:4711 -> 10.0.0.2:80 tcp syn  [nginx/812]" */
static int refused_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct net_refused_event *b = ev->body;
	const struct conn *c = &ev->keys.conn;

	buf_add_str(out, "xx refused (");
	buf_add_str(out, xlat_name(&net_refused_xlat, b->cause) ?: "?");
	if (b->known && b->cause != NET_REFUSED_OTHER)
		buf_printf(out, " %u of %u", b->queue, b->limit);
	buf_add_str(out, ") ");
	net_text_put_iface(ev, b->ifindex, out);
	buf_add_str(out, ": ");
	ipaddr_port_text(&c->saddr, c->sport, out);
	buf_add_str(out, " -> ");
	ipaddr_port_text(&c->daddr, c->dport, out);
	buf_printf(out, " tcp %s", b->step == NET_REFUSED_ACK ? "ACK" : "SYN");
	net_text_put_owner(ev, out);
	if (o->verbose && ev->keys.cookie)
		buf_printf(out, " cookie %" PRIu64, ev->keys.cookie);
	return buf_add_char(out, '\n');
}

/* Silent unless connections are missing: the last lines of a run have the sums. */
static int unexplained_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct net_unexplained_event *b = ev->body;
	const char *name = event_names_get(ev->names, SONDE_NAME_NETNS, ev->keys.netns);

	if (!b->rest && !o->verbose)
		return 0;
	buf_printf(out, "refused connections of network namespace ");
	if (name)
		str_escape_buf(out, name, strlen(name));
	else
		buf_add_u64(out, ev->keys.netns);
	buf_printf(out, ": the kernel counted %" PRIu64 ", %" PRIu64 " were seen, %" PRIu64 " are unexplained\n",
		   b->counted, b->seen, b->rest);
	return buf_error(out);
}

const struct event_desc net_refused_desc = {
	.type = NET_EV_REFUSED, .name = "net.refused", .doc = "a listener refused a connection",
	.class = EVENT_DATA, .fields = refused_fields, .n_fields = ARRAY_SIZE(refused_fields),
	.body_size = sizeof(struct net_refused_event), .sections = 1u << SEC_PROC,
	.get = refused_get, .line = refused_line,
};

const struct event_desc net_unexplained_desc = {
	.type = NET_EV_UNEXPLAINED, .name = "net.unexplained",
	.doc = "refused connections: the kernel's count, and how many were seen",
	.class = EVENT_META, .fields = unexplained_fields, .n_fields = ARRAY_SIZE(unexplained_fields),
	.body_size = sizeof(struct net_unexplained_event), .line = unexplained_line,
};
