// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "bus/bus.h"
#include "event/codec.h"
#include "event/core.h"
#include "event/filter.h"

/* What a subscriber got, in a line: "1 2 lost:3@4 7". */
struct client {
	struct sub *sub;
	struct bus *bus;	/* to publish from inside, see echo() */
	struct buf log;
	unsigned fail_at;	/* this call, counted from 1, returns -EPIPE */
	unsigned calls;
	bool leave;		/* unsubscribes in its next call */
	int closed;
};

static struct registry *reg;

static int setup(void **state)
{
	(void)state;
	reg = registry_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	registry_free(reg);
	return 0;
}

static int got(void *ctx, const struct event *ev)
{
	struct client *c = ctx;
	const struct core_lost *lost = ev->body;

	buf_add_str(&c->log, c->log.len ? " " : "");
	if (ev->desc->type == SONDE_EV_LOST && lost->cause == SONDE_LOST_QUEUE)
		buf_printf(&c->log, "lost:%llu@%llu", (unsigned long long)lost->count, (unsigned long long)ev->seq);
	else
		buf_add_u64(&c->log, ev->seq);
	if (c->leave) {
		bus_unsubscribe(c->sub);
		c->sub = NULL;
	}
	return ++c->calls == c->fail_at ? -EPIPE : 0;
}

static void closed(void *ctx, int reason)
{
	struct client *c = ctx;

	c->closed = reason;
}

static void join(struct bus *b, struct client *c, size_t bytes, size_t events, const struct filter *f)
{
	struct sub_opts o = { .filter = f, .queue_bytes = bytes, .queue_events = events, .event = got,
			      .closed = closed, .ctx = c };

	c->bus = b;
	c->sub = bus_subscribe(b, &o);
	assert_non_null(c->sub);
}

static int publish_sized(struct bus *b, uint32_t len)
{
	static const char text[65536];
	struct core_name body = { .space = 1 };
	struct event ev = { .desc = registry_find(reg, SONDE_EV_NAME), .body = &body, .body_len = sizeof(body) };

	if (len)
		event_add_section(&ev, SEC_TEXT, text, len);
	return bus_publish(b, &ev);
}

static void publish(struct bus *b, unsigned n)
{
	while (n--)
		assert_int_equal(publish_sized(b, 0), 0);
}

/* The sum that must close at any time. */
static struct sub_stats balanced(const struct client *c)
{
	struct sub_stats s;

	sub_stats(c->sub, &s);
	assert_int_equal(s.published - s.filtered, s.sent + s.lost + s.queued);
	return s;
}

static void expect(struct client *c, const char *log)
{
	assert_string_equal(buf_str(&c->log), log);
	buf_reset(&c->log);
}

/* ---- tests ---- */

static void direct_subscribers_get_each_event_at_once(void **state)
{
	struct client a = { 0 }, b = { 0 };
	struct bus *bus = bus_new(reg);

	(void)state;
	join(bus, &a, 0, 0, NULL);
	publish(bus, 2);
	join(bus, &b, 0, 0, NULL);
	publish(bus, 1);
	expect(&a, "1 2 3");
	expect(&b, "3");
	assert_int_equal(balanced(&a).sent, 3);
	bus_free(bus);
	buf_fini(&a.log);
	buf_fini(&b.log);
}

static void queues_deliver_in_order_within_the_budget(void **state)
{
	struct bus *bus = bus_new(reg);
	struct client c = { 0 };

	(void)state;
	join(bus, &c, 1 << 20, 0, NULL);
	publish(bus, 200);		/* grows and wraps the ring */
	assert_int_equal(balanced(&c).queued, 200);
	assert_int_equal(sub_drain(c.sub, 3), 3);
	expect(&c, "1 2 3");
	assert_int_equal(sub_drain(c.sub, 197), 197);
	buf_reset(&c.log);
	publish(bus, 2);
	assert_int_equal(sub_drain(c.sub, 0), 2);
	expect(&c, "201 202");
	assert_int_equal(balanced(&c).queued_bytes, 0);
	assert_int_equal(sub_drain(c.sub, 0), 0);
	bus_free(bus);
	buf_fini(&c.log);
}

static void losses_are_told_where_they_happened(void **state)
{
	struct bus *bus = bus_new(reg);
	struct client c = { 0 }, other = { 0 };

	(void)state;
	join(bus, &c, 1 << 20, 3, NULL);
	join(bus, &other, 1 << 20, 0, NULL);
	publish(bus, 5);		/* 1 2 3, then 4 5 lost */
	assert_int_equal(balanced(&c).lost, 2);
	sub_drain(c.sub, 1);
	publish(bus, 2);		/* 6 fits, 7 is lost */
	sub_drain(c.sub, 0);
	expect(&c, "1 2 3 lost:2@4 6 lost:1@7");
	publish(bus, 1);
	sub_drain(c.sub, 0);
	expect(&c, "8");
	assert_int_equal(balanced(&c).sent, 5);
	assert_int_equal(balanced(&c).lost, 3);
	sub_drain(other.sub, 0);
	expect(&other, "1 2 3 4 5 6 7 8");
	bus_free(bus);
	buf_fini(&c.log);
	buf_fini(&other.log);
}

static void bytes_bound_the_queue_too(void **state)
{
	struct bus *bus = bus_new(reg);
	struct client c = { 0 };

	(void)state;
	join(bus, &c, 40000, 0, NULL);
	for (unsigned i = 0; i < 10; i++)
		publish_sized(bus, 9000);
	assert_int_equal(balanced(&c).queued, 4);
	assert_in_range(balanced(&c).queued_bytes, 36000, 40000);
	publish_sized(bus, 50000);	/* larger than the whole queue */
	publish_sized(bus, 1000);	/* this one still fits behind the loss */
	sub_drain(c.sub, 0);
	expect(&c, "1 2 3 4 lost:7@5 12");
	bus_free(bus);
	buf_fini(&c.log);
}

/* A subscriber that never drains: the other gets all, memory stays what the queue may hold. */
static void a_stopped_subscriber_harms_nobody(void **state)
{
	enum { EVENTS = 200000, BYTES = 256 << 10 };
	struct client stopped = { 0 }, busy = { 0 };
	struct bus *bus = bus_new(reg);
	size_t before, after;

	(void)state;
	join(bus, &stopped, BYTES, 0, NULL);
	join(bus, &busy, BYTES, 0, NULL);
	for (unsigned i = 0; i < 50; i++) {	/* until the stopped one is full */
		publish(bus, 100);
		sub_drain(busy.sub, 0);
		buf_reset(&busy.log);
	}
	assert_true(balanced(&stopped).lost > 0);
	before = mallinfo2().uordblks;
	for (unsigned i = 0; i < EVENTS / 100; i++) {
		publish(bus, 100);
		assert_int_equal(sub_drain(busy.sub, 0), 100);
		buf_reset(&busy.log);
	}
	after = mallinfo2().uordblks;
	assert_int_equal(balanced(&busy).lost, 0);
	assert_int_equal(balanced(&busy).sent, 5000 + EVENTS);
	assert_true(after <= before + 4096);
	assert_true(balanced(&stopped).queued_bytes <= BYTES);
	assert_int_equal(balanced(&stopped).published, 5000 + EVENTS);
	bus_free(bus);
	buf_fini(&stopped.log);
	buf_fini(&busy.log);
}

static void a_failing_subscriber_is_cut(void **state)
{
	struct client direct = { .fail_at = 2 }, queued = { .fail_at = 2 }, fine = { 0 };
	struct bus *bus = bus_new(reg);

	(void)state;
	join(bus, &direct, 0, 0, NULL);
	join(bus, &queued, 1 << 20, 0, NULL);
	join(bus, &fine, 0, 0, NULL);
	publish(bus, 4);
	assert_int_equal(direct.closed, -EPIPE);
	assert_int_equal(direct.calls, 2);
	assert_int_equal(balanced(&direct).sent, 1);
	assert_int_equal(balanced(&direct).lost, 3);
	assert_int_equal(sub_drain(queued.sub, 0), 1);
	assert_int_equal(queued.closed, -EPIPE);
	publish(bus, 1);
	assert_int_equal(balanced(&queued).sent, 1);
	assert_int_equal(balanced(&queued).lost, 4);
	assert_int_equal(balanced(&queued).queued_bytes, 0);
	expect(&fine, "1 2 3 4 5");
	bus_free(bus);
	buf_fini(&direct.log);
	buf_fini(&queued.log);
	buf_fini(&fine.log);
}

static void filters_are_per_subscriber(void **state)
{
	struct client none = { 0 }, all = { 0 };
	struct bus *bus = bus_new(reg);
	struct filter *f = NULL;
	struct core_lost body = { 0 };
	struct event meta = { .desc = &core_lost_desc, .body = &body, .body_len = sizeof(body) };

	(void)state;
	assert_int_equal(filter_parse(reg, "name.space=ksym", &f, NULL), 0);
	join(bus, &none, 1 << 20, 0, f);
	join(bus, &all, 0, 0, NULL);
	publish(bus, 3);
	bus_publish(bus, &meta);
	assert_int_equal(balanced(&none).filtered, 3);
	sub_drain(none.sub, 0);
	expect(&none, "4");
	expect(&all, "1 2 3 4");
	bus_free(bus);
	filter_free(f);
	buf_fini(&none.log);
	buf_fini(&all.log);
}

static void subscribers_may_leave_in_their_own_call(void **state)
{
	struct client direct = { .leave = true }, queued = { .leave = true }, stays = { 0 };
	struct bus *bus = bus_new(reg);

	(void)state;
	join(bus, &direct, 0, 0, NULL);
	join(bus, &queued, 1 << 20, 0, NULL);
	join(bus, &stays, 0, 0, NULL);
	publish(bus, 2);
	expect(&direct, "1");
	assert_int_equal(sub_drain(queued.sub, 0), 1);
	expect(&queued, "1");
	publish(bus, 1);
	expect(&stays, "1 2 3");
	bus_unsubscribe(NULL);
	bus_free(bus);
	buf_fini(&direct.log);
	buf_fini(&queued.log);
	buf_fini(&stays.log);
}

/* A transport takes frames as bytes; the mark of loss is a frame like any other and keeps its number once shown. */
static void transports_peek_at_frames(void **state)
{
	struct client c = { 0 };
	struct bus *bus = bus_new(reg);
	const struct core_lost *lost;
	const void *p, *again;
	struct event ev;
	size_t len;

	(void)state;
	join(bus, &c, 1 << 20, 1, NULL);
	assert_null(sub_peek(c.sub, &len));
	publish(bus, 3);
	p = sub_peek(c.sub, &len);
	assert_int_equal(event_decode(reg, p, len, &ev), len);
	assert_int_equal(ev.seq, 1);
	sub_consume(c.sub);
	p = sub_peek(c.sub, &len);
	assert_int_equal(event_decode(reg, p, len, &ev), len);
	lost = ev.body;
	assert_int_equal(lost->count, 2);
	assert_int_equal(lost->cause, SONDE_LOST_QUEUE);
	publish(bus, 2);		/* 4 fits, 5 is lost: a mark of its own */
	again = sub_peek(c.sub, &len);
	assert_ptr_equal(again, p);
	sub_consume(c.sub);
	sub_drain(c.sub, 0);
	expect(&c, "4 lost:1@5");
	assert_int_equal(balanced(&c).sent, 2);
	sub_consume(c.sub);		/* nothing there: nothing happens */
	bus_free(bus);
	buf_fini(&c.log);
}

/* One encoding, however many queues: the memory per event does not depend on the number of subscribers. */
static void queues_share_one_encoding(void **state)
{
	enum { SUBS = 8, EVENTS = 50, BYTES = 20000 };
	struct bus *bus = bus_new(reg);
	struct client c[SUBS] = { 0 };
	const void *first, *other;
	size_t before, used, len;

	(void)state;
	for (unsigned i = 0; i < SUBS; i++)
		join(bus, &c[i], 64 << 20, 0, NULL);
	before = mallinfo2().uordblks;
	for (unsigned i = 0; i < EVENTS; i++)
		publish_sized(bus, BYTES);
	used = mallinfo2().uordblks - before;
	assert_true(used < EVENTS * BYTES * 3 / 2);
	first = sub_peek(c[0].sub, &len);
	for (unsigned i = 1; i < SUBS; i++) {
		other = sub_peek(c[i].sub, &len);
		assert_ptr_equal(first, other);
	}
	bus_free(bus);
}

/* ---- any order of publishing, draining and peeking: each number arrives, or stands in a mark, once ---- */

struct reader {
	struct sub *sub;
	uint64_t next;		/* the number that must come next */
};

static int in_sequence(void *ctx, const struct event *ev)
{
	const struct core_lost *lost = ev->body;
	struct reader *r = ctx;

	assert_int_equal(ev->seq, r->next);
	r->next += ev->desc->type == SONDE_EV_LOST ? lost->count : 1;
	return 0;
}

static void take_one_frame(struct reader *r)
{
	struct event ev;
	size_t len;
	const void *p = sub_peek(r->sub, &len);

	if (!p)
		return;
	assert_int_equal(event_decode(reg, p, len, &ev), len);
	in_sequence(r, &ev);
	sub_consume(r->sub);
}

static void nothing_is_lost_without_a_mark(void **state)
{
	enum { READERS = 3, STEPS = 20000 };
	static const size_t bytes[READERS] = { 1000, 30000, 100000 }, events[READERS] = { 0, 5, 0 };
	struct reader readers[READERS];
	struct bus *bus = bus_new(reg);
	uint64_t seed = 7, published = 0;
	struct sub_stats s;

	(void)state;
	for (unsigned i = 0; i < READERS; i++) {
		struct sub_opts o = { .queue_bytes = bytes[i], .queue_events = events[i], .event = in_sequence,
				      .ctx = &readers[i] };

		readers[i] = (struct reader){ .sub = bus_subscribe(bus, &o), .next = 1 };
	}
	for (unsigned step = 0; step < STEPS; step++) {
		struct reader *r = &readers[step % READERS];
		unsigned dice;

		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		dice = (unsigned)(seed >> 40);
		for (unsigned n = dice % 8; n; n--, published++)
			publish_sized(bus, (dice >> 8) % 2000 * n);
		if (dice & 0x100000)
			take_one_frame(r);
		if (dice & 0x200000)
			sub_drain(r->sub, 1 + dice / 8 % 5);
		sub_stats(r->sub, &s);
		assert_int_equal(s.published, published);
		assert_int_equal(s.published, s.sent + s.lost + s.queued);
		assert_true(s.queued_bytes <= bytes[step % READERS]);
	}
	for (unsigned i = 0; i < READERS; i++) {
		sub_stats(readers[i].sub, &s);
		assert_true(s.lost > 0 && s.sent > 0);
		sub_drain(readers[i].sub, 0);
		assert_int_equal(readers[i].next, published + 1);
	}
	bus_free(bus);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(direct_subscribers_get_each_event_at_once),
		cmocka_unit_test(queues_deliver_in_order_within_the_budget),
		cmocka_unit_test(losses_are_told_where_they_happened),
		cmocka_unit_test(bytes_bound_the_queue_too),
		cmocka_unit_test(a_stopped_subscriber_harms_nobody),
		cmocka_unit_test(a_failing_subscriber_is_cut),
		cmocka_unit_test(filters_are_per_subscriber),
		cmocka_unit_test(subscribers_may_leave_in_their_own_call),
		cmocka_unit_test(transports_peek_at_frames),
		cmocka_unit_test(queues_share_one_encoding),
		cmocka_unit_test(nothing_is_lost_without_a_mark),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
