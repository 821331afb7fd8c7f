/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events to subscribers, in one process: each gets those that its filter wants, at once, in its own call. Queues of
 * bytes for slow readers are broadcast.h.
 */
#ifndef BUS_BUS_H
#define BUS_BUS_H

#include <stddef.h>
#include <stdint.h>

struct bus;
struct event;
struct filter;
struct sub;

struct sub_opts {
	const struct filter *filter;	/* NULL = everything; borrowed */
	/* Each event. Negative = the subscriber is cut (closed()). */
	int (*event)(void *ctx, const struct event *ev);
	void (*closed)(void *ctx, int reason);	/* optional */
	void *ctx;
};

/* published = filtered + sent + lost. */
struct sub_stats {
	uint64_t published;	/* offered to it */
	uint64_t filtered;	/* refused by its filter */
	uint64_t sent;
	uint64_t lost;		/* it failed, or was cut */
};

struct bus *bus_new(void);
void bus_free(struct bus *b);		/* with its subscribers */

struct sub *bus_subscribe(struct bus *b, const struct sub_opts *o);
void bus_unsubscribe(struct sub *s);	/* NULL is fine */

/* Assigns ev->seq. A subscriber may unsubscribe or publish in its call. */
void bus_publish(struct bus *b, struct event *ev);

void bus_sub_stats(const struct sub *s, struct sub_stats *ret);

#endif
