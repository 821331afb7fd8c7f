/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fan-out of events to subscribers, in one process. Publishing never blocks: a subscriber either takes
 * events directly, or has a bounded queue of frames that it drains when it can; what does not fit is
 * counted and told to that subscriber alone, in order, as a sonde.lost event (cause queue).
 */
#ifndef BUS_BUS_H
#define BUS_BUS_H

#include <stddef.h>
#include <stdint.h>

struct bus;
struct event;
struct filter;
struct registry;
struct sub;

struct sub_opts {
	const struct filter *filter;	/* NULL = everything; borrowed */
	size_t queue_bytes;		/* of frames; 0 = direct: event() is called by bus_publish() */
	size_t queue_events;		/* 0 = no limit but bytes */
	/* Direct: each event. Queued: called by sub_drain(). Negative = the subscriber is cut (closed()). */
	int (*event)(void *ctx, const struct event *ev);
	void (*closed)(void *ctx, int reason);	/* optional */
	void *ctx;
};

/* delivered (matched the filter) = sent + lost + queued. */
struct sub_stats {
	uint64_t published;	/* offered to it */
	uint64_t filtered;	/* refused by its filter */
	uint64_t sent;
	uint64_t lost;		/* no room in its queue, or after it was cut */
	uint64_t queued;
	uint64_t queued_bytes;
};

struct bus *bus_new(const struct registry *reg);
void bus_free(struct bus *b);		/* with its subscribers */

struct sub *bus_subscribe(struct bus *b, const struct sub_opts *o);
void bus_unsubscribe(struct sub *s);	/* NULL is fine */

/*
 * Assigns ev->seq. Encodes at most once, however many queues take it. 0 or -ENOMEM (counted as loss). ev->names
 * must outlive the bus: queued events are read with it. A subscriber may unsubscribe, publish or drain in its calls.
 */
int bus_publish(struct bus *b, struct event *ev);

/* Hands at most @budget queued events (0 = all) to the subscriber. Returns how many. */
int sub_drain(struct sub *s, unsigned budget);
/* Bytes of the next queued frames, for a transport that writes them itself; sub_consume() takes them off. */
const void *sub_peek(struct sub *s, size_t *ret_len);
void sub_consume(struct sub *s);

void sub_stats(const struct sub *s, struct sub_stats *ret);

#endif
