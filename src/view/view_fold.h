/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fold of one view: events to groups, by interval and in all. Intervals end at multiples of their length (boot
 * clock), the same in all folds. Time is that of events, so a recording gives the same rows as the live run. One
 * thread; cost per event: a hash of the keys and an addition per column.
 */
#ifndef VIEW_VIEW_FOLD_H
#define VIEW_VIEW_FOLD_H

#include <stddef.h>
#include <stdint.h>

struct event;
struct view;
struct view_fold;
struct view_rows;

#define VIEW_FOLD_GROUPS 4096u	/* at a time; the rest adds up in "(other)" */

enum view_span {
	VIEW_SPAN_LAST,	 /* the last complete interval: groups that had an event */
	VIEW_SPAN_TOTAL, /* since the start */
	VIEW_SPAN__MAX,
};

/* @step_ns: length of an interval. 0 or -ENOMEM. */
int view_fold_new(const struct view *v, uint64_t step_ns, struct view_fold **ret);
void view_fold_free(struct view_fold *f);	/* NULL is fine */

/* When the current interval ends; UINT64_MAX before the first event. */
uint64_t view_fold_due(const struct view_fold *f);

/* Counts an event that the caller's filter passed; ignores types without a column. 0 or -ENOMEM. */
int view_fold_take(struct view_fold *f, const struct event *ev);
/* Boot time of the stream: ends the intervals before it, with or without events. */
int view_fold_until(struct view_fold *f, uint64_t now_ns);
/* Ends the current interval now, as at the end of a recording. */
int view_fold_end(struct view_fold *f, uint64_t now_ns);
void view_fold_set_step(struct view_fold *f, uint64_t step_ns);	/* from the next interval on */

/* Number of complete intervals, and of counted events. */
uint64_t view_fold_intervals(const struct view_fold *f);
uint64_t view_fold_events(const struct view_fold *f);

/* A group of the last complete interval, borrowed. */
struct view_fold_group {
	uint64_t id, events;	/* id 0: "(other)" */
	const uint64_t *values;	/* [VIEW_COLS]; sums and counts */
	const struct view_hist *hists;	/* [view_fold_n_hists()] */
	const char *cells;	/* NUL-terminated texts of the keys */
	size_t cells_len;
};

/* Calls @fn for the groups with an event in the last complete interval. 0, or its negative return, which stops it. */
int view_fold_last(const struct view_fold *f, int (*fn)(void *ctx, const struct view_fold_group *g), void *ctx);
size_t view_fold_n_hists(const struct view_fold *f);
size_t view_fold_hist_of(const struct view_fold *f, size_t col);	/* of a column of times */

/* The text of note @i of a group, borrowed; "" if it or the group is not known. */
const char *view_fold_note(const struct view_fold *f, uint64_t id, size_t i);

/* Fills @ret, unsorted. 0 or -ENOMEM. */
int view_fold_rows(const struct view_fold *f, enum view_span span, struct view_rows *ret);

#endif
