// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * List of subscribers in order of subscription. A subscriber that leaves during bus_publish() is freed after the
 * outermost call returns.
 */
#include "bus/bus.h"

#include <stdlib.h>

#include "base/macros.h"
#include "event/event.h"
#include "event/filter/filter.h"

struct sub {
	struct bus *bus;
	struct sub *next;
	struct sub_opts o;
	bool failed;		/* event() returned an error: no more calls */
	bool gone;		/* unsubscribed: freed by sweep() */
};

struct bus {
	struct sub *subs;
	uint64_t seq;
	unsigned publishing;	/* nested calls of bus_publish() */
	unsigned gone;		/* subscribers left for sweep() */
};

struct bus *bus_new(void)
{
	return calloc(1, sizeof(struct bus));
}

void bus_free(struct bus *b)
{
	if (!b)
		return;
	while (b->subs) {
		struct sub *s = b->subs;

		b->subs = s->next;
		free(s);
	}
	free(b);
}

struct sub *bus_subscribe(struct bus *b, const struct sub_opts *o)
{
	struct sub *s = calloc(1, sizeof(*s)), **end = &b->subs;

	if (!s)
		return NULL;
	s->bus = b;
	s->o = *o;
	while (*end)
		end = &(*end)->next;
	*end = s;
	return s;
}

static void sweep(struct bus *b)
{
	struct sub **link = &b->subs;

	while (!b->publishing && b->gone && *link) {
		struct sub *s = *link;

		if (!s->gone) {
			link = &s->next;
			continue;
		}
		*link = s->next;
		b->gone--;
		free(s);
	}
}

void bus_unsubscribe(struct sub *s)
{
	if (!s || s->gone)
		return;
	s->gone = true;
	s->bus->gone++;
	sweep(s->bus);
}

bool bus_is_used(const struct bus *b)
{
	return b->subs;
}

static void sub_call(struct sub *s, const struct event *ev)
{
	int r = s->o.event(s->o.ctx, ev);

	if (r >= 0)
		return;
	s->failed = true;
	if (s->o.closed && !s->gone)
		s->o.closed(s->o.ctx, r);
}

void bus_publish(struct bus *b, struct event *ev)
{
	ev->seq = ++b->seq;
	b->publishing++;
	for (struct sub *s = b->subs; s; s = s->next)
		if (!s->gone && !s->failed && filter_match(s->o.filter, ev))
			sub_call(s, ev);
	b->publishing--;
	if (unlikely(b->gone))
		sweep(b);
}
