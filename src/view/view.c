// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/view.h"

#include <string.h>

#include "base/macros.h"

#define VIEW(id, title_, sort_, drill_) \
	{ .name = #id, .title = (title_), .sort = (sort_), .drill = (drill_), .keys = {
#define KEY(head_, field_, width_) { (head_), (field_), (width_) },
#define NOTES \
	} \
	, .notes = {
#define NOTE(head_, field_, width_, priority_) { (head_), (field_), (width_), (priority_) },
#define COLUMNS }, .cols = {
#define COL(head_, name_, type_, op_, field_, unit_, priority_) \
	{ .head = (head_), .name = (name_), .type = (type_), .op = VIEW_##op_, .field = (field_), \
	  .unit = VIEW_##unit_, .priority = (priority_) },
#define END } },

const struct view views[] = {
#include "tables/views.def"
};
const size_t view_n = ARRAY_SIZE(views);

const struct view *view_find(const char *name)
{
	return FIND_ITEM(it, views, view_n, !strcmp(it->name, name));
}

size_t view_n_keys(const struct view *v)
{
	size_t n = 0;

	while (n < VIEW_KEYS && v->keys[n].head)
		n++;
	return n;
}

size_t view_n_notes(const struct view *v)
{
	size_t n = 0;

	while (n < VIEW_NOTES && v->notes[n].head)
		n++;
	return n;
}

size_t view_n_cols(const struct view *v)
{
	size_t n = 0;

	while (n < VIEW_COLS && v->cols[n].head)
		n++;
	return n;
}

size_t view_col_index(const struct view *v, const char *head)
{
	for (size_t i = 0; i < view_n_cols(v); i++)
		if (!strcmp(v->cols[i].head, head))
			return i;
	return 0;
}
