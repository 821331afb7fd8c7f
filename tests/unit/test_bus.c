// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "bus/bus.h"
#include "event/core.h"
#include "event/filter/filter.h"

/* Events that a subscriber got, in a line: "1 2 7". */
struct client {
	struct sub *sub;
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

	buf_add_str(&c->log, c->log.len ? " " : "");
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

static void join(struct bus *b, struct client *c, const struct filter *f)
{
	struct sub_opts o = { .filter = f, .event = got, .closed = closed, .ctx = c };

	c->sub = bus_subscribe(b, &o);
	assert_non_null(c->sub);
}

static void publish(struct bus *b, unsigned n)
{
	while (n--) {
		struct core_name body = { .space = 1 };
		struct event ev = { .desc = registry_find(reg, SONDE_EV_NAME), .body = &body,
				    .body_len = sizeof(body) };

		bus_publish(b, &ev);
	}
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
	struct bus *bus = bus_new();

	(void)state;
	join(bus, &a, NULL);
	publish(bus, 2);
	join(bus, &b, NULL);
	publish(bus, 1);
	expect(&a, "1 2 3");
	expect(&b, "3");
	bus_free(bus);
	buf_fini(&a.log);
	buf_fini(&b.log);
}

static void a_failing_subscriber_gets_no_more_events(void **state)
{
	struct client bad = { .fail_at = 2 }, fine = { 0 };
	struct bus *bus = bus_new();

	(void)state;
	join(bus, &bad, NULL);
	join(bus, &fine, NULL);
	publish(bus, 4);
	assert_int_equal(bad.closed, -EPIPE);
	assert_int_equal(bad.calls, 2);
	expect(&fine, "1 2 3 4");
	bus_free(bus);
	buf_fini(&bad.log);
	buf_fini(&fine.log);
}

static void filters_are_per_subscriber(void **state)
{
	struct client none = { 0 }, all = { 0 };
	struct bus *bus = bus_new();
	struct filter *f = NULL;
	struct core_lost body = { 0 };
	struct event meta = { .desc = &core_lost_desc, .body = &body, .body_len = sizeof(body) };

	(void)state;
	assert_int_equal(filter_parse(reg, "name.space=ksym", &f, NULL), 0);
	join(bus, &none, f);
	join(bus, &all, NULL);
	publish(bus, 3);
	bus_publish(bus, &meta);
	expect(&none, "4");
	expect(&all, "1 2 3 4");
	bus_free(bus);
	filter_free(f);
	buf_fini(&none.log);
	buf_fini(&all.log);
}

static void subscribers_may_leave_in_their_own_call(void **state)
{
	struct client leaves = { .leave = true }, stays = { 0 };
	struct bus *bus = bus_new();

	(void)state;
	join(bus, &leaves, NULL);
	join(bus, &stays, NULL);
	publish(bus, 3);
	expect(&leaves, "1");
	expect(&stays, "1 2 3");
	bus_unsubscribe(NULL);
	bus_free(bus);
	buf_fini(&leaves.log);
	buf_fini(&stays.log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(direct_subscribers_get_each_event_at_once),
		cmocka_unit_test(a_failing_subscriber_gets_no_more_events),
		cmocka_unit_test(filters_are_per_subscriber),
		cmocka_unit_test(subscribers_may_leave_in_their_own_call),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
