/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields of events for the keys, notes and columns of views: found once per event type, then read.
 */
#ifndef VIEW_VIEW_FIELDS_H
#define VIEW_VIEW_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "view/view.h"

enum view_end {
	VIEW_END_NONE, VIEW_END_CLIENT_IP, VIEW_END_CLIENT_PORT, VIEW_END_SERVER_IP, VIEW_END_SERVER_PORT,
	VIEW_END__MAX,
};

struct view_field {
	const struct field *field;	/* NULL = events of the type lack it */
	const struct field *other;	/* where an event does not know that one; NULL = none */
	bool common;
	enum view_end end;		/* of a flow; not NONE: `field` is unused */
};

/* A view's fields in the events of one type. */
struct view_fields {
	const struct event_desc *desc;
	bool counts;			/* some column takes these events */
	bool sums;			/* its events are sums: numbers in place of single events */
	unsigned n_taken, taken[VIEW_COLS]; /* columns that take these events */
	struct view_field keys[VIEW_KEYS], notes[VIEW_NOTES], cols[VIEW_COLS];
	struct view_field flow, is_reply, flow_event, dir, owner_end, max;
	struct view_field only;		/* of captures: 1 in events that count, the ends of calls */
};

void view_fields_init(struct view_fields *p, const struct view *v, const struct event_desc *d);
/* VAL_NONE if the event lacks it. */
void view_fields_get(const struct view_fields *p, const struct view_field *f, const struct event *ev,
		     struct value *ret);
/* Can a sum of system calls (sys.sum) take the place of single ones in this column? */
bool view_fields_has_sums(const struct view *v, const struct view_col *c);
/* Does column @col take events of the type? */
bool view_fields_has_col(const struct view_fields *p, unsigned col);
/* Does the view count this event of the type? */
bool view_fields_take(const struct view_fields *p, const struct event *ev);
/* The ways of a flow's bytes: 0 = unknown. */
#define VIEW_FIELDS_SENDER 1 /* of owner_end */
#define VIEW_FIELDS_RECEIVER 2
#define VIEW_FIELDS_IN 1 /* of dir */
#define VIEW_FIELDS_OUT 2

/* False without a number. A negative one counts as 0. */
bool view_fields_number(const struct view_field *f, const struct event *ev, uint64_t *ret);
/* Histogram of times in sums: 64-bit counts, four steps an octave. NULL without. */
const uint64_t *view_fields_steps(const struct view_field *f, const struct event *ev, size_t *ret_n);
/* The word of the filter that selects the events of a key: fd.ip for client.ip. */
const char *view_fields_word(const char *field);

#endif
