// SPDX-License-Identifier: GPL-2.0-or-later
/* Calls put together from events of made-up types that have the fields of the real ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "event/event.h"
#include "sonde/ident_wire.h"
#include "sonde/wire.h"
#include "trace/trace.h"
#include "trace/trace_explain.h"
#include "trace/trace_text.h"

#define MS 1000000ull
#define CLIENT 10u
#define FRONT 20u
#define BACK 30u

struct body {
	char side[8], name[16], status[8], syscall[16], state[12], kind[12], waker[12], cgroup[12];
	uint64_t opened, latency, value, wait, waker_pid, waker_tid, quota, period;
	int64_t ret;
	uint8_t error;
};

#define ROW(member, word, kind) FIELD_ROW(struct body, member, word, kind, "")

static const struct field call_fields[] = {
	ROW(side, "rpc.side", FIELD_STR), ROW(name, "rpc.name", FIELD_STR), ROW(status, "rpc.status", FIELD_STR),
	ROW(opened, "rpc.opened", FIELD_NS), ROW(latency, "rpc.latency", FIELD_NS),
	ROW(error, "rpc.error", FIELD_BOOL),
};
static const struct field syscall_fields[] = {
	ROW(syscall, "syscall.name", FIELD_STR), ROW(ret, "syscall.ret", FIELD_INT),
	ROW(latency, "syscall.latency", FIELD_NS),
};
static const struct field wait_fields[] = {
	ROW(value, "stack.value", FIELD_NS), ROW(wait, "stack.wait", FIELD_NS), ROW(state, "stack.state", FIELD_STR),
	ROW(kind, "block.kind", FIELD_STR), ROW(waker_pid, "block.waker.pid", FIELD_UINT),
	ROW(waker_tid, "block.waker.tid", FIELD_UINT),
	ROW(waker, "block.waker.name", FIELD_STR), ROW(cgroup, "block.quota.cgroup", FIELD_STR),
	ROW(quota, "block.quota.time", FIELD_NS), ROW(period, "block.quota.period", FIELD_NS),
};

#define DESC(name_, fields_) \
	{ .name = (name_), .class = EVENT_DATA, .fields = (fields_), .n_fields = ARRAY_SIZE(fields_), \
	  .body_size = sizeof(struct body) }

static const struct event_desc call_desc = DESC("rpc.call", call_fields);
static const struct event_desc syscall_desc = DESC("sys.exit", syscall_fields);
static const struct event_desc wait_desc = DESC("cpu.block", wait_fields);
static const struct event_desc packet_desc = {
	.name = "net.trace", .class = EVENT_DATA, .body_size = sizeof(struct body), .sections = 1u << SEC_PACKET,
};

#define IP_BYTES 20u
#define TCP_BYTES 20u

struct packet_bytes {
	struct sec_packet head;
	uint8_t data[IP_BYTES + TCP_BYTES];
};

/* Events of a test, fed in any order. */
struct feed {
	struct event events[256];
	struct body bodies[256];
	struct packet_bytes packets[8];
	size_t n, n_packets;
};

static struct event *add(struct feed *f, const struct event_desc *d, uint32_t pid, uint32_t tid, uint64_t ts_ns)
{
	struct event *ev = &f->events[f->n];

	assert_true(f->n < ARRAY_SIZE(f->events));
	*ev = (struct event){ .desc = d, .ts_ns = ts_ns, .seq = f->n + 1, .start_ns = pid * 7, .tgid = pid,
			      .tid = tid, .body = &f->bodies[f->n], .body_len = sizeof(struct body) };
	f->n++;
	return ev;
}

static struct body *body(const struct event *ev)
{
	return (struct body *)(uintptr_t)ev->body;
}

static struct event *call(struct feed *f, const char *side, uint32_t pid, uint16_t port, uint32_t stream,
			  uint64_t from_ns, uint64_t to_ns)
{
	struct event *ev = add(f, &call_desc, pid, pid, to_ns);
	struct conn *c = &ev->keys.conn;

	strcpy(body(ev)->side, side);
	strcpy(body(ev)->name, port == 1 ? "Front/Put" : "Back/Get");
	strcpy(body(ev)->status, "OK");
	body(ev)->opened = from_ns;
	body(ev)->latency = to_ns - from_ns;
	c->saddr.family = c->daddr.family = 4;
	c->sport = (uint16_t)(1000 + port);
	c->dport = port;
	c->proto = IPPROTO_TCP;
	ev->keys.rpc_stream = stream;
	ev->keys.cookie = pid * 100u + port;
	return ev;
}

static void syscall_at(struct feed *f, const char *name, const struct event *side, uint32_t tid, uint64_t from_ns,
		       uint64_t to_ns, uint8_t flags, uint32_t seq)
{
	struct event *ev = add(f, &syscall_desc, side->tgid, tid, to_ns);

	strcpy(body(ev)->syscall, name);
	body(ev)->latency = to_ns - from_ns;
	body(ev)->ret = 50;
	ev->keys.cookie = side->keys.cookie;
	ev->keys.ident_flags = flags;
	ev->keys.seq = seq;
	ev->keys.seq_len = 50;
}

static void wait_at(struct feed *f, uint32_t pid, uint32_t tid, uint64_t from_ns, uint64_t woken_ns, uint64_t to_ns)
{
	struct event *ev = add(f, &wait_desc, pid, tid, to_ns);

	strcpy(body(ev)->state, "sleeping");
	strcpy(body(ev)->kind, "poll");
	strcpy(body(ev)->waker, "timer");
	body(ev)->value = to_ns - from_ns;
	body(ev)->wait = to_ns - woken_ns;
}

/* A client's call of 10 ms; the front asks the back from 2 to 8 ms, which sleeps from 4 to 6. */
static void make_chain(struct feed *f)
{
	struct event *c = call(f, "client", CLIENT, 1, 1, 100 * MS, 110 * MS);
	struct event *s = call(f, "server", FRONT, 1, 1, 101 * MS, 109 * MS);
	struct event *c2 = call(f, "client", FRONT, 2, 3, 102 * MS, 108 * MS);
	struct event *s2 = call(f, "server", BACK, 2, 3, 103 * MS, 107 * MS);

	syscall_at(f, "write", c, 11, 100 * MS + 100, 100 * MS + 200, SONDE_ID_F_TX, 1000);
	syscall_at(f, "read", s, 21, 100 * MS + 700, 100 * MS + 900, SONDE_ID_F_RX, 1000);
	syscall_at(f, "write", s2, 31, 107 * MS + 10, 107 * MS + 20, SONDE_ID_F_TX, 77);
	syscall_at(f, "read", c2, 21, 107 * MS + 40, 107 * MS + 60, SONDE_ID_F_RX, 77);
	wait_at(f, BACK, 31, 104 * MS, 106 * MS, 106 * MS + 500);
	wait_at(f, CLIENT, 12, 90 * MS, 110 * MS, 110 * MS + 1);
	wait_at(f, FRONT, 21, 90 * MS, 100 * MS + 600, 100 * MS + 650);
}

/* A call of 10 ms at a server whose thread 21 reads, works and writes; returns the server's side. */
static struct event *make_threaded(struct feed *f)
{
	struct event *c = call(f, "client", CLIENT, 1, 1, 100 * MS, 110 * MS);
	struct event *s = call(f, "server", FRONT, 1, 1, 101 * MS, 109 * MS);

	syscall_at(f, "write", c, 11, 100 * MS + 100, 100 * MS + 200, SONDE_ID_F_TX, 1000);
	syscall_at(f, "read", s, 21, 90 * MS, 100 * MS + 900, SONDE_ID_F_RX, 1000);
	wait_at(f, FRONT, 21, 90 * MS, 100 * MS + 700, 100 * MS + 800);
	syscall_at(f, "write", s, 21, 109 * MS + 10, 109 * MS + 20, SONDE_ID_F_TX, 77);
	syscall_at(f, "read", c, 11, 109 * MS + 40, 109 * MS + 60, SONDE_ID_F_RX, 77);
	return s;
}

static struct body *kind_at(struct feed *f, uint32_t tid, const char *state, const char *kind, uint64_t from_ns,
			    uint64_t to_ns)
{
	struct body *b;

	wait_at(f, FRONT, tid, from_ns, to_ns, to_ns);
	b = body(&f->events[f->n - 1]);
	strcpy(b->state, state);
	strcpy(b->kind, kind);
	return b;
}

struct taken {
	unsigned calls;
	struct buf json, text;
	uint64_t sum, latency, sleeping, ambiguous, ignored;
	size_t rows;
	bool evicted, gap;
	uint8_t how[TRACE_ROWS_MAX];
};

static bool want_named(void *ctx, const struct event *ev, const struct trace_fact *f)
{
	(void)ctx;
	return !strcmp(body(ev)->side, "client") && !strcmp(body(ev)->name, "Front/Put") && f->of_call.id;
}

static int take(void *ctx, const struct trace_call *c)
{
	struct taken *t = ctx;
	uint64_t at = c->begin_ns;

	t->calls++;
	t->latency += c->end_ns - c->begin_ns;
	t->rows = c->n_rows;
	t->ambiguous += c->ambiguous;
	t->ignored += c->ignored;
	t->evicted |= c->evicted;
	for (size_t i = 0; i < c->n_rows; i++)
		t->how[i] = c->rows[i].how;
	for (size_t i = 0; i < c->n_segs; i++) {
		t->gap |= c->segs[i].from_ns != at || c->segs[i].to_ns <= at;
		at = c->segs[i].to_ns;
		t->sum += c->segs[i].to_ns - c->segs[i].from_ns;
		if (c->segs[i].state == TRACE_STATE_SLEEPING)
			t->sleeping += c->segs[i].to_ns - c->segs[i].from_ns;
	}
	t->gap |= at != c->end_ns;
	assert_int_equal(trace_json(c, 0, false, &t->json), 0);
	assert_int_equal(trace_text(c, 80, &t->text), 0);
	return trace_text(c, 160, &t->text);
}

/* Feeds the events in the order of @order (NULL: as they are). */
static void fold(const struct feed *f, const unsigned *order, size_t budget, struct taken *ret)
{
	const struct trace_opts opts = { .budget_bytes = budget, .want = want_named, .take = take, .ctx = ret };
	struct trace *t = trace_new(&opts);

	assert_non_null(t);
	for (size_t i = 0; i < f->n; i++)
		assert_int_equal(trace_add(t, &f->events[order ? order[i] : i]), 0);
	assert_int_equal(trace_end(t), 0);
	trace_free(t);
}

static void fini(struct taken *t)
{
	buf_fini(&t->json);
	buf_fini(&t->text);
}

static void test_chain(void **state)
{
	struct feed *f = calloc(1, sizeof(*f));
	struct taken t = { 0 };

	(void)state;
	make_chain(f);
	fold(f, NULL, 0, &t);
	assert_int_equal(t.calls, 1);
	assert_int_equal(t.rows, 4);
	assert_int_equal(t.how[1], TRACE_HOW_TUPLE);
	assert_int_equal(t.how[2], TRACE_HOW_TIME);
	assert_int_equal(t.how[3], TRACE_HOW_TUPLE);
	assert_false(t.gap);
	assert_int_equal(t.sum, 10 * MS);
	assert_int_equal(t.latency, 10 * MS);
	assert_int_equal(t.sleeping, 2 * MS);
	fini(&t);
	free(f);
}

/* One call's events in any order within the slack give the same bytes. */
static void test_any_order(void **state)
{
	struct feed *f = calloc(1, sizeof(*f));
	struct taken first = { 0 };
	unsigned order[256], seed = 1;

	(void)state;
	make_chain(f);
	fold(f, NULL, 0, &first);
	for (unsigned i = 0; i < f->n; i++)
		order[i] = i;
	for (unsigned round = 0; round < 200; round++) {
		struct taken t = { 0 };

		for (size_t i = f->n - 1; i; i--) {
			seed = seed * 1103515245 + 12345;
			unsigned j = (seed >> 8) % (unsigned)(i + 1), swapped = order[i];

			order[i] = order[j];
			order[j] = swapped;
		}
		fold(f, order, 0, &t);
		assert_string_equal(buf_str(&t.json), buf_str(&first.json));
		assert_string_equal(buf_str(&t.text), buf_str(&first.text));
		fini(&t);
	}
	fini(&first);
	free(f);
}

/* A child that two calls of the server contain is neither's; with the number of its call it is that one's. */
static void test_ambiguous(void **state)
{
	struct feed *f = calloc(1, sizeof(*f));
	struct taken t = { 0 };
	struct event *child;

	(void)state;
	make_chain(f);
	call(f, "server", FRONT, 5, 9, 100 * MS, 120 * MS);
	fold(f, NULL, 0, &t);
	assert_int_equal(t.rows, 2);
	assert_int_equal(t.ambiguous, 1);
	assert_int_equal(t.sum, 10 * MS);
	fini(&t);
	t = (struct taken){ 0 };
	f->events[1].keys.call = 4711;
	child = &f->events[2];
	child->keys.call = 4711;
	fold(f, NULL, 0, &t);
	assert_int_equal(t.rows, 4);
	assert_int_equal(t.ambiguous, 0);
	assert_int_equal(t.how[2], TRACE_HOW_CALL);
	fini(&t);
	free(f);
}

/* A client whose write returned late began behind its server: still one call, with the latency that it saw. */
static void test_early_server(void **state)
{
	struct feed *f = calloc(1, sizeof(*f));
	struct taken t = { 0 };

	(void)state;
	call(f, "server", FRONT, 1, 5, 91 * MS, 92 * MS);
	call(f, "client", CLIENT, 1, 5, 90 * MS, 93 * MS);
	call(f, "server", FRONT, 1, 5, 100 * MS, 101 * MS);
	call(f, "client", CLIENT, 1, 5, 102 * MS, 104 * MS);
	fold(f, NULL, 0, &t);
	assert_int_equal(t.calls, 2);
	assert_int_equal(t.rows, 2);
	assert_int_equal(t.sum, t.latency);
	fini(&t);
	free(f);
}

/* Without the other side, with a child beyond its parent, with times that cannot be: sums stay exact. */
static void test_hostile(void **state)
{
	struct feed *f = calloc(1, sizeof(*f));
	struct taken t = { 0 };
	struct event *ev;

	(void)state;
	ev = call(f, "client", CLIENT, 1, 1, 100 * MS, 110 * MS);
	syscall_at(f, "write", ev, 11, 100 * MS + 100, 100 * MS + 200, SONDE_ID_F_TX, UINT32_MAX - 10);
	syscall_at(f, "read", ev, 11, 109 * MS, 109 * MS, SONDE_ID_F_RX, 0);
	wait_at(f, CLIENT, 11, 0, 300 * MS, 400 * MS);
	body(&f->events[f->n - 1])->value = UINT64_MAX;
	body(&f->events[f->n - 1])->wait = UINT64_MAX;
	ev = call(f, "client", CLIENT, 1, 3, 200 * MS, 200 * MS);
	ev = call(f, "client", CLIENT, 1, 5, 0, 210 * MS);
	body(ev)->opened = UINT64_MAX;
	ev = call(f, "", CLIENT, 1, 5, 0, 210 * MS);
	fold(f, NULL, 0, &t);
	assert_int_equal(t.calls, 3);
	assert_int_equal(t.sum, t.latency);
	fini(&t);
	t = (struct taken){ 0 };
	f->n = 0;
	memset(f->bodies, 0, sizeof(f->bodies));
	make_chain(f);
	f->events[2].keys.call = f->events[1].keys.call = 4711;
	f->events[2].ts_ns = 300 * MS;	/* the child outlives its parent */
	fold(f, NULL, 0, &t);
	assert_int_equal(t.sum, 10 * MS);
	assert_int_equal(t.rows, 4);
	fini(&t);
	free(f);
}

/* Facts beyond the budget leave; a call whose begin they belong to says so. */
static void test_budget(void **state)
{
	struct feed *f = calloc(1, sizeof(*f));
	const struct trace_opts opts = { .budget_bytes = 1, .want = want_named, .take = take };
	struct taken t = { 0 };
	struct trace_opts mine = opts;
	struct trace *fold_;

	(void)state;
	mine.ctx = &t;
	fold_ = trace_new(&mine);
	assert_non_null(fold_);
	wait_at(f, BACK, 31, 100 * MS, 100 * MS + 10, 100 * MS + 20);
	for (unsigned i = 0; i < 5000; i++)
		assert_int_equal(trace_add(fold_, &f->events[0]), 0);
	call(f, "client", CLIENT, 1, 1, 100 * MS, 110 * MS);
	assert_int_equal(trace_add(fold_, &f->events[1]), 0);
	assert_int_equal(trace_end(fold_), 0);
	assert_true(trace_evicted(fold_) >= 5001 - 1024);
	assert_true(t.evicted && t.calls == 1 && t.sum == 10 * MS);
	trace_free(fold_);
	fini(&t);
	free(f);
}

static bool has(struct taken *t, const char *text)
{
	return strstr(buf_str(&t->json), text) != NULL;
}

/* Waits of the thread that carries the call: their kind, and who else has a part in it. */
static void test_causes(void **state)
{
	static const struct { const char *state, *kind, *cause; } rows[] = {
		{ "disk", "disk", "disk" }, { "disk", "page-fault", "page fault" },
		{ "disk", "reclaim", "memory reclaim" }, { "disk", "lock", "kernel lock" },
		{ "stopped", "stopped", "stopped" }, { "sleeping", "connect", "connect" },
		{ "sleeping", "timer", "wait" }, { "sleeping", "futex", "wait" },
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct feed *f = calloc(1, sizeof(*f));
		struct taken t = { 0 };

		make_threaded(f);
		kind_at(f, 21, rows[i].state, rows[i].kind, 103 * MS, 105 * MS);
		fold(f, NULL, 0, &t);
		snprintf(text, sizeof(text), "\"from\":%llu,\"to\":%llu,", 103 * MS, 105 * MS);
		assert_true(has(&t, text));
		snprintf(text, sizeof(text), "\"cause\":\"%s\"", rows[i].cause);
		assert_true(has(&t, text));
		assert_int_equal(t.sum, 10 * MS);
		fini(&t);
		free(f);
	}
}

/* A futex of the same process is a lock, with what its holder did; waiting for quota differs from a run queue. */
static void test_lock_and_quota(void **state)
{
	struct feed *f = calloc(1, sizeof(*f));
	struct taken t = { 0 };
	struct body *b;

	(void)state;
	make_threaded(f);
	b = kind_at(f, 21, "sleeping", "futex", 103 * MS, 105 * MS);
	b->waker_pid = FRONT;
	b->waker_tid = 22;
	strcpy(b->waker, "keeper");
	for (uint64_t at_ns = 103 * MS; at_ns < 105 * MS; at_ns += MS / 4) /* none of them longer than half */
		kind_at(f, 22, "disk", "disk", at_ns, at_ns + MS / 5);
	b = kind_at(f, 21, "runnable", "throttled", 106 * MS, 108 * MS);
	b->wait = b->value;
	b->quota = 10 * MS;
	b->period = 100 * MS;
	strcpy(b->cgroup, "/web");
	fold(f, NULL, 0, &t);
	assert_true(has(&t, "\"cause\":\"lock\",\"detail\":\"disk\",\"woken_by\":\"keeper\""));
	assert_true(has(&t, "\"cause\":\"throttled\",\"detail\":\"/web, 10 ms per 100 ms\""));
	assert_int_equal(t.sum, 10 * MS);
	fini(&t);
	free(f);
}

/* A reader that waits since before the call does not carry it: the bytes are on their way until it is woken. */
static void test_waiting_reader(void **state)
{
	struct feed *f = calloc(1, sizeof(*f));
	struct taken t = { 0 };
	char text[64];

	(void)state;
	make_threaded(f);
	fold(f, NULL, 0, &t);
	snprintf(text, sizeof(text), "\"from\":%llu,\"to\":%llu,", 100 * MS + 200, 100 * MS + 700);
	assert_true(has(&t, text));
	assert_true(has(&t, "\"cause\":\"network\""));
	assert_int_equal(t.sleeping, 0);
	fini(&t);
	free(f);
}

static void put_be16(uint8_t *to, unsigned v)
{
	to[0] = (uint8_t)(v >> 8);
	to[1] = (uint8_t)v;
}

/* An acknowledgement with @len bytes from @seq on, between the ends of @call. */
static void packet_at(struct feed *f, const struct event *call, bool by_client, enum packet_direction dir,
		      uint64_t ts_ns, unsigned seq, unsigned len, unsigned window)
{
	struct event *ev = add(f, &packet_desc, 0, 0, ts_ns);
	struct packet_bytes *p = &f->packets[f->n_packets++];
	const struct conn *c = &call->keys.conn;
	uint8_t *tcp = p->data + IP_BYTES;

	assert_true(f->n_packets <= ARRAY_SIZE(f->packets));
	*p = (struct packet_bytes){ .head = { .link = SONDE_LINK_RAW, .orig_len = sizeof(p->data) + len,
					      .cap_len = sizeof(p->data), .ifindex = 1, .direction = dir } };
	p->data[0] = 0x45;
	put_be16(p->data + 2, p->head.orig_len);
	p->data[8] = 64;
	p->data[9] = IPPROTO_TCP;
	put_be16(tcp, by_client ? c->sport : c->dport);
	put_be16(tcp + 2, by_client ? c->dport : c->sport);
	put_be16(tcp + 6, seq);
	tcp[12] = 0x50;
	tcp[13] = 0x10;
	put_be16(tcp + 14, window);
	assert_int_equal(event_add_section(ev, SEC_PACKET, p, sizeof(*p)), 0);
}

/* A request that leaves 2.8 ms after its write, behind an acknowledgement; @window: of the one before it. */
static void held_back(unsigned window, struct taken *t)
{
	struct feed *f = calloc(1, sizeof(*f));
	struct event *c = call(f, "client", CLIENT, 1, 1, 100 * MS, 110 * MS);
	struct event *s = call(f, "server", FRONT, 1, 1, 104 * MS, 109 * MS);

	syscall_at(f, "write", c, 11, 100 * MS + 100, 100 * MS + 200, SONDE_ID_F_TX, 1000);
	syscall_at(f, "read", s, 21, 103 * MS + 300, 103 * MS + 400, SONDE_ID_F_RX, 1000);
	syscall_at(f, "write", s, 21, 109 * MS + 10, 109 * MS + 20, SONDE_ID_F_TX, 77);
	syscall_at(f, "read", c, 11, 109 * MS + 40, 109 * MS + 60, SONDE_ID_F_RX, 77);
	packet_at(f, c, false, PACKET_DIR_OUT, 99 * MS, 76, 0, window);
	packet_at(f, c, false, PACKET_DIR_OUT, 103 * MS - 100, 77, 0, 500);
	packet_at(f, c, true, PACKET_DIR_OUT, 103 * MS, 1000, 50, 500);
	packet_at(f, c, true, PACKET_DIR_IN, 103 * MS + 100, 1000, 50, 500);
	fold(f, NULL, 0, t);
	free(f);
}

/* Bytes that TCP holds back are not time of the thread that wrote them. */
static void test_held_back(void **state)
{
	struct taken closed = { 0 }, open = { 0 };
	char text[64];

	(void)state;
	held_back(0, &closed);
	held_back(500, &open);
	snprintf(text, sizeof(text), "\"from\":%llu,\"to\":%llu,", 100 * MS + 200, 103 * MS);
	assert_true(has(&closed, text) && has(&open, text));
	assert_true(has(&closed, "\"cause\":\"zero window\",\"known_by\""));
	assert_true(has(&open, "\"cause\":\"network\",\"held\":\"held back until an acknowledgement\""));
	assert_non_null(strstr(buf_str(&open.text), ": network, held back until an acknowledgement (event "));
	assert_int_equal(closed.sum, 10 * MS);
	fini(&closed);
	fini(&open);
}

/* 200 calls of 5 ms and a little; every tenth has @runq_ns more in the run queue. */
static void explain(unsigned n, uint64_t runq_ns, struct buf *out)
{
	struct trace_explain *e = trace_explain_new(false);

	assert_non_null(e);
	for (unsigned i = 0; i < n; i++) {
		uint64_t cpu_ns = 5 * MS + i % 7 * 1000, all_ns = cpu_ns + (i % 10 == 9 ? runq_ns : 0) + 1000;
		const struct trace_row row = { .call = { .of_call = { .id = i + 1, .side = TRACE_SIDE_SERVER } } };
		const struct trace_segment segs[] = {
			{ .from_ns = 0, .to_ns = cpu_ns, .cause = TRACE_CAUSE_CPU },
			{ .from_ns = cpu_ns, .to_ns = all_ns, .cause = TRACE_CAUSE_RUNQ },
		};
		const struct trace_call c = { .rows = &row, .n_rows = 1, .segs = segs, .n_segs = 2,
					      .end_ns = all_ns };

		assert_int_equal(trace_explain_add(e, &c), 0);
		assert_int_equal(trace_explain_add(e, &c), 0); /* its other side */
	}
	assert_int_equal(trace_explain_print(e, true, out), 0);
	trace_explain_free(e);
}

/* The run queue of one process is named as that, and not a second time as that of all. */
static void test_explain_one_run_queue(void **state)
{
	struct trace_explain *e = trace_explain_new(false);
	struct buf out = { 0 };

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		uint64_t more_ns = i % 10 == 9 ? 4 * MS : 0, cpu_ns = 5 * MS + i % 7 * 1000;
		const struct trace_row row = { .call = { .of_call = { .id = i + 1, .side = TRACE_SIDE_SERVER } } };
		const struct trace_segment segs[] = {
			{ .to_ns = cpu_ns, .cause = TRACE_CAUSE_CPU },
			{ .from_ns = cpu_ns, .to_ns = cpu_ns + more_ns, .cause = TRACE_CAUSE_RUNQ },
		};
		const struct trace_call c = { .rows = &row, .n_rows = 1, .segs = segs, .n_segs = 2,
					      .end_ns = cpu_ns + more_ns };

		assert_int_equal(trace_explain_add(e, &c), 0);
	}
	assert_int_equal(trace_explain_print(e, true, &out), 0);
	assert_non_null(strstr(buf_str(&out), "\"cause\":\": run queue\""));
	assert_null(strstr(buf_str(&out), "all processes"));
	trace_explain_free(e);
	buf_fini(&out);
}

/* A cause of two of ten slow calls is not certain; it is shown as the largest of the others, and the sum closes. */
static void test_explain_others(void **state)
{
	struct trace_explain *e = trace_explain_new(false);
	struct buf text = { 0 }, json = { 0 };

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		uint64_t runq_ns = i % 20 == 19 ? 20 * MS : 0, disk_ns = i % 100 == 99 ? 40 * MS : 0;
		uint64_t cpu_ns = 5 * MS, end_ns = cpu_ns + runq_ns + disk_ns;
		const struct trace_row row = { .call = { .of_call = { .id = i + 1, .side = TRACE_SIDE_SERVER } } };
		const struct trace_segment segs[] = {
			{ .to_ns = cpu_ns, .cause = TRACE_CAUSE_CPU },
			{ .from_ns = cpu_ns, .to_ns = cpu_ns + runq_ns, .cause = TRACE_CAUSE_RUNQ },
			{ .from_ns = cpu_ns + runq_ns, .to_ns = end_ns, .cause = TRACE_CAUSE_DISK },
		};
		const struct trace_call c = {
			.rows = &row, .n_rows = 1, .segs = segs, .n_segs = 3, .end_ns = end_ns
		};

		assert_int_equal(trace_explain_add(e, &c), 0);
	}
	assert_int_equal(trace_explain_print(e, false, &text), 0);
	assert_int_equal(trace_explain_print(e, true, &json), 0);
	assert_non_null(strstr(buf_str(&text), "     20.000 ms  71.4%  : run queue\n"));
	assert_non_null(strstr(buf_str(&text), "      8.000 ms  28.6%  other causes, none certain\n"
					       "      largest:  serves : disk, between 0.000 and "));
	assert_non_null(strstr(buf_str(&json), "\"other_ns\":8000000,\"unknown_ns\":0"));
	trace_explain_free(e);
	buf_fini(&text);
	buf_fini(&json);
}

static int add_explained(void *ctx, const struct trace_call *c)
{
	return trace_explain_add(ctx, c);
}

/* Failed calls show how. */
static void test_explain_statuses(void **state)
{
	static const char *const statuses[] = { "OK", "503", "OK", "503", "500", "OK", "OK" };
	struct feed *f = calloc(1, sizeof(*f));
	struct trace_explain *e = trace_explain_new(false);
	const struct trace_opts opts = { .want = want_named, .take = add_explained, .ctx = e };
	struct trace *t = trace_new(&opts);
	struct buf out = { 0 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct event *ev = call(f, "client", CLIENT, 1, i, (100 + i) * MS, (101 + i) * MS);

		strcpy(body(ev)->status, statuses[i]);
		body(ev)->error = statuses[i][0] == '5';
		assert_int_equal(trace_add(t, ev), 0);
	}
	assert_int_equal(trace_end(t), 0);
	assert_int_equal(trace_explain_print(e, false, &out), 0);
	assert_non_null(strstr(buf_str(&out), "Front/Put: 7 calls, 3 failed (2 503, 1 500): too few calls"));
	trace_free(t);
	trace_explain_free(e);
	buf_fini(&out);
	free(f);
}

static void test_explain(void **state)
{
	struct buf slow = { 0 }, again = { 0 }, healthy = { 0 }, few = { 0 };

	(void)state;
	explain(200, 20 * MS, &slow);
	explain(200, 20 * MS, &again);
	explain(200, 0, &healthy);
	explain(19, 20 * MS, &few);
	assert_non_null(strstr(buf_str(&slow), "\"calls\":200,"));
	assert_non_null(strstr(buf_str(&slow),
			       "\"causes\":[{\"cause\":\": run queue\",\"why\":[],\"more_ns\":20000000,"));
	assert_string_equal(buf_str(&slow), buf_str(&again));
	assert_non_null(strstr(buf_str(&healthy), "nothing stands out\",\"causes\":[]"));
	assert_non_null(strstr(buf_str(&few), "too few calls\",\"causes\":[]"));
	buf_fini(&slow);
	buf_fini(&again);
	buf_fini(&healthy);
	buf_fini(&few);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain),	  cmocka_unit_test(test_any_order), cmocka_unit_test(test_ambiguous),
		cmocka_unit_test(test_early_server),
		cmocka_unit_test(test_hostile), cmocka_unit_test(test_budget),
		cmocka_unit_test(test_explain),
		cmocka_unit_test(test_explain_others),	  cmocka_unit_test(test_causes),
		cmocka_unit_test(test_lock_and_quota), cmocka_unit_test(test_waiting_reader),
		cmocka_unit_test(test_explain_one_run_queue), cmocka_unit_test(test_held_back),
		cmocka_unit_test(test_explain_statuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
