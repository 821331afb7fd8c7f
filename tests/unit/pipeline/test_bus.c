// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "pipeline/bus.h"

/* Numbers of the events that a subscriber got, in a line: "1 2 7". */
struct client {
	struct bus *bus;
	struct subscriber sub;
	struct buf log;
	struct client *removes;	/* unsubscribed in the next call */
};

static void got(void *ctx, const struct event *ev)
{
	struct client *c = ctx;

	buf_add_str(&c->log, c->log.len ? " " : "");
	buf_add_u64(&c->log, ev->seq);
	if (c->removes)
		bus_unsubscribe(c->bus, &c->removes->sub);
	c->removes = NULL;
}

static void join(struct bus *b, struct client *c)
{
	c->bus = b;
	c->sub = (struct subscriber){ .event = got, .ctx = c };
	bus_subscribe(b, &c->sub);
}

static void publish(struct bus *b, unsigned n)
{
	while (n--)
		bus_publish(b, &(struct event){ 0 });
}

static void expect(struct client *c, const char *log)
{
	assert_string_equal(buf_str(&c->log), log);
	buf_fini(&c->log);
}

static void subscribers_get_each_event_at_once(void **state)
{
	struct client a = { 0 }, b = { 0 };
	struct bus bus = { 0 };

	(void)state;
	join(&bus, &a);
	publish(&bus, 2);
	join(&bus, &b);
	publish(&bus, 1);
	expect(&a, "1 2 3");
	expect(&b, "3");
}

static void subscribers_may_leave_in_a_call(void **state)
{
	struct client leaves = { .removes = &leaves }, next = { 0 }, ends_next = { .removes = &next }, stays = { 0 };
	struct bus bus = { 0 };

	(void)state;
	join(&bus, &leaves);
	join(&bus, &ends_next);
	join(&bus, &next);
	join(&bus, &stays);
	publish(&bus, 3);
	bus_unsubscribe(&bus, &next.sub);
	publish(&bus, 1);
	expect(&leaves, "1");
	expect(&ends_next, "1 2 3 4");
	expect(&next, "");
	expect(&stays, "1 2 3 4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(subscribers_get_each_event_at_once),
		cmocka_unit_test(subscribers_may_leave_in_a_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
