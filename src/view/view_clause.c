// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/view_clause.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "view/view_fields.h"
#include "view/view_rows.h"

bool view_clause_is_plain(const char *s)
{
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("_.:/-", *s))
			return false;
	return true;
}

void view_clause_add(const char *field, const char *cell, struct buf *out)
{
	const char *word = view_fields_word(field);

	if (!strcmp(cell, "(unknown)")) {
		buf_printf(out, "not %s exists", word);
		return;
	}
	buf_printf(out, "%s=", word);
	if (view_clause_is_plain(cell)) {
		buf_add_str(out, cell);
		return;
	}
	buf_add_char(out, '"');
	for (; *cell; cell++)
		buf_printf(out, *cell == '"' ? "\\%c" : "%c", *cell);
	buf_add_char(out, '"');
}

int view_clause_of_row(const struct view_rows *t, const struct view_row *r, struct buf *out)
{
	for (size_t i = 0; i < view_n_keys(t->view); i++) {
		if (i)
			buf_add_str(out, " and ");
		view_clause_add(t->view->keys[i].field, view_rows_cell(t, r, i), out);
	}
	return buf_error(out);
}
