// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pairs frames into calls. A call begins with request headers and ends once: with the end of the stream, a reset, the
 * end of its connection or of its process. Frames that match no call are ignored.
 *
 * HTTP/2: RFC 9113. gRPC over it: doc/PROTOCOL-HTTP2.md of the grpc project (statuses of resets, grpc-timeout).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "event/decode.h"
#include "event/event.h"
#include "probes/gohttp2/gohttp2_calls.h"
#include "probes/gohttp2/gohttp2_event.h"
#include "probes/gohttp2/gohttp2_headers.h"
#include "probes/gohttp2/gohttp2_wire.h"

#define PROGRESS_NS 10000000000ull	/* interval between progress events of an open call */
#define TIMEOUT_SLACK_NS 1000000ull	/* timers of programs may fire this early */
#define TIMEOUT_LATE_PART 16	/* headers may leave or arrive late by this part of the timeout */

struct gohttp2_decode_state {
	struct gohttp2_calls t;
	uint64_t ticked_ns;
};

/* The current record. */
struct at {
	struct gohttp2_decode_state *s;
	const struct sonde_rec *r;
	const struct emitter *em;
};

static struct at at_rec(const struct sonde_rec *r, const struct emitter *em)
{
	return (struct at){ .s = em->state, .r = r, .em = em };
}

/* ---- events ---- */

static int emit_call(const struct at *at, struct gohttp2_call *c, const struct event_desc *desc, uint64_t now_ns)
{
	struct gohttp2_call_body *b;
	struct sonde_rec hdr = *at->r;
	size_t strings = 0, off = 0;
	struct event ev;
	char *mem;

	for (unsigned i = 0; i < GOHTTP2_TEXT__MAX; i++)
		strings += c->text_len[i];
	mem = arena_alloc(at->em->scratch, sizeof(*b) + strings);
	if (!mem)
		return -ENOMEM;
	b = (void *)mem;
	*b = c->body;
	for (unsigned i = 0; i < GOHTTP2_TEXT__MAX; i++) {
		b->text[i] = (struct sec_str){ .off = (uint32_t)off, .len = c->text_len[i] };
		memcpy(mem + sizeof(*b) + off, c->text[i] ? c->text[i] : "", c->text_len[i]);
		off += c->text_len[i];
	}
	hdr.ts_ns = now_ns;
	hdr.tgid = c->key.tgid;
	hdr.start_ns = c->key.start_ns;
	hdr.tid = c->tid;
	hdr.instance = c->instance;
	event_decode_from_rec(&ev, desc, &hdr);
	ev.keys = c->conn->keys;
	ev.keys.goid = c->goid;
	ev.keys.rpc_conn = c->key.conn;
	ev.keys.rpc_stream = c->key.stream;
	ev.body = mem;
	ev.body_len = (uint32_t)(sizeof(*b) + strings);
	return at->em->emit(at->em->ctx, &ev);
}

static bool is_error(const struct gohttp2_call_body *b)
{
	if (b->status != GOHTTP2_STATUS_UNKNOWN)
		return b->status != 0;
	if (b->end != GOHTTP2_END_DONE)
		return true;
	return b->http_status >= (b->side == GOHTTP2_SIDE_SERVER ? 500 : 400);
}

/*
 * Has the timeout passed? The status is DEADLINE_EXCEEDED then, whatever the code of the reset. The timeout counts
 * from the creation of the headers, which both sides see later: the client's queue delays them until its writer runs,
 * the network until the server reads them. A server whose timer fires first sends the status in trailers.
 */
static bool is_overdue(const struct gohttp2_call_body *b, uint64_t now_ns)
{
	uint64_t slack = TIMEOUT_SLACK_NS + b->timeout_ns / TIMEOUT_LATE_PART;

	if (!b->timeout_ns || !b->opened_ns || now_ns < b->opened_ns)
		return false;
	return now_ns - b->opened_ns >= b->timeout_ns - MIN(b->timeout_ns, slack);
}

/* Status of a call whose connection is lost before a status was sent: doc/statuscodes.md of grpc. */
static void derive_lost(struct gohttp2_call_body *b, uint64_t now_ns)
{
	if (b->kind != GOHTTP2_KIND_GRPC || b->status != GOHTTP2_STATUS_UNKNOWN)
		return;
	b->derived = 1;
	if (is_overdue(b, now_ns))
		b->status = 4;	/* DEADLINE_EXCEEDED */
	else
		b->status = b->side == GOHTTP2_SIDE_CLIENT ? 14 /* UNAVAILABLE */ : 1 /* CANCELLED */;
}

static int finish(const struct at *at, struct gohttp2_call *c, enum gohttp2_end end)
{
	uint64_t now_ns = at->r->ts_ns;
	int r;

	c->body.end = (uint8_t)end;
	if (c->body.opened_ns && now_ns > c->body.opened_ns)
		c->body.latency_ns = now_ns - c->body.opened_ns;
	if (end == GOHTTP2_END_CONN)
		derive_lost(&c->body, now_ns);
	if (c->body.kind != GOHTTP2_KIND_GRPC)
		c->body.status = GOHTTP2_STATUS_UNKNOWN;
	c->body.error = is_error(&c->body);
	r = emit_call(at, c, &gohttp2_call_desc, now_ns);
	gohttp2_calls_remove(&at->s->t, c);
	return r;
}

/* Ends all calls of a connection, then the connection. */
static int finish_conn(const struct at *at, struct gohttp2_conn *conn, enum gohttp2_end end)
{
	int first = 0;

	while (conn->calls.next != &conn->calls) {
		int r = finish(at, container_of(conn->calls.next, struct gohttp2_call, in_conn), end);

		first = first ? first : r;
	}
	gohttp2_calls_conn_remove(&at->s->t, conn);
	return first;
}

/* Ends the connections of a process, or (@tgid 0) those with closed sockets. */
static int finish_conns(const struct at *at, uint32_t tgid, enum gohttp2_end end)
{
	struct gohttp2_link *next, *head = &at->s->t.conns_lru;
	int first = 0;

	for (struct gohttp2_link *l = head->next; l != head; l = next) {
		struct gohttp2_conn *c = container_of(l, struct gohttp2_conn, lru);
		int r = 0;

		next = l->next;
		if (tgid ? c->key.tgid == tgid : c->closed)
			r = finish_conn(at, c, end);
		first = first ? first : r;
	}
	return first;
}

/* ---- one frame ---- */

static struct gohttp2_call_key key_of(const struct gohttp2_frame_rec *f)
{
	return (struct gohttp2_call_key){
		.start_ns = f->hdr.start_ns,
		.conn = f->conn,
		.tgid = f->hdr.tgid,
		.stream = f->stream,
	};
}

static struct gohttp2_conn_key conn_key_of(const struct gohttp2_frame_rec *f)
{
	return (struct gohttp2_conn_key){ .start_ns = f->hdr.start_ns, .conn = f->conn, .tgid = f->hdr.tgid };
}

static void set_ip(struct ipaddr *ip, uint8_t family, const uint8_t *addr)
{
	*ip = (struct ipaddr){ .family = family };
	memcpy(ip->addr, addr, family == 4 ? 4 : sizeof(ip->addr));
}

/* The pair points from client to server on either side. */
static void set_peer(struct gohttp2_decode_state *s, struct gohttp2_conn *c, const struct gohttp2_frame_rec *f)
{
	bool server = f->side == GOHTTP2_SIDE_SERVER;
	struct conn *pair = &c->keys.conn;

	if (f->fd >= 0)
		c->fd = f->fd;
	if (!(f->flags & GOHTTP2_F_SOCK))
		return;
	c->unix_socket = f->family == 1;
	c->keys.netns = f->netns;
	gohttp2_calls_conn_set_cookie(&s->t, c, f->cookie);
	if (f->family != 4 && f->family != 6)
		return;
	pair->proto = 6;	/* TCP */
	set_ip(server ? &pair->daddr : &pair->saddr, f->family, f->laddr);
	set_ip(server ? &pair->saddr : &pair->daddr, f->family, f->raddr);
	pair->sport = server ? f->rport : f->lport;
	pair->dport = server ? f->lport : f->rport;
}

static int new_call(const struct at *at, const struct gohttp2_frame_rec *f, struct gohttp2_call **ret)
{
	const struct gohttp2_conn_key conn_key = conn_key_of(f);
	const struct gohttp2_call_key key = key_of(f);
	struct gohttp2_calls *t = &at->s->t;
	struct gohttp2_call *c = gohttp2_calls_surplus(t);
	struct gohttp2_conn *conn;
	int r = c ? finish(at, c, GOHTTP2_END_EVICTED) : 0;

	conn = gohttp2_calls_conn_add(t, &conn_key);
	c = conn ? gohttp2_calls_add(t, &key, conn) : NULL;
	if (!c)
		return -ENOMEM;
	set_peer(at->s, conn, f);
	c->tid = f->hdr.tid;
	c->instance = f->hdr.instance;
	c->goid = f->goid;
	c->body.parent_goid = f->parent_goid;
	c->body.side = f->side;
	c->body.kind = f->flags & GOHTTP2_F_WEB ? GOHTTP2_KIND_HTTP : GOHTTP2_KIND_GRPC;
	c->body.fd = conn->fd;
	c->body.unix_socket = conn->unix_socket;
	*ret = c;
	return r;
}

static bool is_request(const struct gohttp2_frame_rec *f)
{
	return (f->side == GOHTTP2_SIDE_CLIENT) == !!(f->flags & GOHTTP2_F_SENT);
}

static int on_request(const struct at *at, const struct gohttp2_frame_rec *f, struct cursor fields)
{
	const struct gohttp2_call_key key = key_of(f);
	struct gohttp2_call *c = gohttp2_calls_find(&at->s->t, &key);
	int r = 0, e;

	if (c && !gohttp2_headers_has(fields, GOHTTP2_H_PATH)) /* trailers of a request */
		return gohttp2_headers_apply(c, fields);
	if (c)
		r = finish(at, c, GOHTTP2_END_REPLACED);
	e = new_call(at, f, &c);
	if (e < 0)
		return e;
	c->body.opened_ns = c->reported_ns = f->hdr.ts_ns;
	if (!c->conn->first_stream || f->stream < c->conn->first_stream)
		c->conn->first_stream = f->stream;
	e = gohttp2_headers_apply(c, fields);
	if (e >= 0)
		e = emit_call(at, c, &gohttp2_open_desc, f->hdr.ts_ns);
	return r < 0 ? r : e;
}

/* Both the request and its end were seen: trailers may still follow a reset. */
static bool ended_before(const struct gohttp2_decode_state *s, const struct gohttp2_frame_rec *f)
{
	const struct gohttp2_conn_key key = conn_key_of(f);
	const struct gohttp2_conn *conn = gohttp2_calls_conn_find(&s->t, &key);

	return conn && conn->first_stream && f->stream >= conn->first_stream;
}

static int on_response(const struct at *at, const struct gohttp2_frame_rec *f, struct cursor fields)
{
	const struct gohttp2_call_key key = key_of(f);
	struct gohttp2_call *c = gohttp2_calls_find(&at->s->t, &key);
	int r = 0;

	if (!c && ended_before(at->s, f))
		return 0;
	if (!c)		/* began before the start */
		r = new_call(at, f, &c);
	if (r < 0)
		return r;
	if (!c->answered && c->body.opened_ns)
		c->body.first_ns = f->hdr.ts_ns - c->body.opened_ns;
	c->answered = true;
	if (f->code)
		c->body.http_status = (uint16_t)f->code;
	r = gohttp2_headers_apply(c, fields);
	if (r < 0 || !(f->flags & GOHTTP2_F_END_STREAM))
		return r;
	return finish(at, c, GOHTTP2_END_DONE);
}

/* Emits the payload of a frame as an event; the call does not keep it. */
static int emit_payload(const struct at *at, struct gohttp2_call *c, const struct gohttp2_frame_rec *f,
			struct cursor fields)
{
	int r = gohttp2_headers_apply(c, fields);

	if (r < 0)
		return r;
	c->body.frame_bytes = f->bytes;
	c->body.frame_sent = !!(f->flags & GOHTTP2_F_SENT);
	r = emit_call(at, c, &gohttp2_data_desc, f->hdr.ts_ns);
	c->body.frame_bytes = c->body.frame_sent = 0;
	gohttp2_calls_set(c, GOHTTP2_TEXT_PAYLOAD, "", 0);
	return r;
}

static int on_data(const struct at *at, const struct gohttp2_frame_rec *f, struct cursor fields)
{
	const struct gohttp2_call_key key = key_of(f);
	struct gohttp2_call *c = gohttp2_calls_find(&at->s->t, &key);
	bool sent = f->flags & GOHTTP2_F_SENT;
	int r = 0, e = 0;

	if (!c)
		return 0;
	if (sent) {
		c->body.sent_bytes += f->bytes;
		c->body.sent_frames++;
	} else {
		c->body.received_bytes += f->bytes;
		c->body.received_frames++;
	}
	if (cur_left(&fields))
		r = emit_payload(at, c, f, fields);
	/* of the responding side: nothing follows */
	if (f->flags & GOHTTP2_F_END_STREAM && sent == (c->body.side == GOHTTP2_SIDE_SERVER))
		e = finish(at, c, GOHTTP2_END_DONE);
	return r < 0 ? r : e;
}

/* Status that a client derives from a reset: PROTOCOL-HTTP2.md, "Errors". */
static uint16_t status_of_reset(uint32_t code)
{
	switch (code) {
	case 7:		/* REFUSED_STREAM */
		return 14;	/* UNAVAILABLE */
	case 8:		/* CANCEL */
		return 1;	/* CANCELLED */
	case 11:	/* ENHANCE_YOUR_CALM */
		return 8;	/* RESOURCE_EXHAUSTED */
	case 12:	/* INADEQUATE_SECURITY */
		return 7;	/* PERMISSION_DENIED */
	default:
		return 13;	/* INTERNAL */
	}
}

static int on_reset(const struct at *at, const struct gohttp2_frame_rec *f)
{
	const struct gohttp2_call_key key = key_of(f);
	struct gohttp2_call *c = gohttp2_calls_find(&at->s->t, &key);
	struct gohttp2_call_body *b;

	if (!c)
		return 0;
	b = &c->body;
	b->reset_code = f->code;
	b->reset_sent = !!(f->flags & GOHTTP2_F_SENT);
	if (b->kind == GOHTTP2_KIND_GRPC && b->status == GOHTTP2_STATUS_UNKNOWN) {
		b->derived = 1;
		b->status = status_of_reset(f->code);
		if (b->status == 1 && is_overdue(b, f->hdr.ts_ns))
			b->status = 4;	/* DEADLINE_EXCEEDED */
	}
	return finish(at, c, GOHTTP2_END_RESET);
}

static int on_done(const struct at *at, const struct gohttp2_frame_rec *f)
{
	const struct gohttp2_call_key key = key_of(f);
	struct gohttp2_call *c = gohttp2_calls_find(&at->s->t, &key);

	return c ? finish(at, c, GOHTTP2_END_DONE) : 0;
}

static int on_conn_end(const struct at *at, const struct gohttp2_frame_rec *f)
{
	const struct gohttp2_conn_key key = conn_key_of(f);
	struct gohttp2_conn *conn = gohttp2_calls_conn_find(&at->s->t, &key);

	return conn ? finish_conn(at, conn, GOHTTP2_END_CONN) : 0;
}

/* The record of a frame; a short one is widened to the long format. */
static bool get_frame(struct cursor *c, uint16_t type, struct gohttp2_frame_rec *ret)
{
	struct gohttp2_short_rec q;

	if (type == GOHTTP2_REC_FRAME)
		return cur_copy(c, ret, sizeof(*ret));
	if (!cur_copy(c, &q, sizeof(q)))
		return false;
	*ret = (struct gohttp2_frame_rec){
		.hdr = q.hdr,
		.conn = q.conn,
		.stream = q.stream,
		.fd = -1,
		.what = q.what,
		.side = q.side,
		.flags = q.flags & (uint8_t)~GOHTTP2_F_SOCK,
		.n_fields = q.n_fields,
		.fields_len = q.fields_len,
	};
	if (q.what == GOHTTP2_WHAT_DATA)
		ret->bytes = q.value;
	else
		ret->code = q.value;
	return true;
}

static int decode_frame(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	const struct at at = at_rec(r, em);
	struct cursor c = cur_init(r, r->len);
	struct gohttp2_frame_rec f;
	struct cursor fields;

	(void)ev;
	if (!get_frame(&c, r->type, &f))
		return -EBADMSG;
	fields = cur_sub(&c, f.fields_len);
	if (!cur_ok(&fields) || !gohttp2_headers_check(fields))
		return -EBADMSG;
	switch (f.what) {
	case GOHTTP2_WHAT_HEADERS: return is_request(&f) ? on_request(&at, &f, fields) : on_response(&at, &f, fields);
	case GOHTTP2_WHAT_DATA: return on_data(&at, &f, fields);
	case GOHTTP2_WHAT_RESET: return on_reset(&at, &f);
	case GOHTTP2_WHAT_DONE: return on_done(&at, &f);
	case GOHTTP2_WHAT_CONN_END: return on_conn_end(&at, &f);
	default:
		return -EBADMSG;
	}
}

/* ---- other records ---- */

static int decode_miss(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	struct cursor c = cur_init(r, r->len);
	struct gohttp2_miss_body b = { 0 };
	struct gohttp2_miss_rec m;

	if (!cur_copy(&c, &m, sizeof(m)))
		return -EBADMSG;
	b.count = m.count;
	b.site = m.site;
	b.line = m.line;
	memcpy(b.file, m.file, sizeof(b.file));
	memcpy(b.reason, m.reason, sizeof(b.reason));
	ev->body = &b;
	ev->body_len = sizeof(b);
	return em->emit(em->ctx, ev);
}

static int decode_program(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	struct cursor c = cur_init(r, r->len);
	struct gohttp2_program_body b = { 0 };
	struct gohttp2_program_rec p;
	const void *text;

	cur_copy(&c, &p, sizeof(p));
	text = cur_bytes(&c, p.text_len);
	if (!cur_ok(&c))
		return -EBADMSG;
	b.n_sites = p.n_sites;
	memcpy(b.text, text, MIN((size_t)p.text_len, sizeof(b.text) - 1));
	ev->body = &b;
	ev->body_len = sizeof(b);
	return em->emit(em->ctx, ev);
}

/* Reports calls that are still open after PROGRESS_NS. */
static int decode_tick(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	const struct at at = at_rec(r, em);
	struct gohttp2_link *calls = &at.s->t.calls_lru;
	int first = 0;

	(void)ev;
	for (struct gohttp2_link *l = calls->next; l != calls; l = l->next) {
		struct gohttp2_call *c = container_of(l, struct gohttp2_call, lru);
		int e;

		if (!c->reported_ns || r->ts_ns < c->reported_ns + PROGRESS_NS)
			continue;
		c->reported_ns = r->ts_ns;
		e = emit_call(&at, c, &gohttp2_progress_desc, r->ts_ns);
		first = first ? first : e;
	}
	return first;
}

static int decode_exit(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	const struct at at = at_rec(r, em);

	(void)ev;
	return finish_conns(&at, r->tgid ? r->tgid : UINT32_MAX, GOHTTP2_END_EXIT);
}

/* Ends the calls of connections whose sockets were closed since the last record. */
static int finish_closed(const struct sonde_rec *r, const struct emitter *em)
{
	const struct at at = at_rec(r, em);

	gohttp2_calls_init(&at.s->t);
	if (!at.s->t.any_closed)
		return 0;
	at.s->t.any_closed = false;
	return finish_conns(&at, 0, GOHTTP2_END_CONN);
}

static const struct decode_row rows[] = {
	{ GOHTTP2_REC_FRAME, NULL, decode_frame },
	{ GOHTTP2_REC_SHORT, NULL, decode_frame },
	{ GOHTTP2_REC_MISS, &gohttp2_miss_desc, decode_miss },
	{ GOHTTP2_REC_PROGRAM, &gohttp2_program_desc, decode_program },
	{ GOHTTP2_REC_EXIT, NULL, decode_exit },
	{ GOHTTP2_REC_EXEC, NULL, decode_exit },
	{ SONDE_EV_TICK, NULL, decode_tick },
	{ 0 },
};

/* A socket that is closed ends the calls of its connection; finish_closed() reports them with the next record. */
static void gohttp2_observe(void *state, const struct event *ev)
{
	struct gohttp2_decode_state *s = state;
	struct gohttp2_conn *conn;
	struct value v;
	const struct field *f;
	const char *word_arg;
	size_t arg_len;

	if (!ev->keys.cookie || !s->t.ready || ev->desc->class != EVENT_STATE)
		return;
	conn = gohttp2_calls_conn_of_cookie(&s->t, ev->keys.cookie);
	f = conn ? event_field_find(ev->desc->fields, ev->desc->n_fields, "sock.closed", &word_arg, &arg_len) : NULL;
	if (!f || event_get(ev, f, &v) < 0 || !v.u)
		return;
	conn->closed = s->t.any_closed = true;
}

static void gohttp2_fini(void *state)
{
	struct gohttp2_decode_state *s = state;

	gohttp2_calls_fini(&s->t);
}

const struct decoder_ops gohttp2_decoder = {
	.name = "gohttp2",
	.probe = PROBE_ID,
	.events = gohttp2_descs,
	.state_size = sizeof(struct gohttp2_decode_state),
	.rows = rows,
	.before = finish_closed,
	.content = gohttp2_content,
	.observe = gohttp2_observe,
	.fini = gohttp2_fini,
};
