// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/view_text.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/str.h"
#include "view/view_rows.h"

#define NUMBER_WIDTH 5u
#define LAST_MIN 12u	/* narrowest last key */
#define VIEW_TEXT_WIDE 100000u

/* ---- numbers ---- */

static void put_scaled(double v, struct buf *out)
{
	static const char suffixes[] = " kMGTPE";
	unsigned i = 0;

	for (; v >= 999.5 && i < sizeof(suffixes) - 2; i++)
		v /= 1000;
	buf_printf(out, (i || v < 9.95) && v < 99.95 && v - (double)(uint64_t)v >= 0.05 ? "%.1f" : "%.0f", v);
	if (i)
		buf_add_char(out, suffixes[i]);
}

static void put_time(double ns, struct buf *out)
{
	static const struct { double ns; const char *unit; } units[] = {
		{ 3600e9, "h" }, { 60e9, "m" }, { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" },
	};
	size_t i = 0;

	/* an hour's column has room for three digits of seconds */
	while (i < ARRAY_SIZE(units) - 1 && ns < units[i].ns * (i == 1 ? 16.65 : 0.9995))
		i++;
	buf_printf(out, ns / units[i].ns < 9.95 && i < ARRAY_SIZE(units) - 1 ? "%.1f%s" : "%.0f%s", ns / units[i].ns,
		   units[i].unit);
}

void view_text_number(enum view_measure unit, double value, struct buf *out)
{
	switch (unit) {
	case VIEW_NUMBER:
	case VIEW_BYTES:
		put_scaled(value, out);
		return;
	case VIEW_NS:
		if (value > 0)
			put_time(value, out);
		else
			buf_add_char(out, '-');
		return;
	case VIEW_PERCENT:
		if (value < 99.95)
			buf_printf(out, "%.1f", value);
		else
			put_scaled(value, out);
		return;
	case VIEW_MEASURE__MAX:
		break;
	}
}

/* ---- text ---- */

void view_text_cut(const char *text, unsigned width, bool pad, struct buf *out)
{
	size_t len = strlen(text), at = 0, fits = 0;
	unsigned n = 0;

	while (at < len) {
		size_t one = MAX(str_utf8_len(text + at, len - at), (size_t)1);

		if (n + 1 == width)
			fits = at;
		if (n == width)
			break;
		at += one;
		n++;
	}
	if (at < len && width) {
		buf_add(out, text, fits);
		buf_add_char(out, '~');
	} else {
		buf_add(out, text, at);
	}
	for (; pad && n < width; n++)
		buf_add_char(out, ' ');
}

static void put_right(const char *text, unsigned width, struct buf *out)
{
	size_t len = strlen(text);

	for (size_t i = len; i < width; i++)
		buf_add_char(out, ' ');
	buf_add(out, text, len);
}

/* ---- columns ---- */

static bool is_rate(enum view_op op)
{
	return op <= VIEW_SUM || (view_op_is_of_flows(op) && op != VIEW_ACTIVE);
}

/* Totals show the time itself: "CPU" in place of "CPU%". */
static bool is_sum_of_times(const struct view_text *t, const struct view_col *c)
{
	return c->op == VIEW_SHARE && t->totals;
}

static enum view_measure unit_of(const struct view_text *t, const struct view_col *c)
{
	return is_sum_of_times(t, c) ? VIEW_NS : c->unit;
}

/* The column's heading, without the mark. */
static void heading(const struct view_text *t, size_t i, char *to, size_t cap)
{
	const struct view_col *c = &t->view->cols[i];
	size_t len = strlen(c->head) - (is_sum_of_times(t, c) ? 1 : 0);

	snprintf(to, cap, "%.*s%s", (int)len, c->head, is_rate(c->op) && !t->totals ? "/s" : "");
}

static unsigned col_width(const struct view_text *t, size_t i)
{
	const struct view_col *c = &t->view->cols[i];

	return MAX((unsigned)strlen(c->head) + (is_rate(c->op) ? 2 : 0), NUMBER_WIDTH);
}

static bool is_number(const char *field)
{
	size_t len = strlen(field);

	return !strcmp(field, "proc.pid") || (len > 5 && !strcmp(field + len - 5, ".port"));
}

/* A blank in front of the first column, for its mark. */
static unsigned lead_of(const struct view_text *t)
{
	return !view_n_keys(t->view) || !t->view->keys[0].width;
}

/* Without the last key: each with its blank. */
static unsigned used_width(const struct view_text *t)
{
	unsigned used = lead_of(t);

	for (size_t i = 0; i < view_n_keys(t->view); i++)
		used += t->view->keys[i].width ? t->view->keys[i].width + 1 : 0;
	for (size_t i = 0; i < view_n_notes(t->view); i++)
		used += t->noted[i] && t->view->notes[i].width ? t->view->notes[i].width + 1 : 0;
	for (size_t i = 0; i < view_n_cols(t->view); i++)
		used += t->shown[i] ? col_width(t, i) + 1 : 0;
	return used;
}

static unsigned n_shown(const struct view_text *t)
{
	unsigned n = 0;

	for (size_t i = 0; i < view_n_cols(t->view); i++)
		n += t->shown[i];
	return n;
}

/* The shown column or note with the lowest priority. */
static bool *least_of(struct view_text *t)
{
	bool *least = NULL;
	unsigned lowest = UINT32_MAX;

	for (size_t i = 0; i < view_n_cols(t->view); i++)
		if (t->shown[i] && i != t->sort && t->view->cols[i].priority < lowest) {
			lowest = t->view->cols[i].priority;
			least = &t->shown[i];
		}
	for (size_t i = 0; i < view_n_notes(t->view); i++)
		if (t->noted[i] && t->view->notes[i].width && t->view->notes[i].priority < lowest) {
			lowest = t->view->notes[i].priority;
			least = &t->noted[i];
		}
	return least;
}

/* A note takes the last key's place only if nothing had to be left out for it. */
static void place_last(struct view_text *t, bool all_fit)
{
	for (size_t i = 0; i < view_n_notes(t->view); i++)
		if (!t->view->notes[i].width)
			t->noted[i] = all_fit;
}

static bool has_last(const struct view_text *t)
{
	const size_t n = view_n_keys(t->view);

	return n && !t->view->keys[n - 1].width;
}

void view_text_fit(struct view_text *t)
{
	const unsigned last = has_last(t) ? LAST_MIN : 0;
	unsigned used;
	bool all_fit;

	t->width = t->wide ? VIEW_TEXT_WIDE : MAX(t->width, VIEW_TEXT_MIN);
	for (size_t i = 0; i < VIEW_COLS; i++)
		t->shown[i] = i < view_n_cols(t->view) && (i >= t->skip || i == t->sort);
	for (size_t i = 0; i < VIEW_NOTES; i++)
		t->noted[i] = i < view_n_notes(t->view) && t->view->notes[i].width && t->view->notes[i].priority &&
			      !t->skip;
	all_fit = used_width(t) + last <= t->width && !t->skip;
	while (used_width(t) + last > t->width && n_shown(t) > 1) {
		bool *least = least_of(t);

		if (!least)
			break;
		*least = false;
	}
	place_last(t, all_fit);
	used = used_width(t);
	t->rest = used + last > t->width ? last : t->width - used;
}

/* ---- lines ---- */

static void put_text(const char *text, unsigned width, bool right, struct buf *out)
{
	if (right && strlen(text) <= width)
		put_right(text, width, out);
	else
		view_text_cut(text, width, true, out);
	buf_add_char(out, ' ');
}

static void put_key(const struct view_text *t, size_t i, const char *text, struct buf *out)
{
	const struct view_key *k = &t->view->keys[i];

	if (k->width && k->width < strlen(text) && *text == '(')	/* "(unknown)" */
		text = "-";
	put_text(text, k->width, is_number(k->field), out);
}

static void key_heading(const struct view_text *t, size_t i, char *to, size_t cap)
{
	snprintf(to, cap, "%s%s", t->view->keys[i].head, t->sort == VIEW_COLS + i ? "*" : "");
}

/* The mark takes the place of the blank in front of the heading. */
static void put_heading(const struct view_text *t, size_t i, struct buf *line)
{
	char head[40];

	heading(t, i, head, sizeof(head));
	put_right(head, col_width(t, i), line);
	if (t->sort == i && line->len > strlen(head) && line->data[line->len - strlen(head) - 1] == ' ')
		line->data[line->len - strlen(head) - 1] = '*';
	buf_add_char(line, ' ');
}

/* Without blanks at the end. */
static void finish(const struct view_text *t, struct buf *line, struct buf *out)
{
	while (line->len && line->data[line->len - 1] == ' ')
		line->len--;
	view_text_cut(buf_str(line), t->width, false, out);
	buf_fini(line);
}

/* Index of the note in the last key's place; -1 = the key itself. */
static int last_note(const struct view_text *t)
{
	for (size_t i = 0; i < view_n_notes(t->view); i++)
		if (!t->view->notes[i].width && t->noted[i])
			return (int)i;
	return -1;
}

void view_text_head(const struct view_text *t, struct buf *out)
{
	const int note = last_note(t);
	struct buf line = { 0 };
	char head[40];

	if (lead_of(t))
		buf_add_char(&line, ' ');
	for (size_t i = 0; i < view_n_keys(t->view); i++) {
		if (!t->view->keys[i].width)
			continue;
		key_heading(t, i, head, sizeof(head));
		put_key(t, i, head, &line);
	}
	for (size_t i = 0; i < view_n_notes(t->view); i++)
		if (t->noted[i] && t->view->notes[i].width)
			put_text(t->view->notes[i].head, t->view->notes[i].width, true, &line);
	for (size_t i = 0; i < view_n_cols(t->view); i++)
		if (t->shown[i])
			put_heading(t, i, &line);
	if (has_last(t)) {
		key_heading(t, view_n_keys(t->view) - 1, head, sizeof(head));
		view_text_cut(note < 0 ? head : t->view->notes[note].head, t->rest, false, &line);
	}
	finish(t, &line, out);
}

static double shown_value(const struct view_text *t, const struct view_rows *rows, const struct view_row *r, size_t i)
{
	const struct view_col *c = &t->view->cols[i];
	double value = (double)r->values[i], span = (double)(rows->to_ns - rows->from_ns);

	if (c->op == VIEW_SHARE && !t->totals)
		return span > 0 ? 100 * value / span : 0;
	if (is_rate(c->op) && !t->totals)
		return span > 0 ? value * 1e9 / span : 0;
	return value;
}

static void put_value(const struct view_text *t, const struct view_rows *rows, const struct view_row *r, size_t i,
		      struct buf *line)
{
	_cleanup_(buf_fini) struct buf number = { 0 };

	if (t->missing >> i & 1)
		buf_add_char(&number, '-');
	else
		view_text_number(unit_of(t, &t->view->cols[i]), shown_value(t, rows, r, i), &number);
	put_right(buf_str(&number), col_width(t, i), line);
	buf_add_char(line, ' ');
}

void view_text_row(const struct view_text *t, const struct view_rows *rows, const struct view_row *r,
		   struct buf *out)
{
	const int note = last_note(t);
	const char *text;
	struct buf line = { 0 };

	if (lead_of(t))
		buf_add_char(&line, ' ');
	for (size_t i = 0; i < view_n_keys(t->view); i++)
		if (t->view->keys[i].width)
			put_key(t, i, view_rows_cell(rows, r, i), &line);
	for (size_t i = 0; i < view_n_notes(t->view); i++) {
		text = view_rows_note(rows, r, i);
		if (t->noted[i] && t->view->notes[i].width)
			put_text(*text ? text : "-", t->view->notes[i].width, true, &line);
	}
	for (size_t i = 0; i < view_n_cols(t->view); i++)
		if (t->shown[i])
			put_value(t, rows, r, i, &line);
	if (has_last(t)) {
		text = note < 0 ? "" : view_rows_note(rows, r, (size_t)note);
		text = *text ? text : view_rows_cell(rows, r, view_n_keys(t->view) - 1);
		view_text_cut(text, t->rest, false, &line);
	}
	finish(t, &line, out);
}

int view_text_at(const struct view_text *t, unsigned x)
{
	unsigned at = lead_of(t);

	for (size_t i = 0; i < view_n_keys(t->view); i++) {
		at += t->view->keys[i].width ? t->view->keys[i].width + 1 : 0;
		if (t->view->keys[i].width && x < at)
			return (int)(VIEW_COLS + i);
	}
	for (size_t i = 0; i < view_n_notes(t->view); i++)
		at += t->noted[i] && t->view->notes[i].width ? t->view->notes[i].width + 1 : 0;
	for (size_t i = 0; x >= at && i < view_n_cols(t->view); i++) {
		at += t->shown[i] ? col_width(t, i) + 1 : 0;
		if (x < at)
			return (int)i;
	}
	return x >= at && has_last(t) ? (int)(VIEW_COLS + view_n_keys(t->view) - 1) : -1;
}
