/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Views: how events become the rows of a table. The rows of tables/views.def, without any state.
 */
#ifndef VIEW_VIEW_H
#define VIEW_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#define VIEW_KEYS 6u	/* most keys, notes and columns of a view */
#define VIEW_NOTES 4u
#define VIEW_COLS 16u

enum view_op {
	VIEW_COUNT,	/* events */
	VIEW_TRUE,	/* events whose field is known and neither 0 nor false */
	VIEW_SUM,	/* of the field */
	VIEW_SHARE,	/* sum of a time, shown as a percentage of the interval */
	VIEW_GROWTH,	/* sum of the increments of a total that each direction of a flow reports */
	VIEW_SENT, VIEW_RECEIVED,	/* as VIEW_GROWTH, from the flow's first sender and to it */
	VIEW_FROM, VIEW_TO,		/* as VIEW_GROWTH, from the flow's process and to it */
	VIEW_IN, VIEW_OUT,		/* as VIEW_GROWTH, into the interface and out of it */
	VIEW_FLOWS,	/* flows that began */
	VIEW_ACTIVE,	/* different flows that were reported */
	VIEW_P50, VIEW_P99, VIEW_MAX,	/* of the field, in ns */
	VIEW_OP__MAX,
};

static inline bool view_op_is_time(enum view_op op)
{
	return op == VIEW_P50 || op == VIEW_P99 || op == VIEW_MAX;
}

/* They stand together in the enum, behind counts and sums. */
static inline bool view_op_is_of_flows(enum view_op op)
{
	return op >= VIEW_GROWTH && op <= VIEW_ACTIVE;
}

enum view_measure { VIEW_NUMBER, VIEW_BYTES, VIEW_NS, VIEW_PERCENT, VIEW_MEASURE__MAX };

struct view_key {
	const char *head, *field;
	unsigned width;		/* cells; 0 = the rest of the line */
};

/* Describes a row beside its keys: the first known value of the field. */
struct view_note {
	const char *head, *field;
	unsigned width;		/* cells; 0 = takes the place of the last key where all other columns fit */
	unsigned priority;	/* as of columns; 0 with a width: not a column of the terminal */
};

struct view_col {
	const char *head, *name;	/* heading, and the name in JSON */
	const char *type;		/* of events: "sys.exit" */
	enum view_op op;
	const char *field;		/* NULL: the event itself */
	enum view_measure unit;
	unsigned priority;		/* the lowest is left out first */
};

struct view {
	const char *name, *title, *sort;	/* sort: heading of a column */
	const char *drill;			/* names of the views that a row opens, separated by blanks */
	struct view_key keys[VIEW_KEYS];	/* ends with head NULL; empty: all events are one row */
	struct view_note notes[VIEW_NOTES];
	struct view_col cols[VIEW_COLS];
};

extern const struct view views[];
extern const size_t view_n;

const struct view *view_find(const char *name);	/* NULL if it does not exist */
size_t view_n_keys(const struct view *v);
size_t view_n_notes(const struct view *v);
size_t view_n_cols(const struct view *v);
/* Index of the column with the heading, or of the first one. */
size_t view_col_index(const struct view *v, const char *head);

#endif
