// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/view_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/vec.h"
#include "event/json.h"

const char *view_rows_cell(const struct view_rows *t, const struct view_row *r, size_t i)
{
	const char *cell = t->texts.data + r->cells;

	for (; i; i--)
		cell += strlen(cell) + 1;
	return cell;
}

const char *view_rows_note(const struct view_rows *t, const struct view_row *r, size_t i)
{
	const char *note = t->texts.data + r->notes;

	for (; i; i--)
		note += strlen(note) + 1;
	return note;
}

struct order {
	const struct view_rows *rows;
	size_t at;	/* column, or key */
	bool key, reverse;
};

static int compare_texts(const struct view_rows *t, const struct view_row *a, const struct view_row *b)
{
	int r = 0;

	for (size_t i = 0; !r && i < view_n_keys(t->view); i++)
		r = strcmp(view_rows_cell(t, a, i), view_rows_cell(t, b, i));
	return r;
}

static int compare_cells(const char *a, const char *b)
{
	char *end_a, *end_b;
	unsigned long long x = strtoull(a, &end_a, 10), y = strtoull(b, &end_b, 10);

	if (*a && *b && !*end_a && !*end_b)
		return x < y ? -1 : x > y;
	return strcmp(a, b);
}

static int compare(const void *x, const void *y, void *ctx)
{
	const struct view_row *a = x, *b = y;
	const struct order *o = ctx;
	int r;

	if (a->other != b->other)
		return a->other ? 1 : -1;
	if (o->key)
		r = compare_cells(view_rows_cell(o->rows, a, o->at), view_rows_cell(o->rows, b, o->at));
	else
		r = COMPARE(b->values[o->at], a->values[o->at]);
	if (r)
		return o->reverse ? -r : r;
	return compare_texts(o->rows, a, b);
}

static void sort(struct view_rows *t, struct order o)
{
	o.rows = t;
	if (t->len)
		qsort_r(t->items, t->len, sizeof(*t->items), compare, &o);
}

void view_rows_sort(struct view_rows *t, size_t col, bool reverse)
{
	sort(t, (struct order){ .at = col, .reverse = reverse });
}

void view_rows_sort_key(struct view_rows *t, size_t i, bool reverse)
{
	sort(t, (struct order){ .at = i, .key = true, .reverse = reverse });
}

void view_rows_reset(struct view_rows *t, const struct view *v)
{
	t->view = v;
	t->len = 0;
	t->samples = false;
	buf_reset(&t->texts);
}

void view_rows_fini(struct view_rows *t)
{
	vec_fini(t);
	buf_fini(&t->texts);
}

static void put_notes(const struct view_rows *t, const struct view_row *r, struct json *j)
{
	json_put_open(j, "about", '{');
	for (size_t i = 0; i < view_n_notes(t->view); i++)
		if (*view_rows_note(t, r, i))
			json_put_text(j, t->view->notes[i].field, view_rows_note(t, r, i));
	json_close(j, '}');
}

static void put_row(const struct view_rows *t, const struct view_row *r, bool interval, struct json *j)
{
	json_open(j, '{');
	json_put_u64(j, "v", 1);
	json_put_text(j, "type", "view.row");
	json_put_text(j, "view", t->view->name);
	json_put_bool(j, "final", !interval);
	json_put_u64(j, t->samples ? "samples" : "time_ns", t->to_ns - t->from_ns);
	if (r->other)
		json_put_bool(j, "other", true);
	json_put_open(j, "key", '{');
	for (size_t i = 0; !r->other && i < view_n_keys(t->view); i++)
		json_put_text(j, t->view->keys[i].field, view_rows_cell(t, r, i));
	json_close(j, '}');
	if (view_n_notes(t->view))
		put_notes(t, r, j);
	for (size_t i = 0; i < view_n_cols(t->view); i++)
		json_put_u64(j, t->view->cols[i].name, r->values[i]);
	json_close(j, '}');
}

int view_rows_json(const struct view_rows *t, bool interval, struct buf *out)
{
	for (size_t i = 0; i < t->len; i++) {
		struct json j = { .out = out };

		put_row(t, &t->items[i], interval, &j);
		buf_add_char(out, '\n');
	}
	return buf_error(out);
}
