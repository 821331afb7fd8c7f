/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of a range that a filter passes, out of what is kept.
 */
#ifndef UI_UI_SCAN_H
#define UI_UI_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "event/event.h"
#include "ui/ui_memory.h"
#include "ui/ui_query.h"
#include "view/view_kept.h"

struct json;

struct ui_scan {
	const struct ui_memory *m;
	uint64_t from_ns, to_ns;	/* wall clock */
	struct filter *filter;		/* owned; NULL passes everything */
	const struct names *host;	/* only events of this stream; NULL = of all */
	struct stack_functions *functions[UI_HOSTS];	/* owned; of a filter with functions, else NULL */
	struct view_kept_part part;
	struct view_kept_at at;
	struct arena scratch;		/* of the last event */
};

/* Resolves the range and parses the filter of @q. 0, -EINVAL or -ENOMEM; ui_scan_fini() in any case. */
int ui_scan_init(struct ui_scan *s, const struct ui_memory *m, const struct ui_query *q, struct err *err);
void ui_scan_fini(struct ui_scan *s);

/* Starts again, over other times with the same filter. */
void ui_scan_range(struct ui_scan *s, uint64_t from_ns, uint64_t to_ns);
/* The next event, valid until the next call; false at the end. */
bool ui_scan_next(struct ui_scan *s, struct event *ret);
/* Place of the event that ui_scan_next() returned last, for view_kept_next(). */
struct view_kept_at ui_scan_place(const struct ui_scan *s, const struct event *ev);

/* A time of the query on the wall clock. @otherwise: if it was not given. */
uint64_t ui_scan_time(const struct ui_memory *m, const struct ui_time *t, uint64_t otherwise);

/* The members that every answer about a range has. */
void ui_scan_head(const struct ui_scan *s, struct json *j);

/* Does the filter @text, which may be NULL, name functions of stacks? */
bool ui_scan_names_functions(const char *text);

/* Parses @text for events of @reg. 0, -EINVAL with a sentence, or -ENOMEM. */
int ui_scan_filter(const struct ui_memory *m, const char *text, struct filter **ret, struct err *err);

#endif
