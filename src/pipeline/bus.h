/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Subscribers to the events of a pipeline, in order of subscription. ipc/broadcast.h has the queues for slow readers.
 */
#ifndef PIPELINE_BUS_H
#define PIPELINE_BUS_H

#include <stdint.h>

#include "event/event.h"

struct subscriber {
	void (*event)(void *ctx, const struct event *ev);	/* may unsubscribe; NULL = not subscribed */
	void *ctx;
	struct subscriber *next;
};

/* Zeroed: without subscribers. */
struct bus {
	struct subscriber *first;
	struct subscriber *due;		/* bus_publish() calls it next */
	uint64_t seq;			/* of the last event */
};

/* @s is borrowed until it is unsubscribed or the bus is not used any more. */
static inline void bus_subscribe(struct bus *b, struct subscriber *s)
{
	struct subscriber **end = &b->first;

	while (*end)
		end = &(*end)->next;
	*end = s;
}

/* Does nothing for others. */
static inline void bus_unsubscribe(struct bus *b, const struct subscriber *s)
{
	struct subscriber **at = &b->first;

	while (*at && *at != s)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = s->next;
	if (b->due == s)
		b->due = s->next;
}

/* Sets ev->seq and calls each subscriber. */
static inline void bus_publish(struct bus *b, struct event *ev)
{
	ev->seq = ++b->seq;
	for (struct subscriber *s = b->first; s; s = b->due) {
		b->due = s->next;
		s->event(s->ctx, ev);
	}
}

#endif
