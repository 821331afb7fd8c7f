/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A row of a view as a filter that selects its events.
 */
#ifndef VIEW_VIEW_CLAUSE_H
#define VIEW_VIEW_CLAUSE_H

#include <stdbool.h>

struct buf;
struct view_row;
struct view_rows;

/*
 * Appends the comparisons of the row's keys, joined by "and": proc.pid=812 and proc.name=nginx. Names that
 * value_text() escaped are not found by it. 0 or -ENOMEM.
 */
int view_clause_of_row(const struct view_rows *t, const struct view_row *r, struct buf *out);

/* Appends one comparison: proc.pid=812. */
void view_clause_add(const char *field, const char *cell, struct buf *out);

/* A value that needs no quotes in a filter. */
bool view_clause_is_plain(const char *s);

#endif
