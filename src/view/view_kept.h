/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies of the latest events: a row leads to its events, and a new filter or view counts them too. Their names
 * (struct names) are borrowed from the pipeline, which must live as long.
 */
#ifndef VIEW_VIEW_KEPT_H
#define VIEW_VIEW_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event;
struct view_kept;

struct view_kept_at {	/* zeroed: before the first event; stays valid, and then skips events that went */
	uint64_t chunk;
	size_t offset;
};

/* @max_bytes: then the oldest go. 0 or -ENOMEM. */
int view_kept_new(size_t max_bytes, struct view_kept **ret);
void view_kept_free(struct view_kept *k);	/* NULL is fine */

int view_kept_add(struct view_kept *k, const struct event *ev);	/* 0 or -ENOMEM */
uint64_t view_kept_n(const struct view_kept *k);	/* events that are kept */
uint64_t view_kept_gone(const struct view_kept *k);	/* events that went */

size_t view_kept_size(const struct event *ev);	/* bytes that it takes up */

/* A part of the events: from_ns <= event_wall_ns() < to_ns, seq >= first_seq. */
struct view_kept_part {
	uint64_t from_ns, to_ns, first_seq;
};

/* As view_kept_next(), for the events of the part; chunks without one cost nothing. */
bool view_kept_next_of(const struct view_kept *k, const struct view_kept_part *part, struct view_kept_at *at,
		       struct event *ret);
/* The least and the greatest event_wall_ns(); false without an event. */
bool view_kept_span(const struct view_kept *k, uint64_t *ret_first_ns, uint64_t *ret_last_ns);

/* Puts the events in the order of their time and numbers them from 1. 0, or -ENOMEM: some may be gone. */
int view_kept_sort(struct view_kept *k);

/* The next event, oldest first, and moves @at behind it; valid until view_kept_add(), its values until the
 * next call. False at the end. */
bool view_kept_next(const struct view_kept *k, struct view_kept_at *at, struct event *ret);

#endif
