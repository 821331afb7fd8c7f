// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of the call probe to calls: both ends of a connection, holes, ends of sockets, parents.
 */
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/macros.h"
#include "call/call_event.h"
#include "event/core.h"
#include "event/decode.h"
#include "event/event.h"

#define PROBE_ID 6
#include "probes/call/call_links.h"
#include "probes/call/call_wire.h"

extern const struct decoder_ops call_decoder;

#define CLIENT 11	/* cookies, also process ids */
#define SERVER 12

#define TEXT 96

struct seen {
	struct call_event_body body;
	struct event_keys keys;
	uint32_t tgid, tid;
	char name[TEXT], raw_name[TEXT], query[TEXT], statement[TEXT];
};

struct bench {
	struct decode_set *d;
	struct seen calls[32];
	size_t n, n_orders;
	uint64_t lost[SONDE_LOST__MAX];
	uint64_t now_ns;
	uint64_t offset[32][2];	/* by cookie and direction */
	uint8_t flags;		/* of records of bytes */
};

static void copy_word(const struct event *ev, const char *word, char to[TEXT])
{
	const char *arg;
	size_t len;
	const struct field *f = event_field_find(ev->desc->fields, ev->desc->n_fields, word, &arg, &len);
	struct value v;

	assert_non_null(f);
	if (event_get(ev, f, &v) == 0)
		snprintf(to, TEXT, "%.*s", (int)v.len, v.str);
}

static int take(void *ctx, struct event *ev)
{
	struct bench *b = ctx;
	struct seen *s = &b->calls[b->n];

	if (ev->desc == &core_lost_desc) {
		const struct core_lost *l = ev->body;

		assert_true(ev->tgid && ev->keys.cookie && l->cause < SONDE_LOST__MAX);
		b->lost[l->cause] += l->count;
		return 0;
	}
	if (ev->desc != &call_event_end) {
		b->n_orders++;
		return 0;
	}
	assert_true(b->n < ARRAY_SIZE(b->calls));
	memcpy(&s->body, ev->body, sizeof(s->body));
	s->keys = ev->keys;
	s->tgid = ev->tgid;
	s->tid = ev->tid;
	copy_word(ev, "rpc.name", s->name);
	copy_word(ev, "rpc.raw_name", s->raw_name);
	copy_word(ev, "rpc.query", s->query);
	copy_word(ev, "rpc.statement", s->statement);
	b->n++;
	return 0;
}

static void bench_open(struct bench *b)
{
	static const struct decoder_ops *const decoders[] = { &call_decoder, NULL };

	*b = (struct bench){ .now_ns = 1000000000 };
	assert_int_equal(decode_set_new(decoders, &b->d), 0);
}

static void send_conn(struct bench *b, uint32_t who, uint16_t lport, uint16_t rport)
{
	struct call_conn_rec r = {
		.hdr = { .len = sizeof(r), .type = CALL_REC_CONN, .tgid = who, .tid = who, .start_ns = who,
			 .flags = SONDE_RF_IDENT },
		.id = { .image = who, .netns = 1 }, .cookie = who, .family = 4, .proto = 6, .lport = lport,
		.rport = rport, .laddr = { 127, 0, 0, 1 }, .raddr = { 127, 0, 0, 1 },
	};

	r.hdr.ts_ns = b->now_ns;
	assert_int_equal(decode_record(b->d, &r, sizeof(r), take, b), 0);
}

/* @size: bytes of the operation, of which @kept are here. */
static void send_bytes(struct bench *b, uint32_t who, unsigned dir, const void *bytes, size_t kept, uint32_t size)
{
	struct {
		struct call_data_rec rec;
		char bytes[512];
	} r = { .rec = { .hdr = { .type = CALL_REC_DATA, .tgid = who, .tid = who + 100, .start_ns = who },
			 .cookie = who,
			 .offset = b->offset[who][dir],
			 .size = size,
			 .dir = (uint8_t)dir,
			 .flags = b->flags,
			 .kept = (uint16_t)kept,
			 .rtt_us = 7 } };

	assert_true(kept <= sizeof(r.bytes));
	memcpy(r.bytes, bytes, kept);
	b->now_ns += 1000;
	r.rec.hdr.ts_ns = b->now_ns;
	r.rec.hdr.len = (uint32_t)(sizeof(r.rec) + kept);
	b->offset[who][dir] += size;
	assert_int_equal(decode_record(b->d, &r, r.rec.hdr.len, take, b), 0);
}

static void send_part(struct bench *b, uint32_t who, unsigned dir, const char *text, uint32_t size)
{
	send_bytes(b, who, dir, text, strlen(text), size);
}

static void send_text(struct bench *b, uint32_t who, unsigned dir, const char *text)
{
	send_part(b, who, dir, text, (uint32_t)strlen(text));
}

#define REQUEST "GET /a/17?k=v HTTP/1.1\r\nHost: x\r\n\r\n"
#define ANSWER "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno"

static void test_both_ends(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b);
	send_conn(&b, CLIENT, 4000, 80);
	send_conn(&b, SERVER, 80, 4000);
	send_text(&b, CLIENT, CALL_TX, REQUEST);
	send_text(&b, SERVER, CALL_RX, REQUEST);
	send_text(&b, SERVER, CALL_TX, ANSWER);
	send_text(&b, CLIENT, CALL_RX, ANSWER);
	assert_int_equal(b.n, 2);
	assert_int_equal(b.calls[0].tgid, SERVER);
	assert_int_equal(b.calls[0].body.side, CALL_EVENT_SIDE_SERVER);
	assert_int_equal(b.calls[0].body.error, 0);
	assert_int_equal(b.calls[1].body.side, CALL_EVENT_SIDE_CLIENT);
	assert_int_equal(b.calls[1].body.error, 1);	/* 404 is the client's failure */
	assert_int_equal(b.calls[1].body.http_status, 404);
	assert_int_equal(b.calls[1].body.sent_bytes, strlen(REQUEST));
	assert_int_equal(b.calls[1].body.received_bytes, strlen(ANSWER));
	assert_int_equal(b.calls[1].body.latency_ns, 3000);
	assert_int_equal(b.calls[1].body.rtt_ns, 7000);
	assert_int_equal(b.calls[1].tid, CLIENT + 100);
	/* the pair points from client to server, and each names the other */
	assert_int_equal(b.calls[0].keys.conn.sport, 4000);
	assert_int_equal(b.calls[1].keys.conn.sport, 4000);
	assert_int_equal(b.calls[0].body.peer_call, b.calls[1].keys.call);
	assert_int_equal(b.calls[1].body.peer_call, b.calls[0].keys.call);
	decode_set_free(b.d);
}

static void send_exchange(struct bench *b, uint32_t who, const char *request, uint32_t size)
{
	send_part(b, who, CALL_TX, request, size);
	send_text(b, who, CALL_RX, ANSWER);
}

/* A number is given only if the other end counts the same calls. */
static void test_ordinals(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b);
	send_conn(&b, CLIENT, 4000, 80);
	send_exchange(&b, CLIENT, REQUEST, strlen(REQUEST));
	send_exchange(&b, CLIENT, REQUEST, strlen(REQUEST));
	send_exchange(&b, CLIENT, "GET /cut HT", 400);	/* the rest of the request was not kept */
	send_exchange(&b, CLIENT, REQUEST, strlen(REQUEST));
	send_exchange(&b, SERVER, REQUEST, strlen(REQUEST));	/* its connection was not seen from the start */
	assert_int_equal(b.n, 5);
	assert_int_equal(b.calls[0].body.ordinal, 1);
	assert_int_equal(b.calls[1].body.ordinal, 2);
	assert_int_equal(b.calls[2].body.ordinal, 3);
	for (size_t i = 3; i < b.n; i++)
		assert_int_equal(b.calls[i].body.ordinal, 0);
	decode_set_free(b.d);
}

/* The time in a record is that of the queue or of the round trip. */
static void test_queue(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b);
	send_conn(&b, SERVER, 80, 4000);
	for (int i = 0; i < 2; i++) {
		b.flags = CALL_F_TURN | (i ? 0 : CALL_F_QUEUE);
		send_text(&b, SERVER, CALL_RX, REQUEST);
		assert_int_equal(b.n, i);
		b.flags = CALL_F_TURN;
		send_text(&b, SERVER, CALL_TX, ANSWER);
	}
	assert_int_equal(b.n, 2);
	assert_int_equal(b.calls[0].body.queue_ns, 7000);
	assert_int_equal(b.calls[0].body.rtt_ns, 7000);
	assert_int_equal(b.calls[1].body.queue_ns, 0);	/* not that of the call before it */
	decode_set_free(b.d);
}

/* ---- names, and what may be secret ---- */

static void test_names(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b);
	send_conn(&b, CLIENT, 4000, 80);
	send_text(&b, CLIENT, CALL_TX, REQUEST);
	send_text(&b, CLIENT, CALL_RX, ANSWER);
	send_conn(&b, SERVER, 4001, 6379);
	send_text(&b, SERVER, CALL_TX, "*2\r\n$3\r\nGET\r\n$4\r\nuser\r\n");
	send_text(&b, SERVER, CALL_RX, "$1\r\nx\r\n");
	assert_int_equal(b.n, 2);
	assert_string_equal(b.calls[0].name, "GET /a/_");
	assert_string_equal(b.calls[0].raw_name, "GET /a/17");
	assert_string_equal(b.calls[1].name, "redis GET _"); /* of a key only its hash is known */
	assert_int_equal(strlen(b.calls[1].raw_name), strlen("redis GET 0123456789abcdef"));
	decode_set_free(b.d);
}

/* A simple query of PostgreSQL and its answer. */
static void send_query(struct bench *b, uint32_t who, const char *sql)
{
	static const char answer[] = "C\0\0\0\x0dSELECT 1\0Z\0\0\0\5I";
	char ask[256] = "Q";
	size_t len = strlen(sql) + 1;

	assert_true(len + 5 < sizeof(ask));
	ask[4] = (char)(len + 4);
	memcpy(ask + 5, sql, len);
	send_bytes(b, who, CALL_TX, ask, len + 5, (uint32_t)len + 5);
	send_bytes(b, who, CALL_RX, answer, sizeof(answer) - 1, sizeof(answer) - 1);
}

static void check_secrets(unsigned reveal, const char *query, const char *statement)
{
	struct bench b;

	bench_open(&b);
	decode_set_reveal(b.d, reveal);
	send_conn(&b, CLIENT, 4000, 80);
	send_text(&b, CLIENT, CALL_TX, REQUEST);
	send_text(&b, CLIENT, CALL_RX, ANSWER);
	send_conn(&b, SERVER, 4001, 5432);
	send_query(&b, SERVER, "SELECT a FROM t WHERE b = 'x'");
	assert_int_equal(b.n, 2);
	assert_string_equal(b.calls[0].query, query);
	assert_string_equal(b.calls[1].statement, statement);
	decode_set_free(b.d);
}

static void test_secrets(void **state)
{
	static const char digest[] = "SELECT a FROM t WHERE b = ?";

	(void)state;
	check_secrets(0, "k=", digest);
	check_secrets(DECODE_REVEAL_QUERIES, "k=v", digest);
	check_secrets(DECODE_REVEAL_LITERALS, "k=", "SELECT a FROM t WHERE b = 'x'");
}

/* No choice shows a password. */
static void test_passwords(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b);
	decode_set_reveal(b.d, ~0u);
	send_conn(&b, SERVER, 4001, 5432);
	send_query(&b, SERVER, "ALTER ROLE r PASSWORD 'x'");
	assert_int_equal(b.n, 1);
	assert_string_equal(b.calls[0].statement, "ALTER ROLE r PASSWORD ?");
	decode_set_free(b.d);
}

/* The body of an answer is not kept: its length is known, nothing is missing. */
static void test_hole_in_a_body(void **state)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n";
	struct bench b;

	(void)state;
	bench_open(&b);
	send_conn(&b, CLIENT, 4000, 80);
	for (int i = 0; i < 3; i++) {
		send_text(&b, CLIENT, CALL_TX, REQUEST);
		send_part(&b, CLIENT, CALL_RX, head, 500000);
		send_part(&b, CLIENT, CALL_RX, "", 500000 + (uint32_t)strlen(head));
	}
	assert_int_equal(b.n, 3);
	for (size_t i = 0; i < b.n; i++) {
		assert_int_equal(b.calls[i].body.incomplete, 0);
		assert_int_equal(b.calls[i].body.received_bytes, 1000000 + strlen(head));
		assert_int_equal(b.calls[i].body.end, CALL_EVENT_END_DONE);
	}
	decode_set_free(b.d);
}

/* A pipeline is reported once, to be kept whole. */
static void test_pipeline(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b);
	send_conn(&b, CLIENT, 4000, 80);
	send_text(&b, CLIENT, CALL_TX, REQUEST REQUEST REQUEST);
	send_text(&b, CLIENT, CALL_RX, ANSWER ANSWER ANSWER);
	assert_int_equal(b.n, 3);
	assert_int_equal(b.n_orders, 1);
	assert_int_equal(b.calls[2].body.index, 2);
	decode_set_free(b.d);
}

/* Requests whose records were lost: their responses are reported, each once. */
static void test_responses_without_requests(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b);
	send_conn(&b, CLIENT, 4000, 80);
	send_text(&b, CLIENT, CALL_TX, REQUEST);
	send_text(&b, CLIENT, CALL_RX, ANSWER);
	b.offset[CLIENT][CALL_TX] += 2 * strlen(REQUEST);
	send_text(&b, CLIENT, CALL_RX, ANSWER ANSWER);
	b.flags = CALL_F_TURN;
	send_text(&b, CLIENT, CALL_TX, REQUEST);
	send_text(&b, CLIENT, CALL_RX, ANSWER);
	assert_int_equal(b.n, 2);
	assert_int_equal(b.lost[SONDE_LOST_NO_REQUEST], 2);
	assert_int_equal(b.lost[SONDE_LOST_CALL_MEMORY], 0);
	decode_set_free(b.d);
}

/* A broker asks what it delivers: the process that connected is the server of that call. */
static void test_pushed(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b);
	send_conn(&b, CLIENT, 4000, 4222);
	send_text(&b, CLIENT, CALL_RX, "INFO {}\r\n");
	send_text(&b, CLIENT, CALL_TX, "CONNECT {\"verbose\":false}\r\nPING\r\n");
	send_text(&b, CLIENT, CALL_RX, "PONG\r\n");
	send_text(&b, CLIENT, CALL_RX, "MSG work 1 in 2\r\nhi\r\n");
	send_text(&b, CLIENT, CALL_TX, "PUB in 3\r\nyes\r\n");
	assert_int_equal(b.n, 2);
	assert_int_equal(b.calls[0].body.side, CALL_EVENT_SIDE_CLIENT);
	assert_int_equal(b.calls[0].keys.conn.dport, 4222);
	assert_int_equal(b.calls[1].body.side, CALL_EVENT_SIDE_SERVER);
	assert_int_equal(b.calls[1].keys.conn.dport, 4000);
	assert_int_equal(b.calls[1].body.received_bytes, strlen("MSG work 1 in 2\r\nhi\r\n"));
	assert_int_equal(b.calls[1].body.sent_bytes, strlen("PUB in 3\r\nyes\r\n"));
	decode_set_free(b.d);
}

/* Without answers there are no turns: the connection is kept whole where heads do not suffice. */
static void test_unanswered(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b);
	send_conn(&b, CLIENT, 4000, 4222);
	send_text(&b, CLIENT, CALL_RX, "INFO {}\r\n");
	send_text(&b, CLIENT, CALL_TX, "CONNECT {\"verbose\":false}\r\nPING\r\n");
	send_text(&b, CLIENT, CALL_RX, "PONG\r\n");
	send_part(&b, CLIENT, CALL_TX, "PUB a 1\r\nx\r\nPUB b", 1000);
	assert_int_equal(b.n_orders, 1);
	send_text(&b, CLIENT, CALL_TX, "PUB c 1\r\nx\r\n");
	assert_int_equal(b.n, 3);
	assert_int_equal(b.calls[2].body.end, CALL_EVENT_END_ONEWAY);
	assert_int_equal(b.calls[2].body.error, 0);
	decode_set_free(b.d);
}

/* A record that does not hold what it says is refused. */
static void test_torn_records(void **state)
{
	struct call_data_rec r = { .hdr = { .len = sizeof(r), .type = CALL_REC_DATA }, .kept = 1, .size = 1 };
	struct call_conn_rec c = { .hdr = { .len = sizeof(c) - 1, .type = CALL_REC_CONN, .flags = SONDE_RF_IDENT } };
	struct bench b;

	(void)state;
	bench_open(&b);
	assert_int_equal(decode_record(b.d, &r, sizeof(r), take, &b), -EBADMSG);
	r.kept = 0;
	r.size = 1u << 31;
	assert_int_equal(decode_record(b.d, &r, sizeof(r), take, &b), -EBADMSG);
	assert_int_equal(decode_record(b.d, &c, c.hdr.len, take, &b), -EBADMSG);
	decode_set_free(b.d);
}

/* ---- parents ---- */

static void opened(struct call_links *l, uint64_t number, uint32_t tid, bool server, uint64_t header)
{
	const struct call_links_call c = {
		.number = number, .header = header, .tgid = 1, .tid = tid, .server = server,
	};

	call_links_opened(l, &c);
}

static void assert_parent(struct call_links *l, uint64_t number, enum call_event_link link, uint64_t parent)
{
	const struct call_links_parent p = call_links_ended(l, number);

	assert_int_equal(p.link, link);
	assert_int_equal(p.number, parent);
}

static void test_parents(void **state)
{
	struct call_links l = { 0 };

	(void)state;
	call_links_init(&l);
	opened(&l, 1, 5, true, 0);
	opened(&l, 2, 5, false, 0);
	opened(&l, 3, 6, false, 0);
	assert_parent(&l, 2, CALL_EVENT_LINK_THREAD, 1);
	assert_parent(&l, 3, CALL_EVENT_LINK_NONE, 0);	/* another thread */
	opened(&l, 4, 5, false, 0);
	assert_parent(&l, 1, CALL_EVENT_LINK_NONE, 0);
	assert_parent(&l, 4, CALL_EVENT_LINK_NONE, 0);	/* outlived its caller */
	opened(&l, 20, 5, true, 0);
	opened(&l, 21, 5, false, 0);
	assert_parent(&l, 20, CALL_EVENT_LINK_NONE, 0);
	opened(&l, 22, 5, true, 0);
	assert_parent(&l, 21, CALL_EVENT_LINK_NONE, 0);	/* the next one is served meanwhile */
	assert_parent(&l, 22, CALL_EVENT_LINK_NONE, 0);

	/* records that end one call and begin another may be among the lost ones */
	opened(&l, 30, 5, true, 0);
	opened(&l, 31, 5, false, 0);
	call_links_lost(&l);
	opened(&l, 32, 5, false, 0);
	assert_parent(&l, 31, CALL_EVENT_LINK_NONE, 0);
	assert_parent(&l, 32, CALL_EVENT_LINK_NONE, 0);
	call_links_lost(&l);
	opened(&l, 35, 5, true, 0);
	opened(&l, 36, 5, false, 0);
	assert_parent(&l, 36, CALL_EVENT_LINK_NONE, 0);	/* of two either may be it */
	assert_parent(&l, 30, CALL_EVENT_LINK_NONE, 0);
	assert_parent(&l, 35, CALL_EVENT_LINK_NONE, 0);
	opened(&l, 33, 5, true, 0);	/* that was not the mark of an event loop */
	opened(&l, 34, 5, false, 0);
	assert_parent(&l, 34, CALL_EVENT_LINK_THREAD, 33);
	assert_parent(&l, 33, CALL_EVENT_LINK_NONE, 0);

	/* two at once: an event loop, from then on */
	opened(&l, 10, 7, true, 0);
	opened(&l, 11, 7, true, 99);
	opened(&l, 12, 7, false, 0);
	opened(&l, 13, 7, false, 99);
	assert_parent(&l, 12, CALL_EVENT_LINK_NONE, 0);
	assert_parent(&l, 13, CALL_EVENT_LINK_HEADER, 11);
	assert_parent(&l, 10, CALL_EVENT_LINK_NONE, 0);
	assert_parent(&l, 11, CALL_EVENT_LINK_NONE, 0);
	opened(&l, 14, 7, true, 0);
	opened(&l, 15, 7, false, 0);
	assert_parent(&l, 15, CALL_EVENT_LINK_NONE, 0);
	call_links_fini(&l);
}

/* By containment: exactly one incoming call begins before the outgoing one and is open at its end. */
static void test_inferred(void **state)
{
	struct call_links l = { 0 };

	(void)state;
	call_links_init(&l);
	l.infer = true;
	opened(&l, 1, 5, true, 0);
	opened(&l, 2, 5, false, 0);
	opened(&l, 3, 6, false, 0);
	assert_parent(&l, 2, CALL_EVENT_LINK_THREAD, 1);	/* what is certain stays so */
	assert_parent(&l, 3, CALL_EVENT_LINK_INFERRED, 1);
	opened(&l, 4, 6, false, 0);
	opened(&l, 5, 7, true, 0);	/* behind it */
	opened(&l, 6, 6, false, 0);
	assert_parent(&l, 4, CALL_EVENT_LINK_INFERRED, 1);
	assert_parent(&l, 6, CALL_EVENT_LINK_NONE, 0);	/* of two either may be it */
	opened(&l, 7, 6, false, 0);
	opened(&l, 8, 6, false, 0);
	assert_parent(&l, 1, CALL_EVENT_LINK_NONE, 0);
	assert_parent(&l, 7, CALL_EVENT_LINK_INFERRED, 5);
	assert_parent(&l, 5, CALL_EVENT_LINK_NONE, 0);
	assert_parent(&l, 8, CALL_EVENT_LINK_NONE, 0);	/* outlived them */
	assert_int_equal(l.processes.len, 0);
	call_links_fini(&l);
}

/* Nothing is inferred while a process has more incoming calls than are kept. */
static void test_inferred_of_few(void **state)
{
	struct call_links l = { 0 };

	(void)state;
	call_links_init(&l);
	l.infer = true;
	for (uint64_t n = 1; n <= 40; n++)
		opened(&l, n, 5, true, 0);
	for (uint64_t n = 1; n < 40; n++)
		call_links_ended(&l, n);
	opened(&l, 50, 6, false, 0);
	assert_parent(&l, 50, CALL_EVENT_LINK_NONE, 0);	/* its caller is not among those kept */
	call_links_ended(&l, 40);
	assert_int_equal(l.processes.len, 0);
	opened(&l, 60, 5, true, 0);
	opened(&l, 61, 6, false, 0);
	assert_parent(&l, 61, CALL_EVENT_LINK_INFERRED, 60);
	call_links_fini(&l);
}

#define MANY 65536u	/* connections that are kept */

struct counts {
	uint32_t done;		/* whole ones */
	uint32_t shown;
	uint64_t lost;		/* reported as missing */
};

static int count(void *ctx, struct event *ev)
{
	const struct call_event_body *b = ev->body;
	struct counts *n = ctx;

	n->shown += ev->desc == &call_event_end;
	n->done += ev->desc == &call_event_end && b->end == CALL_EVENT_END_DONE && !b->incomplete;
	if (ev->desc != &core_lost_desc)
		return 0;
	assert_int_equal(((const struct core_lost *)ev->body)->cause, SONDE_LOST_CALL_MEMORY);
	n->lost += ((const struct core_lost *)ev->body)->count;
	return 0;
}

/* The same bytes on each connection. */
static void send_many(struct bench *b, unsigned dir, const char *text, struct counts *n)
{
	struct {
		struct call_data_rec rec;
		char bytes[1024];
	} r = { .rec = { .hdr = { .type = CALL_REC_DATA, .tgid = 1, .tid = 1 },
			 .offset = b->offset[0][dir], .dir = (uint8_t)dir } };
	const size_t len = strlen(text);

	assert_true(len <= sizeof(r.bytes));
	memcpy(r.bytes, text, len);
	r.rec.size = (uint32_t)len;
	r.rec.kept = (uint16_t)len;
	r.rec.hdr.len = (uint32_t)(sizeof(r.rec) + len);
	for (r.rec.cookie = 1; r.rec.cookie <= MANY; r.rec.cookie++) {
		r.rec.hdr.ts_ns = ++b->now_ns;
		assert_int_equal(decode_record(b->d, &r, r.rec.hdr.len, count, n), 0);
	}
	b->offset[0][dir] += len;
}

/* Half a request on each of many connections: 64 MiB at most. All calls are shown, or reported as lost. */
static void test_many_connections(void **state)
{
	static const char answer[] = "HTTP/1.1 204 \r\n\r\n", cookie[] = " HTTP/1.1\r\nCookie: ";

	(void)state;
	for (int usual = 0; usual < 2; usual++) {
		const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
		struct counts n = { 0 };
		char half[900] = "GET /";
		struct bench b;

		bench_open(&b);
		memset(half + strlen(half), 'x', sizeof(half) - 1 - strlen(half));
		if (usual)
			memcpy(half + 32, cookie, strlen(cookie));
		send_many(&b, CALL_RX, "GET /first HTTP/1.1\r\n\r\n", &n);
		send_many(&b, CALL_TX, answer, &n);
		assert_int_equal(n.done, MANY);
		send_many(&b, CALL_RX, half, &n);
		assert_true(mallinfo2().uordblks + mallinfo2().hblkhd - before <= 64u << 20);
		send_many(&b, CALL_RX, usual ? "\r\n\r\n" : " HTTP/1.1\r\n\r\n", &n);
		assert_true(mallinfo2().uordblks + mallinfo2().hblkhd - before <= 64u << 20);
		send_many(&b, CALL_TX, answer, &n);
		assert_int_equal(n.shown + n.lost, 2 * MANY);
		assert_int_equal(usual ? n.done : n.lost > 0, usual ? 2 * MANY : 1);
		decode_set_free(b.d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ends), cmocka_unit_test(test_ordinals),      cmocka_unit_test(test_names),
		cmocka_unit_test(test_secrets),	       cmocka_unit_test(test_passwords),
		cmocka_unit_test(test_hole_in_a_body), cmocka_unit_test(test_pipeline),
		cmocka_unit_test(test_responses_without_requests),
		cmocka_unit_test(test_pushed),	       cmocka_unit_test(test_unanswered),
		cmocka_unit_test(test_torn_records),   cmocka_unit_test(test_parents),
		cmocka_unit_test(test_inferred),       cmocka_unit_test(test_inferred_of_few),
		cmocka_unit_test(test_queue),	       cmocka_unit_test(test_many_connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
