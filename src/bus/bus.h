/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event bus of one pipeline: bus_publish() calls each subscriber whose filter matches, synchronously and in order of
 * subscription. ipc/broadcast.h has the queues for slow readers.
 */
#ifndef BUS_BUS_H
#define BUS_BUS_H

#include <stdbool.h>

struct bus;
struct event;
struct filter;
struct sub;

struct sub_opts {
	const struct filter *filter;	/* borrowed; NULL = every event */
	/* A negative return ends the subscription: closed() is called, and no event follows. */
	int (*event)(void *ctx, const struct event *ev);
	void (*closed)(void *ctx, int reason);	/* may be NULL */
	void *ctx;
};

struct bus *bus_new(void);
void bus_free(struct bus *b);		/* and its subscribers; NULL is fine */

/* NULL without memory. The subscription is freed by bus_unsubscribe(), also after it failed. */
struct sub *bus_subscribe(struct bus *b, const struct sub_opts *o);
bool bus_is_used(const struct bus *b);	/* has it a subscriber? */
void bus_unsubscribe(struct sub *s);	/* NULL is fine */

/* Sets ev->seq. Subscribers may unsubscribe or publish inside their event() callback. */
void bus_publish(struct bus *b, struct event *ev);

#endif
