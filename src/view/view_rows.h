/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table as it is shown: rows of a view at one moment, copied out of a fold, sorted.
 */
#ifndef VIEW_VIEW_ROWS_H
#define VIEW_VIEW_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "view/view.h"

struct view_row {
	uint64_t id;		/* hash of the key: the same in every table of a view */
	uint32_t cells, notes;	/* offsets of the texts of keys and notes in `texts`, each NUL-terminated */
	bool other;		/* the groups for which there was no room */
	uint64_t events;	/* that it counts */
	uint64_t values[VIEW_COLS];	/* counts, sums, ns */
};

struct view_rows {	/* zeroed: empty */
	const struct view *view;
	struct view_row *items;
	size_t len, cap;
	struct buf texts;	/* printable */
	uint64_t from_ns, to_ns;	/* boot time; rates are over the difference */
	bool samples;			/* no times: shares are of to_ns samples */
};

/* The text of key @i of a row: printable, "(unknown)" if the events do not have it. */
const char *view_rows_cell(const struct view_rows *t, const struct view_row *r, size_t i);
/* The text of note @i; "" if it is unknown. */
const char *view_rows_note(const struct view_rows *t, const struct view_row *r, size_t i);
/* Largest first; equal rows by key. @reverse: smallest first. "(other)" is the last row. */
void view_rows_sort(struct view_rows *t, size_t col, bool reverse);
/* By the text of key @i, or by its number if all are numbers. */
void view_rows_sort_key(struct view_rows *t, size_t i, bool reverse);
void view_rows_reset(struct view_rows *t, const struct view *v);
void view_rows_fini(struct view_rows *t);
/* One object a row and line: the view, its keys and notes by field, its columns by name. 0 or -ENOMEM. */
int view_rows_json(const struct view_rows *t, bool interval, struct buf *out);

#endif
