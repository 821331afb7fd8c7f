// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A list of subscribers, in the order in which they came. Those that leave while an event is handed out are freed
 * when that has ended.
 */
#include "bus/bus.h"

#include <stdbool.h>
#include <stdlib.h>

#include "event/event.h"
#include "event/filter/filter.h"

struct sub {
	struct bus *bus;
	struct sub *next;
	struct sub_opts o;
	struct sub_stats stats;
	bool cut;		/* failed: gets nothing more */
	bool gone;		/* unsubscribed: freed when nobody publishes */
};

struct bus {
	struct sub *subs;
	uint64_t seq;
	unsigned publishing;	/* depth */
	unsigned gone;		/* subscribers that wait to be freed */
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

/* The sum closes meanwhile too: the subscriber may look at it. */
static void sub_call(struct sub *s, const struct event *ev)
{
	int r;

	s->stats.sent++;
	r = s->o.event(s->o.ctx, ev);
	if (r >= 0)
		return;
	s->stats.sent--;
	s->stats.lost++;
	s->cut = true;
	if (s->o.closed && !s->gone)
		s->o.closed(s->o.ctx, r);
}

void bus_publish(struct bus *b, struct event *ev)
{
	ev->seq = ++b->seq;
	b->publishing++;
	for (struct sub *s = b->subs; s; s = s->next) {
		if (s->gone)
			continue;
		s->stats.published++;
		if (!filter_match(s->o.filter, ev))
			s->stats.filtered++;
		else if (s->cut)
			s->stats.lost++;
		else
			sub_call(s, ev);
	}
	b->publishing--;
	sweep(b);
}

void bus_sub_stats(const struct sub *s, struct sub_stats *ret)
{
	*ret = s->stats;
}
