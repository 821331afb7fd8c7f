// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde profile --top: functions by their own and their whole weight, processes, and who calls whom, once a second.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/pipeline.h"
#include "base/err.h"
#include "base/macros.h"
#include "cmd/profile/profile.h"
#include "cmd/screen.h"
#include "stack/top_rows.h"

#define MAX_DRILL 16

struct top {
	const struct stack_view *view;
	const struct stack_set *set;	/* of the run; NULL before and after */
	struct sym *sym;
	struct pipeline *pipeline;
	struct screen *screen;
	struct top_rows rows;
	enum top_kind kind;
	const char *drill[MAX_DRILL];	/* whose callers are shown, the first the innermost; owned */
	size_t n_drill;
	bool by_total, paused;
};

void profile_top_free(struct top *t)
{
	if (!t)
		return;
	screen_free(t->screen);
	while (t->n_drill)
		free((char *)t->drill[--t->n_drill]);
	top_rows_fini(&t->rows);
	free(t);
}

int profile_top_new(const struct stack_view *view, struct top **ret, struct err *err)
{
	struct top *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return err_errno(err, -ENOMEM, "--top");
	t->view = view;
	r = screen_new("--top", "-o folded or --stats work without one", &t->screen, err);
	if (r < 0) {
		profile_top_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

/* ---- the picture ---- */

static double percent(const struct top *t, uint64_t part)
{
	return t->rows.total ? 100 * (double)part / (double)t->rows.total : 0;
}

static void row_text(void *ctx, size_t i, char *to, size_t cap)
{
	const struct top *t = ctx;
	const struct top_row *row = &t->rows.items[i];

	snprintf(to, cap, "%7.2f%% %7.2f%%  %s", percent(t, row->self), percent(t, row->total), row->name);
}

static void draw(struct top *t)
{
	static const char *const kinds[] = {
		[TOP_FUNCTIONS] = "functions", [TOP_PROCESSES] = "processes", [TOP_CALLERS] = "callers of ",
	};
	char title[512], head[64];
	const struct screen_page page = {
		.title = title, .head = head, .n_rows = t->rows.len, .row = row_text, .ctx = t,
		.foot = "enter: callers  backspace: back  tab: functions/processes  s: sort  p: pause  q: quit",
	};

	_Static_assert(ARRAY_SIZE(kinds) == TOP_KIND__MAX, "a word per kind");
	snprintf(title, sizeof(title), "sonde profile: %llu %s in %zu stacks  %s%s%s",
		 (unsigned long long)t->rows.total, stack_weight_units[t->view->weight],
		 t->set ? stack_set_len(t->set) : 0, kinds[t->kind],
		 t->kind == TOP_CALLERS ? t->drill[t->n_drill - 1] : "", t->paused ? "  [paused]" : "");
	snprintf(head, sizeof(head), "%8s %8s  %s", t->by_total ? "self" : "self*", t->by_total ? "total*" : "total",
		 "name");
	screen_show(t->screen, &page);
}

static void on_show(void *ctx)
{
	struct top *t = ctx;

	if (t->set && !t->paused)
		top_rows_fill(&t->rows, t->set, t->sym, t->view, t->kind,
			      t->n_drill ? t->drill[t->n_drill - 1] : NULL, t->by_total);
	draw(t);
}

/* ---- keys ---- */

static void enter(struct top *t)
{
	size_t at = screen_selected(t->screen);
	char *name = at < t->rows.len && t->kind != TOP_PROCESSES && t->n_drill < MAX_DRILL
			     ? strdup(t->rows.items[at].name) : NULL;

	if (!name)
		return;
	t->drill[t->n_drill++] = name;
	t->kind = TOP_CALLERS;
	screen_home(t->screen);
}

static void back(struct top *t)
{
	if (!t->n_drill)
		return;
	free((char *)t->drill[--t->n_drill]);
	t->kind = t->n_drill ? TOP_CALLERS : TOP_FUNCTIONS;
	screen_home(t->screen);
}

static void swap_kind(struct top *t)
{
	while (t->n_drill)
		back(t);
	t->kind = t->kind == TOP_PROCESSES ? TOP_FUNCTIONS : TOP_PROCESSES;
	screen_home(t->screen);
}

static void on_key(void *ctx, int key)
{
	struct top *t = ctx;

	switch (key) {
	case SCREEN_KEY_ENTER:
		enter(t);
		break;
	case SCREEN_KEY_BACK:
		back(t);
		break;
	case '\t':
		swap_kind(t);
		break;
	case 's':
		t->by_total = !t->by_total;
		break;
	case 'p':
		t->paused = !t->paused;
		break;
	default:
		break;
	}
}

static void on_quit(void *ctx)
{
	struct top *t = ctx;

	pipeline_stop(t->pipeline);
}

int profile_top_start(struct top *t, struct loop *loop, struct pipeline *p, struct err *err)
{
	static const struct screen_ops ops = { .show = on_show, .key = on_key, .quit = on_quit };

	t->pipeline = p;
	return screen_start(t->screen, loop, &ops, t, err);
}

void profile_top_show(struct top *t, const struct stack_set *set, struct sym *sym)
{
	t->set = set;
	t->sym = sym;
}

void profile_top_stop(struct top *t)
{
	t->set = NULL;
}
