/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of a view as lines of a given width: keys, notes, columns, the last key. Columns and notes that do not fit are
 * left out, the lowest priority first; cut text ends in "~". No line is wider than the width. The sorted column has
 * a "*" in front of its heading.
 */
#ifndef VIEW_VIEW_TEXT_H
#define VIEW_VIEW_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/view.h"

struct buf;
struct view_row;
struct view_rows;

#define VIEW_TEXT_MIN 20u	/* narrowest line */

struct view_text {
	const struct view *view;
	unsigned width;
	bool wide;		/* all columns and whole texts, whatever the width */
	bool totals;		/* sums instead of rates */
	uint32_t missing;	/* columns without a source, 1u << index: shown as "-" */
	size_t sort;		/* column that is marked in the heading; from VIEW_COLS on: key sort - VIEW_COLS */
	size_t skip;		/* columns to leave out from the left, to show those that did not fit */

	/* set by view_text_fit() */
	bool shown[VIEW_COLS], noted[VIEW_NOTES];
	unsigned rest; /* width of the last key, or of the note in its place */
};

/* Chooses the columns for the width. */
void view_text_fit(struct view_text *t);
/* The column (from VIEW_COLS on: key) whose heading is at cell @x; -1 = none. */
int view_text_at(const struct view_text *t, unsigned x);
/* Without a line end. */
void view_text_head(const struct view_text *t, struct buf *out);
void view_text_row(const struct view_text *t, const struct view_rows *rows, const struct view_row *r,
		   struct buf *out);

/* At most five characters: "812", "21.4k", "412ms", "38.2". */
void view_text_number(enum view_measure unit, double value, struct buf *out);
/* At most @width characters of printable UTF-8, padded with blanks if @pad. */
void view_text_cut(const char *text, unsigned width, bool pad, struct buf *out);

#endif
