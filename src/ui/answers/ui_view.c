// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two folds over one scan: groups, and without keys for the course. A view of totals that flows report (GROWTH) needs
 * their earlier reports too: they are an interval of their own, which is not shown.
 */
#include "ui/answers/ui_answers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "ui/ui_answer.h"
#include "ui/ui_memory.h"
#include "ui/ui_query.h"
#include "ui/answers/ui_scan.h"
#include "ui/answers/ui_view_counts.h"
#include "view/view.h"
#include "view/view_clause.h"
#include "view/view_fold.h"
#include "view/view_history.h"
#include "view/view_rows.h"

#define POINTS_MAX 1000u

struct point {
	bool known;	/* had an event */
	uint64_t values[VIEW_COLS];
};

struct course {
	struct view view;	/* without keys */
	struct view_fold *fold;
	struct point *points;	/* owned */
	size_t n, at;		/* at: point that is being counted */
	uint64_t from_ns, step_ns;
	bool shown[VIEW_COLS];
};

struct work {
	const struct view *view;
	struct ui_scan scan;
	struct view_fold *fold;
	struct view_rows rows;
	struct course course;
	uint64_t events;
	bool past;		/* by intervals: single events are no longer kept */
	size_t sort;		/* column, from VIEW_COLS on a key */
};

/* ---- parameters ---- */

static int choose_sort(struct work *w, const char *head, struct err *err)
{
	const struct view *v = w->view;

	w->sort = view_col_index(v, v->sort);
	if (!head)
		return 0;
	for (size_t i = 0; i < view_n_cols(v); i++)
		if (!strcmp(v->cols[i].head, head)) {
			w->sort = i;
			return 0;
		}
	for (size_t i = 0; i < view_n_keys(v); i++)
		if (!strcmp(v->keys[i].head, head)) {
			w->sort = VIEW_COLS + i;
			return 0;
		}
	return err_set(err, -EINVAL, "sort: the view has no such heading");
}

static int choose_series(struct course *c, const char *names, struct err *err)
{
	while (names && *names) {
		size_t len = strcspn(names, ","), i = 0;

		while (i < view_n_cols(&c->view) &&
		       (strlen(c->view.cols[i].name) != len || memcmp(c->view.cols[i].name, names, len) != 0))
			i++;
		if (i == view_n_cols(&c->view))
			return err_set(err, -EINVAL, "series: the view has no such column");
		c->shown[i] = true;
		names += len + (names[len] == ',');
	}
	return 0;
}

static uint64_t step_of(uint64_t span_ns, uint32_t asked_s)
{
	static const uint32_t steps_s[] = { 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600 };

	if (asked_s)
		return asked_s * NS_PER_S;
	for (size_t i = 0; i < ARRAY_SIZE(steps_s); i++)
		if (span_ns <= steps_s[i] * NS_PER_S * 120)
			return steps_s[i] * NS_PER_S;
	return ROUND_UP(span_ns / 120 + 1, 3600 * NS_PER_S);
}

static int course_init(struct work *w, const struct ui_query *q, struct err *err)
{
	struct course *c = &w->course;
	uint64_t span_ns = w->scan.to_ns - w->scan.from_ns;
	int r;

	c->view = *w->view;
	memset(c->view.keys, 0, sizeof(c->view.keys));
	c->from_ns = w->scan.from_ns;
	c->step_ns = step_of(span_ns, q->step);
	c->n = (size_t)((span_ns + c->step_ns - 1) / c->step_ns);
	r = choose_series(c, q->series, err);
	if (r < 0)
		return r;
	if (c->n > POINTS_MAX)
		return err_set(err, -EINVAL, "step: more than %u points", POINTS_MAX);
	c->points = calloc(c->n + 1, sizeof(*c->points));
	return c->points ? ui_view_counts_fold(&c->view, &c->fold) : -ENOMEM;
}

/* ---- counting ---- */

static int end_point(struct course *c)
{
	_cleanup_(view_rows_fini) struct view_rows rows = { 0 };
	int r = view_fold_end(c->fold, 0);

	if (r >= 0)
		r = view_fold_rows(c->fold, VIEW_SPAN_LAST, &rows);
	if (r < 0 || !rows.len || c->at >= c->n)
		return r;
	c->points[c->at].known = true;
	memcpy(c->points[c->at].values, rows.items[0].values, sizeof(rows.items[0].values));
	return 0;
}

/* Ends the points before the event's. A late event counts in the current one. */
static int course_take(struct course *c, const struct event *ev)
{
	size_t at = (size_t)((event_wall_ns(ev) - c->from_ns) / c->step_ns);
	int r = 0;

	if (at > c->at) {
		r = end_point(c);
		c->at = at;
	}
	return r < 0 ? r : view_fold_take(c->fold, ev);
}

static int count(struct work *w, bool courses)
{
	struct event ev;
	uint64_t before;
	int r = 0;

	if (ui_view_counts_grows(w->view)) {
		ui_scan_range(&w->scan, 0, w->scan.from_ns);
		while (r >= 0 && ui_scan_next(&w->scan, &ev)) {
			r = view_fold_take(w->fold, &ev);
			if (r >= 0 && courses)
				r = view_fold_take(w->course.fold, &ev);
		}
		if (r >= 0)
			r = view_fold_end(w->fold, 0);
		if (r >= 0 && courses)
			r = view_fold_end(w->course.fold, 0);
	}
	before = view_fold_events(w->fold);
	ui_scan_range(&w->scan, w->scan.from_ns, w->scan.to_ns);
	while (r >= 0 && ui_scan_next(&w->scan, &ev)) {
		r = view_fold_take(w->fold, &ev);
		if (r >= 0 && courses)
			r = course_take(&w->course, &ev);
	}
	w->events = view_fold_events(w->fold) - before;
	if (r >= 0)
		r = view_fold_end(w->fold, 0);
	if (r >= 0 && courses)
		r = end_point(&w->course);
	return r;
}

/* ---- writing ---- */

/* Ends of flows have no filter word of their own, and escaped names are not found. */
static bool is_exact(const struct view_rows *t, const struct view_row *r)
{
	for (size_t i = 0; i < view_n_keys(t->view); i++) {
		const char *field = t->view->keys[i].field;

		if (!strncmp(field, "client.", 7) || !strncmp(field, "server.", 7) ||
		    strchr(view_rows_cell(t, r, i), '\\'))
			return false;
	}
	return true;
}

static void put_notes(struct json *j, const struct view_rows *t, const struct view_row *r)
{
	json_put_open(j, "notes", '[');
	for (size_t i = 0; i < view_n_notes(t->view); i++) {
		const char *note = view_rows_note(t, r, i);

		if (*note)
			ui_answer_put_string(j, note, strlen(note));
		else
			json_value(j, &(struct value){ .kind = VAL_NONE });
	}
	json_close(j, ']');
}

static void put_row(struct json *j, const struct view_rows *t, const struct view_row *r)
{
	_cleanup_(buf_fini) struct buf clause = { 0 };
	char id[17];

	json_open(j, '{');
	json_put_str(j, "id", id, (size_t)snprintf(id, sizeof(id), "%016" PRIx64, r->id));
	json_put_open(j, "keys", '[');
	for (size_t i = 0; i < view_n_keys(t->view); i++) {
		const char *cell = view_rows_cell(t, r, i);

		ui_answer_put_string(j, cell, strlen(cell));
	}
	json_close(j, ']');
	json_put_open(j, "values", '[');
	for (size_t i = 0; i < view_n_cols(t->view); i++)
		json_u64(j, r->values[i]);
	json_close(j, ']');
	put_notes(j, t, r);
	json_put_u64(j, "events", r->events);
	json_put_bool(j, "other", r->other);
	json_key(j, "filter");
	if (r->other || view_clause_of_row(t, r, &clause) < 0) {
		json_value(j, &(struct value){ .kind = VAL_NONE });
	} else {
		json_str(j, clause.data, clause.len);
		json_put_bool(j, "exact", is_exact(t, r));
	}
	json_close(j, '}');
}

static void put_rest(struct json *j, const struct work *w, size_t shown)
{
	uint64_t sums[VIEW_COLS] = { 0 }, events = w->events;

	for (size_t i = 0; i < shown; i++)
		events -= MIN(w->rows.items[i].events, events);
	for (size_t i = shown; i < w->rows.len; i++)
		for (size_t k = 0; k < view_n_cols(w->view); k++)
			sums[k] += w->rows.items[i].values[k];
	json_put_open(j, "rest", '{');
	json_put_u64(j, "rows", w->rows.len - shown);
	json_put_u64(j, "events", events);
	json_put_open(j, "values", '[');
	for (size_t k = 0; k < view_n_cols(w->view); k++)
		if (view_op_is_time(w->view->cols[k].op))
			json_value(j, &(struct value){ .kind = VAL_NONE });
		else
			json_u64(j, sums[k]);
	json_close(j, ']');
	json_close(j, '}');
}

static void put_column(struct json *j, const struct course *c, size_t col)
{
	json_put_open(j, c->view.cols[col].name, '[');
	for (size_t i = 0; i < c->n; i++)
		if (!c->points[i].known && view_op_is_time(c->view.cols[col].op))
			json_value(j, &(struct value){ .kind = VAL_NONE });
		else
			json_u64(j, c->points[i].values[col]);
	json_close(j, ']');
}

static void put_course(struct json *j, const struct work *w)
{
	const struct course *c = &w->course;

	json_put_open(j, "series", '{');
	json_put_u64(j, "step_ns", c->step_ns);
	json_put_open(j, "times", '[');
	for (size_t i = 0; i < c->n; i++)
		ui_answer_put_time(j, NULL, c->from_ns + i * c->step_ns);
	json_close(j, ']');
	json_put_open(j, "lost", '[');
	for (size_t i = 0; i < c->n; i++)
		json_u64(j, ui_memory_lost(w->scan.m, c->from_ns + i * c->step_ns,
					   MIN(c->from_ns + (i + 1) * c->step_ns, w->scan.to_ns)));
	json_close(j, ']');
	json_put_open(j, "columns", '{');
	for (size_t i = 0; i < view_n_cols(&c->view); i++)
		if (c->shown[i])
			put_column(j, c, i);
	json_close(j, '}');
	json_close(j, '}');
}

/* ---- the past ---- */

/* Used if the range of a live page begins before the kept events, and no filter selects among them. */
static const struct ui_past *past_of(const struct work *w, const struct ui_query *q)
{
	const struct ui_memory *m = w->scan.m;
	uint64_t first_ns, last_ns;

	if (!view_kept_gone(m->kept) || (q->q && *q->q) || !view_kept_span(m->kept, &first_ns, &last_ns))
		return NULL;
	return w->scan.from_ns < first_ns ? ui_memory_past(m, w->view) : NULL;
}

/* Points are no shorter than the intervals of that age. */
static int past_course(struct work *w, const struct ui_past *p, uint64_t offset_ns)
{
	_cleanup_(view_rows_fini) struct view_rows rows = { 0 };
	struct course *c = &w->course;
	uint64_t age_ns = ui_memory_end(w->scan.m) - MIN(c->from_ns, ui_memory_end(w->scan.m));
	uint64_t least_ns = age_ns > 1800 * NS_PER_S ? 600 * NS_PER_S :
			    age_ns > 120 * NS_PER_S ? 10 * NS_PER_S : NS_PER_S;
	int r = 0;

	c->step_ns = ROUND_UP(MAX(c->step_ns, least_ns), least_ns);
	c->from_ns = (c->from_ns - offset_ns) / least_ns * least_ns + offset_ns;
	c->n = MIN(c->n + 1, (size_t)((w->scan.to_ns - c->from_ns + c->step_ns - 1) / c->step_ns));
	for (size_t i = 0; r >= 0 && i < c->n; i++) {
		uint64_t at_ns = c->from_ns + i * c->step_ns - offset_ns;

		r = view_history_total(p->history, at_ns, at_ns + c->step_ns, &rows);
		if (r < 0 || !rows.len)
			continue;
		c->points[i].known = true;
		memcpy(c->points[i].values, rows.items[0].values, sizeof(rows.items[0].values));
	}
	return r;
}

static int count_past(struct work *w, const struct ui_past *p, bool courses)
{
	const uint64_t offset_ns = (uint64_t)w->scan.m->clock_offset_ns;
	int r = view_history_rows(p->history, w->scan.from_ns - MIN(offset_ns, w->scan.from_ns),
				  w->scan.to_ns - MIN(offset_ns, w->scan.to_ns), &w->rows);

	w->past = true;
	for (size_t i = 0; i < w->rows.len; i++)
		w->events += w->rows.items[i].events;
	if (r >= 0 && courses)
		r = past_course(w, p, offset_ns);
	if (w->rows.len) {
		w->scan.from_ns = w->rows.from_ns + offset_ns;
		w->scan.to_ns = w->rows.to_ns + offset_ns;
	}
	return r;
}

/* ---- all of it ---- */

static void put_all(struct work *w, const struct ui_query *q, struct buf *out)
{
	struct json j = { .out = out };
	size_t shown = MIN(w->rows.len, (size_t)q->top);

	json_open(&j, '{');
	ui_scan_head(&w->scan, &j);
	ui_answer_put_text(&j, "view", w->view->name);
	json_put_u64(&j, "events", w->events);
	json_put_u64(&j, "groups", w->rows.len);
	if (w->past)
		json_put_bool(&j, "past", true);
	json_put_open(&j, "rows", '[');
	for (size_t i = 0; i < shown; i++)
		put_row(&j, &w->rows, &w->rows.items[i]);
	json_close(&j, ']');
	put_rest(&j, w, shown);
	if (q->series)
		put_course(&j, w);
	json_close(&j, '}');
}

static int answer(struct work *w, const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err)
{
	const struct ui_past *past;
	int r = ui_scan_init(&w->scan, ctx, q, err);

	if (r >= 0)
		r = choose_sort(w, q->sort, err);
	if (r >= 0 && q->series)
		r = course_init(w, q, err);
	if (r >= 0)
		r = ui_view_counts_fold(w->view, &w->fold);
	if (r < 0)
		return r;
	past = past_of(w, q);
	r = past ? count_past(w, past, q->series) : count(w, q->series);
	if (r >= 0 && !past)
		r = view_fold_rows(w->fold, VIEW_SPAN_LAST, &w->rows);
	if (r < 0)
		return r;
	if (w->sort >= VIEW_COLS)
		view_rows_sort_key(&w->rows, w->sort - VIEW_COLS, q->reverse);
	else
		view_rows_sort(&w->rows, w->sort, q->reverse);
	put_all(w, q, &a->body);
	return 0;
}

int ui_view_answer(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err)
{
	struct work w = { .view = ui_view_counts_find(ctx, q->name) };
	int r = w.view ? answer(&w, ctx, q, a, err) : err_set(err, -ENOENT, "no such view: /views lists them");

	ui_scan_fini(&w.scan);
	view_fold_free(w.fold);
	view_rows_fini(&w.rows);
	view_fold_free(w.course.fold);
	free(w.course.points);
	return r;
}
