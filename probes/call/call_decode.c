// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records to calls: the bytes of each connection go to the parser of its protocol (src/call), and each call that it
 * finds becomes an event. The end of a socket or of its last process ends its calls.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cursor.h"
#include "base/macros.h"
#include "call/call_conn.h"
#include "call/call_event.h"
#include "event/core.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/redact/redact.h"
#include "probes/call/call_body.h"
#include "probes/call/call_links.h"
#include "probes/call/call_order.h"
#include "probes/call/call_sockets.h"
#include "probes/call/call_wire.h"

struct call_decode_state {
	struct call_sockets sockets;
	struct call_links links;
	struct call_pool pool;
	uint64_t reported[CALL_MISS__MAX]; /* of pool.missed */
	struct map go;		/* tgids whose HTTP/2 another decoder shows */
	bool ready;
	bool any_closed;
	uint8_t losses;		/* of the last record */
	/* valid while a record is decoded */
	const struct sonde_rec *r;
	const struct emitter *em;
	int error;		/* first failure to emit */
};

/* Number of the @id-th call of a socket, small enough for readers of JSON. */
#define NUMBER_BITS_OF_ID 20
static uint64_t number_of(uint64_t cookie, uint64_t id)
{
	return (cookie & 0xffffffff) << NUMBER_BITS_OF_ID | (id & ((1u << NUMBER_BITS_OF_ID) - 1));
}

/* ---- events ---- */

static uint64_t header_of(const struct call_socket *s, const struct call *c)
{
	static const char *const names[] = { "traceparent", "b3", "x-request-id" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t len;
		const char *v = call_body_header(c, names[i], &len);

		if (v)
			return map_hash(v, len) ^ (uint64_t)s->tgid << 32 ^ i;
	}
	return 0;
}

static void on_opened(void *ctx, struct call_conn *conn, const struct call *c)
{
	struct call_decode_state *st = ctx;
	const struct call_socket *s = call_conn_user(conn);
	const struct call_links_call link = {
		.number = number_of(s->key.cookie, c->id),
		.header = header_of(s, c),
		.tgid = s->tgid,
		.tid = (uint32_t)c->request.tag,
		.server = call_conn_is_server(conn) != c->pushed,
	};

	call_links_opened(&st->links, &link);
}

/* The same call at the other end: both ends count their calls alike if both were seen from the start. */
static uint64_t peer_call_of(const struct call_decode_state *st, const struct call_socket *s, const struct call *c)
{
	const struct call_socket *peer = call_sockets_peer(&st->sockets, s);

	if (!peer || peer == s || s->midstream || peer->midstream || !peer->conn)
		return 0;
	return number_of(peer->key.cookie, c->id);
}

static void fill_keys(struct event *ev, const struct call_socket *s, bool server, uint64_t number)
{
	struct conn *pair = &ev->keys.conn;

	*pair = s->ends.conn;
	if (server) {	/* the pair points from client to server on either side */
		pair->saddr = s->ends.conn.daddr;
		pair->daddr = s->ends.conn.saddr;
		pair->sport = s->ends.conn.dport;
		pair->dport = s->ends.conn.sport;
	}
	ev->keys.netns = s->ends.netns;
	ev->keys.cookie = s->key.cookie;
	ev->keys.image = s->image;
	ev->keys.cgroup_id = s->cgroup_id;
	ev->keys.call = number;
}

static void on_ended(void *ctx, struct call_conn *conn, const struct call *c)
{
	struct call_decode_state *st = ctx;
	struct call_socket *s = call_conn_user(conn);
	const bool server = call_conn_is_server(conn) != c->pushed;
	const uint64_t number = number_of(s->key.cookie, c->id);
	const struct call_links_parent parent = call_links_ended(&st->links, number);
	struct sonde_rec hdr = *st->r;
	struct call_event_body *b;
	struct event ev;
	uint32_t len;
	int r;

	b = call_body_make(c, server, st->em->scratch, &len);
	if (!b) {
		st->error = st->error ? st->error : -ENOMEM;
		return;
	}
	b->source = call_body_source(s->source % CALL_SOURCE__MAX);
	b->tls_by = call_body_tls_by(s->tls_by);
	b->rtt_ns = s->rtt_ns;
	b->queue_ns = c->incomplete ? 0 : s->queue_ns;
	b->parent = parent.number;
	b->link = (uint8_t)parent.link;
	b->peer_call = peer_call_of(st, s, c);
	b->unix_socket = s->unix_socket;
	hdr.tgid = s->tgid;
	hdr.tid = c->request.begun ? (uint32_t)c->request.tag : (uint32_t)c->response.tag;
	hdr.start_ns = s->start_ns;
	hdr.instance = s->instance;
	hdr.flags &= (uint16_t)~SONDE_RF_IDENT;
	event_decode_from_rec(&ev, &call_event_end, &hdr);
	fill_keys(&ev, s, server, number);
	ev.body = b;
	ev.body_len = len;
	r = st->em->emit(st->em->ctx, &ev);
	st->error = st->error ? st->error : MIN(r, 0);
}

/* Calls that were not shown since the last one, all of @s: events of the core's type of loss. */
static void report_lost(struct call_decode_state *st, const struct call_socket *s)
{
	static const struct {
		enum call_miss miss;
		uint32_t cause;
	} rows[] = { { CALL_MISS_MEMORY, SONDE_LOST_CALL_MEMORY }, { CALL_MISS_ORPHAN, SONDE_LOST_NO_REQUEST },
		     { CALL_MISS_NO_BYTES, SONDE_LOST_NO_BYTES } };
	struct sonde_rec hdr = *st->r;

	hdr.tgid = s->tgid;
	hdr.start_ns = s->start_ns;
	hdr.instance = s->instance;
	hdr.flags &= (uint16_t)~SONDE_RF_IDENT;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t *reported = &st->reported[rows[i].miss];
		struct core_lost lost = { .count = st->pool.missed[rows[i].miss] - *reported,
					  .cause = rows[i].cause };
		struct event ev;
		int r;

		if (!lost.count)
			continue;
		*reported += lost.count;
		event_decode_from_rec(&ev, &core_lost_desc, &hdr);
		ev.body = &lost;
		ev.keys.cookie = s->key.cookie;
		r = st->em->emit(st->em->ctx, &ev);
		st->error = st->error ? st->error : MIN(r, 0);
	}
}

static const struct call_pool_ops pool_ops = { .opened = on_opened, .ended = on_ended };

/* ---- connections ---- */

static void make_ready(struct call_decode_state *st)
{
	if (st->ready)
		return;
	call_sockets_init(&st->sockets);
	call_links_init(&st->links);
	call_pool_init(&st->pool, &pool_ops, st);
	map_init(&st->go, sizeof(uint32_t), sizeof(uint8_t));
	st->ready = true;
}

static struct call_decode_state *state_at(const struct sonde_rec *r, const struct emitter *em)
{
	struct call_decode_state *st = em->state;

	make_ready(st);
	st->r = r;
	st->em = em;
	st->error = 0;
	st->pool.conf.query_values = em->reveal & DECODE_REVEAL_QUERIES;
	st->pool.conf.literals = em->reveal & DECODE_REVEAL_LITERALS;
	st->links.infer = em->reveal & DECODE_REVEAL_INFERRED;
	return st;
}

static void end_socket(struct call_decode_state *st, struct call_socket *s)
{
	if (s->conn && !s->left)
		call_conn_close(s->conn);
	report_lost(st, s);
	call_sockets_remove(&st->sockets, s);
}

/* The limit of parsers is what the table of sockets leaves. */
static void set_limit(struct call_decode_state *st)
{
	size_t bytes = call_sockets_bytes(&st->sockets);

	st->pool.bytes_max = CALL_POOL_BYTES - MIN(bytes, (size_t)CALL_POOL_BYTES);
}

static struct call_socket *get_socket(struct call_decode_state *st, uint64_t cookie, uint32_t source)
{
	struct call_socket *s = call_sockets_find(&st->sockets, cookie, source);

	if (s)
		return s;
	s = call_sockets_surplus(&st->sockets);
	if (s && s->conn && !s->left)
		call_conn_evict(s->conn);
	if (s) {
		report_lost(st, s);
		call_sockets_remove(&st->sockets, s);
	}
	s = call_sockets_add(&st->sockets, cookie, source);
	set_limit(st);
	return s;
}

/* A socket carries two streams at most: its bytes, and plain text of TLS over them. */
static uint32_t layer_of(uint8_t source)
{
	return source == CALL_SOURCE_SOCKET ? CALL_SOURCE_SOCKET : CALL_SOURCE_OPENSSL;
}

static void set_process(struct call_socket *s, const struct sonde_rec *hdr)
{
	s->tgid = hdr->tgid;
	s->start_ns = hdr->start_ns;
	s->instance = hdr->instance;
}

static void set_ip(struct ipaddr *ip, uint8_t family, const uint8_t *addr)
{
	ipaddr_set(ip, family, addr);
	ipaddr_unmap(ip);
}

static int decode_conn(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	struct call_decode_state *st = state_at(r, em);
	struct call_socket_ends ends = { 0 };
	struct call_conn_rec rec;
	struct call_socket *s;

	(void)ev;
	if (!decode_fixed(r, &rec, sizeof(rec)))
		return -EBADMSG;
	s = get_socket(st, rec.cookie, layer_of(rec.source));
	if (!s)
		return -ENOMEM;
	set_process(s, &rec.hdr);
	s->image = rec.id.image;
	s->cgroup_id = rec.id.cgroup_id;
	s->unix_socket = rec.family == AF_UNIX;
	s->peer_cookie = rec.peer_cookie;
	for (unsigned dir = CALL_RX; !s->conn && dir <= CALL_TX; dir++) {
		s->base[dir] = rec.bytes[dir];
		s->has_base[dir] = true;
		s->midstream |= rec.bytes[dir] != 0;
	}
	s->midstream |= !s->conn && rec.flags & CALL_CONN_MIDSTREAM;
	if (ipaddr_bytes(rec.family)) {
		ends.netns = rec.id.netns;
		ends.conn.proto = rec.proto;
		ends.conn.sport = rec.lport;
		ends.conn.dport = rec.rport;
		set_ip(&ends.conn.saddr, rec.family, rec.laddr);
		set_ip(&ends.conn.daddr, rec.family, rec.raddr);
	} else {
		ends.netns = rec.id.netns;
	}
	call_sockets_set_ends(&st->sockets, s, &ends);
	return st->error;
}

static enum call_dir dir_of(const struct call_data_rec *rec)
{
	return rec->dir == CALL_TX ? CALL_DIR_SENT : CALL_DIR_RECEIVED;
}

/* Makes the connection of a socket at its first bytes. */
static bool begin(struct call_decode_state *st, struct call_socket *s, const struct call_data_rec *rec)
{
	if (s->conn)
		return true;
	if (!s->has_base[CALL_RX] || !s->has_base[CALL_TX])
		s->midstream = true;	/* the record of the connection was lost */
	(void)rec;
	s->conn = call_conn_new(&st->pool, CALL_ROLE_UNKNOWN, s->midstream, s);
	return s->conn != NULL;
}

static void feed(struct call_socket *s, const struct call_data_rec *rec, const void *bytes)
{
	const unsigned dir = rec->dir == CALL_TX ? CALL_TX : CALL_RX;
	struct call_chunk chunk = {
		.data = bytes,
		.len = rec->kept,
		.hole = rec->size - rec->kept,
		.time_ns = rec->hdr.ts_ns,
		.tag = rec->hdr.tid,
		.turn = rec->flags & CALL_F_TURN,
	};

	if (!s->has_base[dir]) {
		s->base[dir] = rec->offset;
		s->has_base[dir] = true;
	}
	chunk.offset = rec->offset - s->base[dir];
	if (s->ends.conn.proto == IPPROTO_UDP)
		call_conn_datagram(s->conn, dir_of(rec), &chunk);
	else if (rec->offset >= s->base[dir])
		call_conn_feed(s->conn, dir_of(rec), &chunk);
}

static void take_times(struct call_socket *s, const struct call_data_rec *rec)
{
	if (rec->flags & CALL_F_TURN && rec->dir == CALL_RX)
		s->queue_ns = rec->flags & CALL_F_QUEUE ? MAX(rec->rtt_us, 1u) * 1000ull : 0;
	if (rec->rtt_us && !(rec->flags & CALL_F_QUEUE))
		s->rtt_ns = rec->rtt_us * 1000ull;
}

/* Has the connection come to need other bytes than the kernel keeps? The live half passes it on. */
static int report_order(struct call_decode_state *st, struct call_socket *s)
{
	uint8_t order = 0;
	struct event ev;

	if (!s->ignored && call_conn_state(s->conn) == CALL_CONN_IGNORED) {
		s->ignored = true;
		order = CALL_ORDER_IGNORE;
	} else if (!s->wide && !s->ignored && call_conn_most(s->conn) > 1) {
		s->wide = true;
		order = CALL_ORDER_WIDE;
	}
	if (!order)
		return 0;
	call_order_event(&ev, st->r, s->key.cookie, order, s->key.source != CALL_SOURCE_SOCKET,
			 call_conn_protocol(s->conn), st->em->scratch);
	return ev.body ? st->em->emit(st->em->ctx, &ev) : -ENOMEM;
}

static int decode_data(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	struct call_decode_state *st = state_at(r, em);
	struct cursor c = cur_init(r, r->len);
	struct call_data_rec rec;
	struct call_socket *s;
	const void *bytes;
	int e;

	(void)ev;
	cur_copy(&c, &rec, sizeof(rec));
	bytes = cur_bytes(&c, rec.kept);
	if (!cur_ok(&c) || rec.kept > rec.size || rec.size > INT32_MAX)
		return -EBADMSG;
	if (rec.guess == CALL_GUESS_HTTP2 && map_find(&st->go, &rec.hdr.tgid))
		return 0;	/* each call has one source */
	s = get_socket(st, rec.cookie, layer_of(rec.source));
	if (!s || !begin(st, s, &rec))
		return -ENOMEM;
	if (rec.losses != st->losses)
		call_links_lost(&st->links);
	st->losses = rec.losses;
	set_process(s, &rec.hdr);
	s->source = rec.source;
	s->tls_by = rec.tls_by;
	take_times(s, &rec);
	if (rec.flags & CALL_F_END)
		call_conn_end(s->conn, dir_of(&rec));
	else
		feed(s, &rec, bytes);
	report_lost(st, s);
	e = report_order(st, s);
	return st->error ? st->error : MIN(e, 0);
}

/* ---- ends ---- */

/* Ends the connections whose sockets were closed since the last record. */
static int end_closed(const struct sonde_rec *r, const struct emitter *em)
{
	struct call_decode_state *st = state_at(r, em);
	struct list *next, *head = &st->sockets.lru;

	if (!st->any_closed)
		return 0;
	st->any_closed = false;
	for (struct list *l = head->next; l != head; l = next) {
		struct call_socket *s = container_of(l, struct call_socket, lru);

		next = l->next;
		if (s->closed)
			end_socket(st, s);
	}
	return st->error;
}

static void close_of(struct call_decode_state *st, uint64_t cookie)
{
	for (uint32_t source = CALL_SOURCE_SOCKET; source <= CALL_SOURCE_OPENSSL; source++) {
		struct call_socket *s = call_sockets_find(&st->sockets, cookie, source);

		if (s)
			s->closed = st->any_closed = true;
	}
}

/* A local socket, or one without a cookie, has no event at its end: it ends with its process. */
static void exit_of(struct call_decode_state *st, uint32_t tgid)
{
	const struct list *head = &st->sockets.lru;

	for (struct list *l = head->next; l != head; l = l->next) {
		struct call_socket *s = container_of(l, struct call_socket, lru);

		if ((s->unix_socket || s->key.cookie & SONDE_ID_SOCK_INODE) && s->tgid == tgid)
			s->closed = st->any_closed = true;
	}
}

/* HTTP/2 of a watched Go program is shown by the probe gohttp2. */
static void program_of(struct call_decode_state *st, const struct event *ev, bool watched)
{
	const struct list *head = &st->sockets.lru;

	if (!watched) {
		map_remove(&st->go, &ev->tgid);
		return;
	}
	map_add(&st->go, &ev->tgid, NULL);
	for (struct list *l = head->next; l != head; l = l->next) {
		struct call_socket *s = container_of(l, struct call_socket, lru);
		const char *protocol = s->conn && s->tgid == ev->tgid ? call_conn_protocol(s->conn) : NULL;

		s->left |= protocol && !strcmp(protocol, "http2");
	}
}

static void call_observe(void *state, const struct event *ev)
{
	struct call_decode_state *st = state;
	const struct sec_state *fact = event_state(ev);

	if (ev->desc->class != EVENT_STATE)
		return;
	make_ready(st);
	if (!fact)
		return;
	if (fact->kind == SEC_STATE_PROGRAM || (fact->kind == SEC_STATE_EXIT && fact->flag))
		program_of(st, ev, fact->kind == SEC_STATE_PROGRAM && fact->flag);
	if (fact->kind == SEC_STATE_EXIT && fact->flag)
		exit_of(st, ev->tgid);
	else if (fact->kind == SEC_STATE_SOCKET && fact->flag && ev->keys.cookie)
		close_of(st, ev->keys.cookie);
}

static void call_fini(void *state)
{
	struct call_decode_state *st = state;

	if (!st->ready)
		return;
	while (st->sockets.lru.next != &st->sockets.lru)
		call_sockets_remove(&st->sockets, container_of(st->sockets.lru.next, struct call_socket, lru));
	call_sockets_fini(&st->sockets);
	call_links_fini(&st->links);
	call_pool_fini(&st->pool);
	map_fini(&st->go);
}

/* Bytes are content; sizes, times and ends are not. */
static int hide_data(struct sonde_rec *r)
{
	struct call_data_rec *d = (void *)r;

	if (r->len < sizeof(*d))
		return -EBADMSG;
	d->kept = 0;
	r->len = sizeof(*d);
	return 0;
}

static const struct content_rule call_content[] = {
	{ CALL_REC_CONN },
	{ CALL_REC_DATA, hide_data },
	{ 0 },
};

/* A parser cannot read marks: calls whose bytes are left out are not recognized by a replay. */
static int redact_data(const struct sonde_rec *r, unsigned fields, struct buf *out)
{
	const struct call_data_rec *d = (const void *)r;

	if (r->len < sizeof(*d))
		return -EBADMSG;
	if (!(fields & REDACT_PAYLOAD) && !(fields & REDACT_DNS && d->guess == CALL_GUESS_DNS))
		return 0;
	return redact_hide(r, hide_data, out);
}

static const struct redact_rule call_redact[] = { { CALL_REC_DATA, redact_data }, { 0 } };

static const struct event_desc *const call_events[] = { &call_order_desc, NULL };
static const uint16_t call_also[] = { CALL_EVENT_TYPE_END, 0 };

static const struct decode_row rows[] = {
	{ CALL_REC_CONN, NULL, decode_conn, .ident = true },
	{ CALL_REC_DATA, NULL, decode_data },
	{ SONDE_EV_TICK },	/* for end_closed() */
	{ 0 },
};

const struct decoder_ops call_decoder = {
	.name = "call",
	.probe = PROBE_ID,
	.events = call_events,
	.also = call_also,
	.state_size = sizeof(struct call_decode_state),
	.rows = rows,
	.before = end_closed,
	.content = call_content,
	.redact = call_redact,
	.observe = call_observe,
	.fini = call_fini,
};
