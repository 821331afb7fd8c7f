/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The past of a view, longer than its events are kept: rows by interval, 120 of a second, 180 of ten seconds, 144 of
 * ten minutes. Sums stay exact and percentiles those of the histogram, whatever intervals are added up. Events in
 * order of time; a late one counts in the current second.
 */
#ifndef VIEW_VIEW_HISTORY_H
#define VIEW_VIEW_HISTORY_H

#include <stddef.h>
#include <stdint.h>

struct event;
struct view;
struct view_history;
struct view_rows;

#define VIEW_HISTORY_BYTES (32u << 20) /* default of @max_bytes */

/* @max_bytes: then the oldest intervals go; 0 = default. 0 or -ENOMEM. */
int view_history_new(const struct view *v, size_t max_bytes, struct view_history **ret);
void view_history_free(struct view_history *h);	/* NULL is fine */

int view_history_take(struct view_history *h, const struct event *ev);	/* 0 or -ENOMEM */
/* Boot time of the stream: ends the seconds before it. */
int view_history_until(struct view_history *h, uint64_t now_ns);

size_t view_history_bytes(const struct view_history *h);
uint64_t view_history_first(const struct view_history *h);	/* start of the oldest interval; UINT64_MAX = none */

/*
 * Adds up the ended intervals that begin at from_ns <= time < to_ns (boot clock), the shortest there are, into @ret,
 * whose times are those of the intervals. 0 or -ENOMEM.
 */
int view_history_rows(const struct view_history *h, uint64_t from_ns, uint64_t to_ns, struct view_rows *ret);
/* The same in one row, whatever the keys; without an event in none. */
int view_history_total(const struct view_history *h, uint64_t from_ns, uint64_t to_ns, struct view_rows *ret);

#endif
