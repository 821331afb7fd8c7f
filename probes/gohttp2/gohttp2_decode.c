// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pairs frames into calls. A call begins with request headers and ends once: with the end of the stream, a reset, the
 * end of its connection or of its process. Frames that match no call are ignored.
 *
 * HTTP/2: RFC 9113. gRPC over it: doc/PROTOCOL-HTTP2.md of the grpc project (statuses of resets, grpc-timeout).
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "call/call_event.h"
#include "call/call_http.h"
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

/* Length without the query. */
static size_t path_len(const char *path, size_t len)
{
	const char *mark = len ? memchr(path, '?', len) : NULL;

	return mark ? (size_t)(mark - path) : len;
}

/* The query behind the path is a text of its own, without @values its keys only. @strings: behind the body. */
static void split_path(struct call_event_body *b, char *strings, bool values)
{
	struct sec_str *path = &b->text[CALL_EVENT_TEXT_PATH], *query = &b->text[CALL_EVENT_TEXT_QUERY];
	uint32_t len = (uint32_t)path_len(strings + path->off, path->len);
	char *at;

	if (len == path->len)
		return;
	at = strings + path->off + len + 1;
	*query = (struct sec_str){ .off = path->off + len + 1, .len = path->len - len - 1 };
	if (!values)
		query->len = (uint32_t)call_http_query_keys((struct call_line){ at, query->len }, at, query->len);
	path->len = len;
}

static int emit_call(const struct at *at, struct gohttp2_call *c, const struct event_desc *desc, uint64_t now_ns)
{
	struct call_event_body *b;
	struct sonde_rec hdr = *at->r;
	size_t strings = 0, off = 0;
	struct event ev;
	char *mem;

	for (unsigned i = 0; i < CALL_EVENT_TEXT__MAX; i++)
		strings += c->text_len[i];
	mem = arena_alloc(at->em->scratch, sizeof(*b) + strings);
	if (!mem)
		return -ENOMEM;
	b = (void *)mem;
	*b = c->body;
	for (unsigned i = 0; i < CALL_EVENT_TEXT__MAX; i++) {
		b->text[i] = (struct sec_str){ .off = (uint32_t)off, .len = c->text_len[i] };
		memcpy(mem + sizeof(*b) + off, c->text[i] ? c->text[i] : "", c->text_len[i]);
		off += c->text_len[i];
	}
	split_path(b, mem + sizeof(*b), at->em->reveal & DECODE_REVEAL_QUERIES);
	hdr.ts_ns = now_ns;
	hdr.tgid = c->key.tgid;
	hdr.start_ns = c->key.start_ns;
	hdr.tid = c->tid;
	hdr.instance = c->instance;
	hdr.flags &= (uint16_t)~SONDE_RF_IDENT;	/* the block is another call's */
	event_decode_from_rec(&ev, desc, &hdr);
	ev.keys = c->conn->keys;
	ev.keys.goid = c->goid;
	ev.keys.image = c->image;
	ev.keys.cgroup_id = c->cgroup_id;
	ev.keys.call = c->number;
	ev.keys.rpc_conn = c->body.end == CALL_EVENT_END_UNSENT ? 0 : c->key.conn;
	ev.keys.rpc_stream = c->key.stream;
	b->ordinal = c->body.end == CALL_EVENT_END_UNSENT ? 0 : c->key.stream;
	ev.body = mem;
	ev.body_len = (uint32_t)(sizeof(*b) + strings);
	return at->em->emit(at->em->ctx, &ev);
}

static bool is_error(const struct call_event_body *b)
{
	if (b->status != CALL_EVENT_STATUS_UNKNOWN)
		return b->status != 0;
	if (b->end != CALL_EVENT_END_DONE)
		return true;
	return b->http_status >= (b->side == GOHTTP2_SIDE_SERVER ? 500 : 400);
}

/*
 * Has the timeout passed? The status is DEADLINE_EXCEEDED then, whatever the code of the reset. The timeout counts
 * from the creation of the headers, which both sides see later: the client's queue delays them until its writer runs,
 * the network until the server reads them. A server whose timer fires first sends the status in trailers.
 */
static bool is_overdue(const struct call_event_body *b, uint64_t now_ns)
{
	uint64_t slack = TIMEOUT_SLACK_NS + b->timeout_ns / TIMEOUT_LATE_PART;

	if (!b->timeout_ns || !b->opened_ns || now_ns < b->opened_ns)
		return false;
	return now_ns - b->opened_ns >= b->timeout_ns - MIN(b->timeout_ns, slack);
}

/* Status of a call whose connection is lost before a status was sent: doc/statuscodes.md of grpc. */
static void derive_lost(struct call_event_body *b, uint64_t now_ns)
{
	if (b->kind != CALL_KIND_GRPC || b->status != CALL_EVENT_STATUS_UNKNOWN)
		return;
	b->derived = 1;
	if (is_overdue(b, now_ns))
		b->status = GRPC_DEADLINE_EXCEEDED;
	else
		b->status = b->side == GOHTTP2_SIDE_CLIENT ? GRPC_UNAVAILABLE : GRPC_CANCELLED;
}

static int finish(const struct at *at, struct gohttp2_call *c, enum call_event_end end)
{
	uint64_t now_ns = at->r->ts_ns;
	int r;

	c->body.end = (uint8_t)end;
	if (c->body.opened_ns && now_ns > c->body.opened_ns)
		c->body.latency_ns = now_ns - c->body.opened_ns;
	if (end == CALL_EVENT_END_CONN)
		derive_lost(&c->body, now_ns);
	if (c->body.kind != CALL_KIND_GRPC)
		c->body.status = CALL_EVENT_STATUS_UNKNOWN;
	c->body.error = is_error(&c->body);
	r = emit_call(at, c, &call_event_end, now_ns);
	gohttp2_calls_remove(&at->s->t, c);
	return r;
}

/* Ends all calls of a connection, then the connection. */
static int finish_conn(const struct at *at, struct gohttp2_conn *conn, enum call_event_end end)
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
static int finish_conns(const struct at *at, uint32_t tgid, enum call_event_end end)
{
	struct list *next, *head = &at->s->t.conns_lru;
	int first = 0;

	for (struct list *l = head->next; l != head; l = next) {
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

/* The pair points from client to server on either side. */
static void set_peer(struct gohttp2_decode_state *s, struct gohttp2_conn *c, const struct gohttp2_frame_rec *f)
{
	bool server = f->side == GOHTTP2_SIDE_SERVER;
	struct conn *pair = &c->keys.conn;

	if (f->fd >= 0)
		c->fd = f->fd;
	if (!(f->flags & GOHTTP2_F_SOCK))
		return;
	c->unix_socket = f->family == AF_UNIX;
	c->keys.netns = f->netns;
	gohttp2_calls_conn_set_cookie(&s->t, c, f->cookie);
	if (!ipaddr_bytes(f->family))
		return;
	pair->proto = IPPROTO_TCP;
	ipaddr_set(server ? &pair->daddr : &pair->saddr, f->family, f->laddr);
	ipaddr_set(server ? &pair->saddr : &pair->daddr, f->family, f->raddr);
	pair->sport = server ? f->rport : f->lport;
	pair->dport = server ? f->lport : f->rport;
}

/* Number of the call whose request @r is: unique in a run, and as call_begins() (gohttp2_serve.bpf.h) computes it. */
static uint64_t number_of(const struct sonde_rec *r)
{
	return (uint64_t)r->seq << 17 | (uint64_t)(r->instance & 31) << 12 | (r->cpu & 4095);
}

/* @number: of the call that the goroutine of the client serves. */
static int set_parent(const struct gohttp2_calls *t, struct gohttp2_call *c, uint64_t number)
{
	const struct gohttp2_call *p = gohttp2_calls_numbered(t, number);

	c->body.parent = number;
	if (!p)
		return 0;
	c->body.parent_opened_ns = p->body.opened_ns;
	memcpy(c->body.parent_trace, p->body.trace, sizeof(c->body.parent_trace));
	return gohttp2_calls_set(c, CALL_EVENT_TEXT_PARENT, p->text[CALL_EVENT_TEXT_PATH],
				 path_len(p->text[CALL_EVENT_TEXT_PATH], p->text_len[CALL_EVENT_TEXT_PATH]));
}

/* Recordings of older versions have no images, and no numbers. */
static uint64_t number_of_request(const struct gohttp2_frame_rec *f)
{
	if (f->side == GOHTTP2_SIDE_SERVER && f->id.call)
		return f->id.call;
	return f->id.image ? number_of(&f->hdr) : 0;
}

static int set_number(struct gohttp2_calls *t, struct gohttp2_call *c, const struct gohttp2_frame_rec *f)
{
	const uint64_t number = number_of_request(f);

	if (f->side == GOHTTP2_SIDE_SERVER && number)
		return gohttp2_calls_set_number(t, c, number);
	c->number = number;
	return f->id.call ? set_parent(t, c, f->id.call) : 0;
}

static int new_call(const struct at *at, const struct gohttp2_frame_rec *f, struct gohttp2_call **ret)
{
	const struct gohttp2_conn_key conn_key = conn_key_of(f);
	const struct gohttp2_call_key key = key_of(f);
	struct gohttp2_calls *t = &at->s->t;
	struct gohttp2_call *c = gohttp2_calls_surplus(t);
	struct gohttp2_conn *conn;
	int r = c ? finish(at, c, CALL_EVENT_END_EVICTED) : 0;

	conn = gohttp2_calls_conn_add(t, &conn_key);
	c = conn ? gohttp2_calls_add(t, &key, conn) : NULL;
	if (!c)
		return -ENOMEM;
	set_peer(at->s, conn, f);
	c->tid = f->hdr.tid;
	c->instance = f->hdr.instance;
	c->goid = f->goid;
	c->image = f->id.image;
	c->cgroup_id = f->id.cgroup_id;
	c->body.parent_goid = f->parent_goid;
	c->body.side = f->side;
	c->body.kind = f->flags & GOHTTP2_F_WEB ? CALL_KIND_HTTP : CALL_KIND_GRPC;
	c->body.fd = conn->fd;
	c->body.unix_socket = conn->unix_socket;
	*ret = c;
	return set_number(t, c, f) < 0 ? -ENOMEM : r;
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
		r = finish(at, c, CALL_EVENT_END_REPLACED);
	e = new_call(at, f, &c);
	if (e < 0)
		return e;
	c->body.opened_ns = c->reported_ns = f->hdr.ts_ns;
	if (!c->conn->first_stream || f->stream < c->conn->first_stream)
		c->conn->first_stream = f->stream;
	e = gohttp2_headers_apply(c, fields);
	if (e >= 0)
		e = emit_call(at, c, &call_event_open, f->hdr.ts_ns);
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
	return finish(at, c, CALL_EVENT_END_DONE);
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
	r = emit_call(at, c, &call_event_data, f->hdr.ts_ns);
	c->body.frame_bytes = c->body.frame_sent = 0;
	gohttp2_calls_set(c, CALL_EVENT_TEXT_PAYLOAD, "", 0);
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
		e = finish(at, c, CALL_EVENT_END_DONE);
	return r < 0 ? r : e;
}

/* Status that a client derives from a reset: PROTOCOL-HTTP2.md, "Errors". */
static uint16_t status_of_reset(uint32_t code)
{
	switch (code) {
	case H2_REFUSED_STREAM:
		return GRPC_UNAVAILABLE;
	case H2_CANCEL:
		return GRPC_CANCELLED;
	case H2_ENHANCE_YOUR_CALM:
		return GRPC_RESOURCE_EXHAUSTED;
	case H2_INADEQUATE_SECURITY:
		return GRPC_PERMISSION_DENIED;
	default:
		return GRPC_INTERNAL;
	}
}

static int on_reset(const struct at *at, const struct gohttp2_frame_rec *f)
{
	const struct gohttp2_call_key key = key_of(f);
	struct gohttp2_call *c = gohttp2_calls_find(&at->s->t, &key);
	struct call_event_body *b;

	if (!c)
		return 0;
	b = &c->body;
	b->reset_code = f->code;
	b->reset_sent = !!(f->flags & GOHTTP2_F_SENT);
	if (b->kind == CALL_KIND_GRPC && b->status == CALL_EVENT_STATUS_UNKNOWN) {
		b->derived = 1;
		b->status = status_of_reset(f->code);
		if (b->status == GRPC_CANCELLED && is_overdue(b, f->hdr.ts_ns))
			b->status = GRPC_DEADLINE_EXCEEDED;
	}
	return finish(at, c, CALL_EVENT_END_RESET);
}

static int on_done(const struct at *at, const struct gohttp2_frame_rec *f)
{
	const struct gohttp2_call_key key = key_of(f);
	struct gohttp2_call *c = gohttp2_calls_find(&at->s->t, &key);

	return c ? finish(at, c, CALL_EVENT_END_DONE) : 0;
}

#define NO_CONN (1ull << 63)	/* in place of an address */

/* A whole call in one record. Its connection lasts as long as this function. */
static int on_unsent(const struct at *at, const struct gohttp2_frame_rec *rec, struct cursor fields)
{
	struct gohttp2_frame_rec f = *rec;
	struct gohttp2_conn *conn;
	struct gohttp2_call *c;
	int r, e;

	f.conn |= NO_CONN;
	f.stream = 0;
	r = new_call(at, &f, &c);
	if (r < 0)
		return r;
	conn = c->conn;
	c->body.opened_ns = rec->conn;
	r = gohttp2_headers_apply(c, fields);
	c->body.status = (uint16_t)MIN(rec->code, (uint32_t)UINT16_MAX - 1);
	e = finish(at, c, CALL_EVENT_END_UNSENT);
	gohttp2_calls_conn_remove(&at->s->t, conn);
	return r < 0 ? r : e;
}

static int on_conn_end(const struct at *at, const struct gohttp2_frame_rec *f)
{
	const struct gohttp2_conn_key key = conn_key_of(f);
	struct gohttp2_conn *conn = gohttp2_calls_conn_find(&at->s->t, &key);

	return conn ? finish_conn(at, conn, CALL_EVENT_END_CONN) : 0;
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

static int decode_frame(const struct sonde_rec *r, _unused_ struct event *ev, const struct emitter *em)
{
	const struct at at = at_rec(r, em);
	struct cursor c = cur_init(r, r->len);
	struct gohttp2_frame_rec f;
	struct cursor fields;

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
	case GOHTTP2_WHAT_UNSENT: return on_unsent(&at, &f, fields);
	default:
		return -EBADMSG;
	}
}

/* ---- logs ---- */

/* Appends @text to the lines of the call, and a line end if it has none. */
static int keep_log(struct gohttp2_call *c, const char *text, size_t len)
{
	int r;

	if (!len)
		return 0;
	r = gohttp2_calls_append(c, CALL_EVENT_TEXT_LOGS, text, len);
	if (r >= 0 && text[len - 1] != '\n')
		r = gohttp2_calls_append(c, CALL_EVENT_TEXT_LOGS, "\n", 1);
	return r;
}

/* Emits one write as an event of its call, which keeps the text. */
static int emit_log(const struct at *at, struct gohttp2_call *c, const char *text, size_t len, uint32_t written)
{
	const uint64_t before = c->body.log_bytes;
	const uint32_t kept = c->text_len[CALL_EVENT_TEXT_LOGS];
	int r = gohttp2_calls_set(c, CALL_EVENT_TEXT_LOG, text, len), e;

	if (r < 0)
		return r;
	c->body.log_bytes = written;
	c->text_len[CALL_EVENT_TEXT_LOGS] = 0;
	r = emit_call(at, c, &call_event_log, at->r->ts_ns);
	c->text_len[CALL_EVENT_TEXT_LOGS] = kept;
	c->body.log_bytes = before + written;
	gohttp2_calls_set(c, CALL_EVENT_TEXT_LOG, "", 0);
	e = keep_log(c, text, len);
	return r < 0 ? r : e;
}

/* A write after the end of its call, or of one whose request was lost: the number is all that is known. */
static int emit_late_log(const struct at *at, const struct gohttp2_log_rec *l, const char *text, size_t len)
{
	struct gohttp2_conn none = { .fd = -1 };
	struct gohttp2_call c = {
		.conn = &none, .number = l->id.call, .tid = l->hdr.tid, .instance = l->hdr.instance,
		.goid = l->id.goid, .image = l->id.image, .cgroup_id = l->id.cgroup_id,
		.key = { .tgid = l->hdr.tgid, .start_ns = l->hdr.start_ns },
		.body = { .side = GOHTTP2_SIDE_SERVER, .fd = -1, .status = CALL_EVENT_STATUS_UNKNOWN },
	};
	int r = emit_log(at, &c, text, len, l->written);

	for (unsigned i = 0; i < CALL_EVENT_TEXT__MAX; i++)
		free(c.text[i]);
	return r;
}

static int decode_log(const struct sonde_rec *r, _unused_ struct event *ev, const struct emitter *em)
{
	const struct at at = at_rec(r, em);
	struct cursor c = cur_init(r, r->len);
	struct gohttp2_log_rec l;
	struct gohttp2_call *call;
	const char *text;

	cur_copy(&c, &l, sizeof(l));
	text = cur_bytes(&c, l.data_len);
	if (!cur_ok(&c))
		return -EBADMSG;
	call = gohttp2_calls_numbered(&at.s->t, l.id.call);
	return call ? emit_log(&at, call, text, l.data_len, l.written) :
		      emit_late_log(&at, &l, text, l.data_len);
}

/* ---- other records ---- */

static int decode_miss(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	struct cursor c = cur_init(r, r->len);
	struct gohttp2_miss_body b = { 0 };
	struct gohttp2_miss_rec m;

	const void *type;

	cur_copy(&c, &m, sizeof(m));
	type = cur_bytes(&c, m.text_len);
	if (!cur_ok(&c))
		return -EBADMSG;
	b.count = m.count;
	b.site = m.site;
	b.line = m.line;
	memcpy(b.file, m.file, sizeof(b.file));
	memcpy(b.reason, m.reason, sizeof(b.reason));
	memcpy(b.conn_type, type, MIN((size_t)m.text_len, sizeof(b.conn_type) - 1));
	ev->body = &b;
	return em->emit(em->ctx, ev);
}

static int decode_program(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	struct cursor c = cur_init(r, r->len);
	struct gohttp2_program_body b = { 0 };
	struct sec_state state = { .kind = SEC_STATE_PROGRAM };
	struct gohttp2_program_rec p;
	const void *text;

	cur_copy(&c, &p, sizeof(p));
	state.flag = p.n_sites != 0;
	text = cur_bytes(&c, p.text_len);
	if (!cur_ok(&c))
		return -EBADMSG;
	b.n_sites = p.n_sites;
	memcpy(b.text, text, MIN((size_t)p.text_len, sizeof(b.text) - 1));
	ev->body = &b;
	event_add_section(ev, SEC_STATE, &state, sizeof(state));
	return em->emit(em->ctx, ev);
}

static int decode_late(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	struct cursor c = cur_init(r, r->len);
	struct gohttp2_late_body b = { 0 };
	struct gohttp2_late_rec l;
	const void *path;

	cur_copy(&c, &l, sizeof(l));
	path = cur_bytes(&c, l.path_len);
	if (!cur_ok(&c))
		return -EBADMSG;
	b.late_ns = l.late_ns;
	b.ended = l.gone != 0;
	memcpy(b.file, path, MIN((size_t)l.path_len, sizeof(b.file) - 1));
	ev->body = &b;
	return em->emit(em->ctx, ev);
}

static int emit_range(struct event *ev, uint8_t frame, const struct emitter *em)
{
	static const struct sec_state state = { .kind = SEC_STATE_FRAME };
	const struct gohttp2_range_body b = { .frame = frame };

	ev->body = &b;
	event_add_section(ev, SEC_STATE, &state, sizeof(state));
	return em->emit(em->ctx, ev);
}

static int decode_range(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	struct gohttp2_range_rec range;

	if (!decode_fixed(r, &range, sizeof(range)))
		return -EBADMSG;
	ev->keys.rpc_stream = range.stream;
	return emit_range(ev, range.frame, em);
}

static int fact_of_range(const struct sonde_rec *r, const struct emitter *em)
{
	struct event ev;

	event_decode_from_rec(&ev, &gohttp2_range_desc, r);
	return decode_range(r, &ev, em);
}

/* A request that begins a call: its stream has the number. */
static int fact_of_frame(const struct sonde_rec *r, const struct emitter *em)
{
	struct cursor c = cur_init(r, r->len), fields;
	struct gohttp2_frame_rec f;
	struct event ev;

	if (!get_frame(&c, r->type, &f))
		return -EBADMSG;
	fields = cur_sub(&c, f.fields_len);
	if (f.what != GOHTTP2_WHAT_HEADERS || !is_request(&f) || !f.id.sock || !f.id.image || !cur_ok(&fields) ||
	    !gohttp2_headers_check(fields) || !gohttp2_headers_has(fields, GOHTTP2_H_PATH))
		return 0;
	event_decode_from_rec(&ev, &gohttp2_range_desc, r);
	ev.keys.rpc_stream = f.stream;
	ev.keys.call = number_of_request(&f);
	return emit_range(&ev, 0, em);
}

/* Reports calls that are still open after PROGRESS_NS. */
static int decode_tick(const struct sonde_rec *r, _unused_ struct event *ev, const struct emitter *em)
{
	const struct at at = at_rec(r, em);
	struct list *calls = &at.s->t.calls_lru;
	int first = 0;

	for (struct list *l = calls->next; l != calls; l = l->next) {
		struct gohttp2_call *c = container_of(l, struct gohttp2_call, lru);
		int e;

		if (!c->reported_ns || r->ts_ns < c->reported_ns + PROGRESS_NS)
			continue;
		c->reported_ns = r->ts_ns;
		e = emit_call(&at, c, &call_event_progress, r->ts_ns);
		first = first ? first : e;
	}
	return first;
}

static int decode_exit(const struct sonde_rec *r, _unused_ struct event *ev, const struct emitter *em)
{
	const struct at at = at_rec(r, em);

	return finish_conns(&at, r->tgid ? r->tgid : UINT32_MAX, CALL_EVENT_END_EXIT);
}

/* Ends the calls of connections whose sockets were closed since the last record. */
static int finish_closed(const struct sonde_rec *r, const struct emitter *em)
{
	const struct at at = at_rec(r, em);

	gohttp2_calls_init(&at.s->t);
	if (!at.s->t.any_closed)
		return 0;
	at.s->t.any_closed = false;
	return finish_conns(&at, 0, CALL_EVENT_END_CONN);
}

static const struct decode_row rows[] = {
	{ GOHTTP2_REC_FRAME, NULL, decode_frame, .ident = true, .fact = fact_of_frame },
	{ GOHTTP2_REC_SHORT, NULL, decode_frame },
	{ GOHTTP2_REC_MISS, &gohttp2_miss_desc, decode_miss },
	{ GOHTTP2_REC_PROGRAM, &gohttp2_program_desc, decode_program },
	{ GOHTTP2_REC_EXIT, NULL, decode_exit },
	{ GOHTTP2_REC_EXEC, NULL, decode_exit },
	{ GOHTTP2_REC_START, NULL, decode_exit },
	{ GOHTTP2_REC_LATE, &gohttp2_late_desc, decode_late },
	{ GOHTTP2_REC_LOG, NULL, decode_log, .ident = true },
	{ GOHTTP2_REC_RANGE, &gohttp2_range_desc, decode_range, .ident = true, .fact = fact_of_range },
	{ SONDE_EV_TICK, NULL, decode_tick },
	{ 0 },
};

/* A socket that is closed ends the calls of its connection; finish_closed() reports them with the next record. */
static void gohttp2_observe(void *state, const struct event *ev)
{
	struct gohttp2_decode_state *s = state;
	const struct sec_state *fact = event_state(ev);
	struct gohttp2_conn *conn;

	if (!ev->keys.cookie || !s->t.ready || !fact || fact->kind != SEC_STATE_SOCKET || !fact->flag)
		return;
	conn = gohttp2_calls_conn_of_cookie(&s->t, ev->keys.cookie);
	if (conn)
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
	.redact = gohttp2_redact,
	.observe = gohttp2_observe,
	.fini = gohttp2_fini,
};
