// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The run behind the views. Live events are folded as they come. A recording is read whole, then played from the kept
 * events inside the sink's close(), while the pipeline still has the names.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "cmd/cmd.h"
#include "cmd/run/run.h"
#include "cmd/screen.h"
#include "cmd/top/top.h"
#include "cmd/top/top_functions.h"
#include "cmd/top/top_state.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "loop/loop.h"
#include "pipeline/pipeline.h"
#include "sinks/sink.h"
#include "view/view_fold.h"
#include "view/view_text.h"

#define KEPT_LIVE (16u << 20)	/* bytes of the latest events */
#define KEPT_FILE (256u << 20)
#define WIDTH 80u

/* ---- the screen ---- */

static void show(void *ctx)
{
	struct top *t = ctx;
	unsigned width, height;

	if (!t->screen || t->stopped)
		return;
	screen_size(t->screen, &width, &height);
	buf_reset(&t->picture);
	top_page_draw(t, width, height, &t->picture);
	screen_show(t->screen, &t->picture, t->afresh);
	t->afresh = false;
}

static void on_quit(void *ctx)
{
	top_fold_quit(ctx);
}

static void on_key(void *ctx, int key)
{
	top_keys(ctx, key);
}

static void on_click(void *ctx, unsigned x, unsigned y)
{
	const struct top *t = ctx;
	unsigned width, height;

	screen_size(t->screen, &width, &height);
	top_keys_click(ctx, x, y, width);
}

/* ---- blocks ---- */

static unsigned block_width(const struct top *t)
{
	const char *columns = getenv("COLUMNS");
	unsigned n = t->o.width ? t->o.width : columns ? (unsigned)atoi(columns) : WIDTH;

	return n >= VIEW_TEXT_MIN ? n : WIDTH;
}

static void put_block_title(const struct top *t, enum view_span span, struct buf *out)
{
	buf_printf(out, "%s: %s, ", t->o.command, t->o.view->title);
	if (t->rows.samples)
		buf_printf(out, "%llu samples\n", (unsigned long long)t->rows.to_ns);
	else
		buf_printf(out, "%.1f s%s\n", (double)(t->rows.to_ns - t->rows.from_ns) / 1e9,
			   span == VIEW_SPAN_TOTAL ? " in all" : "");
}

static int print_block(struct top *t, enum view_span span)
{
	struct view_text text = { .view = t->o.view,
				  .width = block_width(t),
				  .wide = t->o.wide,
				  .totals = span == VIEW_SPAN_TOTAL && !t->functions,
				  .sort = top_step(t)->sort,
				  .missing = top_fold_missing(t, t->o.view) };
	_cleanup_(buf_fini) struct buf out = { 0 };
	size_t n;
	int r = top_fold_rows(t, span == VIEW_SPAN_TOTAL);

	if (r < 0)
		return r;
	view_rows_sort(&t->rows, text.sort, false);
	n = t->o.rows && t->rows.len > t->o.rows ? t->o.rows : t->rows.len;
	if (t->o.run->json) {
		t->rows.len = n;
		r = view_rows_json(&t->rows, span == VIEW_SPAN_LAST, &out);
	} else {
		view_text_fit(&text);
		put_block_title(t, span, &out);
		view_text_head(&text, &out);
		buf_add_char(&out, '\n');
		for (size_t i = 0; i < n; i++) {
			view_text_row(&text, &t->rows, &t->rows.items[i], &out);
			buf_add_char(&out, '\n');
		}
		if (n < t->rows.len)
			buf_printf(&out, "(%zu more)\n", t->rows.len - n);
		buf_add_str(&out, span == VIEW_SPAN_LAST ? "\n" : "");
	}
	if (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0)
		return -errno;
	return buf_error(&out);
}

static int print_intervals(struct top *t)
{
	if (!t->fold || view_fold_intervals(t->fold) == t->intervals || !t->o.interval_ns)
		return 0;
	t->intervals = view_fold_intervals(t->fold);
	return print_block(t, VIEW_SPAN_LAST);
}

/* Prints what has ended by @now_ns: the interval with events, and of empty ones behind it the last. */
static int print_until(struct top *t, uint64_t now_ns)
{
	int r = view_fold_until(t->fold, MIN(now_ns, view_fold_due(t->fold)));

	if (r >= 0)
		r = print_intervals(t);
	if (r >= 0)
		r = view_fold_until(t->fold, now_ns);
	return r < 0 ? r : print_intervals(t);
}

/* ---- time ---- */

static int on_tick(void *ctx, uint64_t now_ns)
{
	struct top *t = ctx;

	if (!t->screen)
		return t->replays || !t->fold ? 0 : print_until(t, now_ns);
	if (t->fold && !t->replays)
		view_fold_until(t->fold, now_ns);
	if (t->host && !t->replays)
		view_fold_until(t->host, now_ns);
	if (t->ended && t->until_ns && !t->paused)
		top_fold_step(t, (int)MAX(t->o.speed, 1u));
	else if (!t->paused && (!t->replays || !t->ended))
		top_fold_refresh(t);
	show(t);
	return 0;
}

/* ---- as a sink ---- */

static int take(struct sink *s, const struct event *ev)
{
	struct top *t = s->opts->ctx;
	int r = 0;

	if (ev->desc->class != EVENT_DATA)
		return 0;
	if (!t->screen && t->fold && ev->ts_ns >= view_fold_due(t->fold))
		r = print_until(t, ev->ts_ns);
	return r < 0 ? r : top_fold_take(t, ev);
}

static void play(struct top *t)
{
	struct view_kept_at first = { 0 };
	struct event ev;

	t->ended = true;
	if (t->o.speed && view_kept_next(t->kept, &first, &ev))
		t->until_ns = ev.ts_ns + t->step_ns;
	top_fold_refold(t);
	if (!t->until_ns && t->fold)
		view_fold_end(t->fold, t->last_ns);
	if (!t->until_ns && t->host)
		view_fold_end(t->host, t->last_ns);
	top_fold_refresh(t);
	show(t);
	loop_run(t->loop);
}

/* At the end of a recording, and of a run without a screen. */
static int finish(struct sink *s)
{
	struct top *t = s->opts->ctx;

	if (!t->loop || t->stopped)	/* the run did not start */
		return 0;
	if (t->screen && t->replays && !pipeline_stopping(t->pipeline))
		play(t);
	if (t->screen)
		return 0;
	if (t->o.interval_ns && t->fold && view_fold_events(t->fold)) {
		int r = print_until(t, t->last_ns);

		if (r >= 0)
			r = view_fold_end(t->fold, t->last_ns);
		if (r >= 0)
			r = print_intervals(t);
		if (r < 0)
			return r;
	}
	return print_block(t, VIEW_SPAN_TOTAL);
}

static const struct sink_ops top_sink = {
	.name = "top", .summary = "views", .flags = SINK_AT_CLOSE, .event = take, .close = finish,
};

/* ---- the run ---- */

static int setup(void *ctx, struct loop *loop, struct pipeline *p, struct err *err)
{
	struct top *t = ctx;

	int r;

	t->pipeline = p;
	r = top_fold_begin(t);
	if (r >= 0 && t->screen && !t->o.fill)
		r = view_fold_new(view_find("host"), t->step_ns, &t->host);
	if (r < 0)
		return err_errno(err, -ENOMEM, "cannot count");
	return t->outer->setup ? t->outer->setup(t->outer->started_ctx, loop, p, err) : 0;
}

static int started(void *ctx, struct loop *loop, struct pipeline *p, struct err *err)
{
	static const struct screen_ops ops = { .key = on_key, .click = on_click, .show = show, .quit = on_quit };
	struct top *t = ctx;
	int r = t->outer->started ? t->outer->started(t->outer->started_ctx, loop, p, err) : 0;

	t->loop = loop;
	if (r >= 0 && t->screen)
		r = screen_start(t->screen, loop, &ops, t, err);
	if (r >= 0 && (t->screen || !t->replays) &&
	    loop_add_timer(loop, MIN(t->step_ns, NS_PER_S / 2), t->step_ns, on_tick, t, &t->timer) < 0)
		r = err_set(err, -ENOMEM, "cannot set a timer");
	return r;
}

static void stopped(void *ctx)
{
	struct top *t = ctx;

	screen_free(TAKE_PTR(t->screen));
	t->loop = NULL;
	if (t->outer->stopped)
		t->outer->stopped(t->outer->started_ctx);
	/* these use names and symbols of the pipeline, which ends here */
	top_functions_free(TAKE_PTR(t->functions));
	view_kept_free(TAKE_PTR(t->kept));
	filter_free(TAKE_PTR(t->filter));
}

int top_run(struct top *t, const struct run_ops *outer)
{
	struct run_ops spec = *outer;

	t->outer = outer;
	t->conf = *t->o.run;
	t->conf.json = false;	/* of views, not of events */
	spec.output = "";
	spec.ready = t->screen ? NULL : spec.ready;
	spec.unit = t->screen ? NULL : spec.unit;
	if (!spec.watcher) {
		spec.watcher = &top_sink;
		spec.watcher_ctx = t;
	}
	spec.setup = setup;
	spec.started = started;
	spec.stopped = stopped;
	spec.started_ctx = t;
	return run(&t->conf, &spec);
}

bool top_on_screen(const struct top *t)
{
	return t->screen;
}

void top_free(struct top *t)
{
	if (!t)
		return;
	screen_free(t->screen);
	view_fold_free(t->fold);
	view_fold_free(t->host);
	top_functions_free(t->functions);
	vec_fini(&t->seen);
	view_rows_fini(&t->host_rows);
	view_kept_free(t->kept);
	view_rows_fini(&t->rows);
	filter_free(t->filter);
	for (size_t i = 0; i < TOP_STEPS; i++) {
		buf_fini(&t->steps[i].clause);
		buf_fini(&t->steps[i].label);
	}
	vec_fini(&t->list);
	buf_fini(&t->typed);
	buf_fini(&t->input);
	buf_fini(&t->said);
	buf_fini(&t->picture);
	free(t);
}
DEFINE_CLEANUP(struct top *, top_free)

int top_new(const struct top_opts *o, struct top **ret, struct err *err)
{
	bool blocks = o->batch || o->run->json || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO);
	unsigned flags = (run_want_color(o->run) ? SCREEN_COLOR : 0) | (o->mouse ? SCREEN_MOUSE : 0);
	_cleanup_(top_freep) struct top *t = calloc(1, sizeof(*t));
	int r = 0;

	if (!t)
		return err_errno(err, -ENOMEM, "%s", o->command);
	t->o = *o;
	t->step_ns = o->interval_ns ? o->interval_ns : NS_PER_S;
	t->replays = o->run->read;
	t->n_steps = 1;
	t->steps[0].view = o->view;
	t->steps[0].sort = view_col_index(o->view, o->view->sort);
	if (!blocks && !o->fill)
		r = view_kept_new(t->replays ? KEPT_FILE : KEPT_LIVE, &t->kept);
	if (r >= 0 && !blocks)
		r = screen_new(o->command, "-b prints blocks", flags, &t->screen, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(t);
	return 0;
}

int top_show(const struct top_opts *o, const struct run_ops *spec)
{
	struct err err = { 0 };
	struct top *t = NULL;
	int status = top_new(o, &t, &err);

	if (status < 0)
		return cmd_fail(status, &err);
	status = top_run(t, spec);
	top_free(t);
	return status;
}
