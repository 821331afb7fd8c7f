// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fold of a session: fed from kept events after another filter, another view, or a step through a recording.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/opt.h"
#include "cmd/top/top_functions.h"
#include "cmd/top/top_state.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "loop/loop.h"
#include "pipeline/pipeline.h"
#include "scap/freeze.h"
#include "view/view_fields.h"
#include "view/view_fold.h"

#define LIST_MAX 10000u

/* ---- counting ---- */

int top_fold_filter(struct top *t)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	struct filter *made = NULL;
	struct err err = { 0 };

	for (size_t i = 0; i < t->n_steps; i++)
		if (t->steps[i].clause.len)
			buf_printf(&text, "%s(%s)", text.len ? " and " : "", buf_str(&t->steps[i].clause));
	if (t->typed.len)
		buf_printf(&text, "%s(%s)", text.len ? " and " : "", buf_str(&t->typed));
	if (text.len && filter_parse(pipeline_registry(t->pipeline), buf_str(&text), &made, &err) < 0) {
		buf_reset(&t->said);
		buf_add(&t->said, err.msg, strcspn(err.msg, "\n"));
		return -EINVAL;
	}
	filter_free(t->filter);
	t->filter = made;
	return 0;
}

static bool is_counted(const struct top *t, const struct event *ev)
{
	return ev->desc->class == EVENT_DATA && filter_match(t->filter, ev);
}

static bool makes(const struct top *t, const char *type)
{
	for (size_t i = 0; t->replays && i < t->seen.len; i++)
		if (!strcmp(t->seen.items[i]->name, type))
			return true;
	for (size_t i = 0; !t->replays && t->o.types && t->o.types[i]; i++)
		if (!strcmp(t->o.types[i], type))
			return true;
	return !t->replays && !t->o.types;
}

bool top_fold_has(const struct top *t, const struct view *v, const struct view_col *c)
{
	if (makes(t, c->type) || (view_fields_has_sums(v, c) && makes(t, "sys.sum")))
		return true;
	return !strcmp(c->type, "sys.exit") && makes(t, "sys.event");
}

uint32_t top_fold_missing(const struct top *t, const struct view *v)
{
	uint32_t missing = 0;

	for (size_t i = 0; i < view_n_cols(v); i++)
		missing |= top_fold_has(t, v, &v->cols[i]) ? 0 : 1u << i;
	return missing;
}

static int note_type(struct top *t, const struct event_desc *d)
{
	for (size_t i = 0; i < t->seen.len; i++)
		if (t->seen.items[i] == d)
			return 0;
	return vec_push(&t->seen, d);
}

/* For the view that is shown. */
static int count(struct top *t, const struct event *ev)
{
	if (!is_counted(t, ev))
		return 0;
	if (t->functions)
		return top_functions_take(t->functions, ev);
	return t->fold ? view_fold_take(t->fold, ev) : 0;
}

/* Events of captures are kept with the values of their words. */
static int keep(struct top *t, const struct event *ev)
{
	_cleanup_(arena_fini) struct arena scratch = { 0 };
	struct event frozen;
	int r = ev->view ? scap_freeze(ev, &scratch, &frozen) : 0;

	return r < 0 ? r : view_kept_add(t->kept, ev->view ? &frozen : ev);
}

int top_fold_take(struct top *t, const struct event *ev)
{
	int r = note_type(t, ev->desc);

	t->last_ns = MAX(t->last_ns, ev->ts_ns);
	t->clock_offset_ns = ev->clock_offset_ns ? ev->clock_offset_ns : t->clock_offset_ns;
	if (r >= 0 && t->kept)
		r = keep(t, ev);
	if (r < 0 || (t->screen && t->replays)) /* counted when it is played */
		return r;
	if (t->host)
		r = view_fold_take(t->host, ev);
	return r < 0 ? r : count(t, ev);
}

/* From the kept events up to the shown moment. */
static void feed(struct top *t)
{
	struct event ev;
	struct view_kept_at next = t->fed;

	while (t->kept && view_kept_next(t->kept, &next, &ev)) {
		if (t->replays && t->until_ns && ev.ts_ns >= t->until_ns)
			break;
		if (t->replays && t->host)
			view_fold_take(t->host, &ev);
		count(t, &ev);
		t->fed = next;
	}
	if (t->replays && t->until_ns && t->fold)
		view_fold_until(t->fold, t->until_ns);
	if (t->replays && t->until_ns && t->host)
		view_fold_until(t->host, t->until_ns);
}

int top_fold_begin(struct top *t)
{
	const struct view *v = top_step(t)->view;

	view_fold_free(TAKE_PTR(t->fold));
	top_functions_free(TAKE_PTR(t->functions));
	t->fed = (struct view_kept_at){ 0 };
	if (t->o.fill)
		return 0;
	if (top_is_of_functions(v) && pipeline_sym(t->pipeline))
		return top_functions_new(pipeline_sym(t->pipeline), &t->functions);
	return view_fold_new(v, t->step_ns, &t->fold);
}

void top_fold_refold(struct top *t)
{
	int r = top_fold_begin(t);

	if (t->replays && t->host) {
		view_fold_free(TAKE_PTR(t->host));
		view_fold_new(view_find("host"), t->step_ns, &t->host);
	}
	if (r >= 0 && !t->o.fill)
		feed(t);
}

/* ---- what is shown ---- */

static void refresh_list(struct top *t)
{
	struct view_kept_at at = { 0 }, was = at;
	struct event ev;
	size_t first;

	t->list.len = 0;
	while (t->kept && view_kept_next(t->kept, &at, &ev)) {
		if (t->replays && t->until_ns && ev.ts_ns >= t->until_ns)
			break;
		/* at points behind the event; its chunk is right unless it was the last of one */
		was = (struct view_kept_at){ .chunk = at.chunk, .offset = at.offset - view_kept_size(&ev) };
		if (!ev.desc->aggregate && is_counted(t, &ev))
			vec_push(&t->list, was);
	}
	first = t->list.len > LIST_MAX ? t->list.len - LIST_MAX : 0;
	memmove(t->list.items, t->list.items + first, (t->list.len - first) * sizeof(*t->list.items));
	t->list.len -= first;
}

/* The row under the cursor is a key: it stays selected wherever its row moves to. */
static void follow_selected(struct top *t)
{
	const struct top_step *s = top_step(t);

	for (size_t i = 0; i < t->rows.len; i++)
		if (t->rows.items[i].id == s->selected) {
			t->cursor = i;
			return;
		}
}

int top_fold_rows(struct top *t, bool all)
{
	if (t->functions)
		return top_functions_fill(t->functions, &t->rows);
	if (!t->fold)
		return 0;
	return view_fold_rows(t->fold, all || !view_fold_intervals(t->fold) ? VIEW_SPAN_TOTAL : VIEW_SPAN_LAST,
			      &t->rows);
}

static void refresh_rows(struct top *t)
{
	const struct top_step *s = top_step(t);
	bool all = top_shows_totals(t);

	if (t->o.fill)
		t->o.fill(t->o.fill_ctx, s->label.len ? buf_str(&top_step(t)->label) : NULL, &t->rows);
	else
		top_fold_rows(t, all);
	if (t->host)
		view_fold_rows(t->host, all || !view_fold_intervals(t->host) ? VIEW_SPAN_TOTAL : VIEW_SPAN_LAST,
			       &t->host_rows);
	if (s->sort >= VIEW_COLS)
		view_rows_sort_key(&t->rows, s->sort - VIEW_COLS, s->reverse);
	else
		view_rows_sort(&t->rows, s->sort, s->reverse);
	follow_selected(t);
}

void top_fold_refresh(struct top *t)
{
	if (t->page == TOP_EVENTS)
		refresh_list(t);
	else if (t->page == TOP_TABLE)
		refresh_rows(t);
}

/* ---- time ---- */

void top_fold_quit(struct top *t)
{
	t->stopped = true;
	if (t->ended)
		loop_stop(t->loop, 0);
	else
		pipeline_stop(t->pipeline);
}

/* Sums of the kernel come as often as they are shown. */
static void pace_sums(struct top *t)
{
	char ns[24];
	const char *word = ns;
	const struct opt_strv args = { .items = &word, .len = 1 };

	snprintf(ns, sizeof(ns), "%" PRIu64, t->step_ns);
	if (!t->replays && t->o.types && makes(t, "sys.sum"))
		pipeline_call(t->pipeline, "sys", 0, "interval", &args, NULL);
}

void top_fold_pace(struct top *t)
{
	if (t->timer)
		loop_set_timer(t->timer, t->step_ns, t->step_ns);
	pace_sums(t);
}

void top_fold_step(struct top *t, int n)
{
	uint64_t by = (uint64_t)abs(n) * t->step_ns;

	if (!t->replays || (!t->fold && !t->functions))
		return;
	if (!t->until_ns)
		t->until_ns = t->last_ns + 1;
	t->until_ns = n > 0 ? MIN(t->until_ns + by, t->last_ns + t->step_ns) : t->until_ns - MIN(by, t->until_ns - 1);
	if (n < 0)
		top_fold_refold(t);
	else
		feed(t);
	top_fold_refresh(t);
}
