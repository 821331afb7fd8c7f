// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables of a run: filled by a sink, printed at the end or shown on a live screen.
 */
#include "cmd/syscalls/views.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/vec.h"
#include "cmd/screen.h"
#include "cmd/syscalls/view_spectrum.h"
#include "cmd/syscalls/view_table.h"
#include "event/event.h"
#include "event/json.h"
#include "pipeline/pipeline.h"
#include "scap/render.h"
#include "scap/schema.h"
#include "scap/state/state.h"
#include "sinks/sink.h"

#define ERRNO_MAX 4095	/* MAX_ERRNO of the kernel */

struct views {
	VEC(struct view_table *) tables;
	struct view_spectrum spectrum;
	uint64_t first_ns, last_ns;	/* of the events */
	struct buf key;			/* scratch */
	struct screen *screen;		/* NULL = none */
	struct pipeline *pipeline;
	size_t shown;			/* index of the table on the screen */
	bool paused;
};

/* ---- events ---- */

/* The native event knows it from the kernel; one of a capture from the entry before it. */
static uint64_t latency_of(const struct event *ev, const struct scap_view *v)
{
	uint64_t ns;

	for (unsigned i = 0; i < ev->desc->n_fields; i++)
		if (!strcmp(ev->desc->fields[i].name, "syscall.latency"))
			return event_get_number(ev, &ev->desc->fields[i], &ns) == 0 ? ns : 0;
	return v->thread && v->p.head->type & 1 ? v->thread->latency_ns : 0;
}

static void fill(struct view_event *e, const struct event *ev, const struct scap_view *v)
{
	const uint16_t flags = v->info->flags;

	*e = (struct view_event){
		.v = v, .call = scap_render_event_name(v), .leaves = v->p.head->type & 1
	};
	if (!e->leaves)
		return;
	e->latency_ns = latency_of(ev, v);
	if (!params_i64(&v->p, 0, &e->res) || v->p.head->type == SCAP_GENERIC_X)
		e->res = 0;
	e->failed = e->res < 0 && e->res >= -ERRNO_MAX;
	if (flags & (SCAP_READS_FD | SCAP_WRITES_FD) && e->res > 0)
		e->moved = (uint64_t)e->res;
}

/* Counts an event; ignores events without a view of the state. */
static void views_take(struct views *v, const struct event *ev)
{
	struct view_event e;

	if (!ev->view || !ev->view->info || ev->desc->class != EVENT_DATA)
		return;
	fill(&e, ev, ev->view);
	v->last_ns = ev->view->ts_ns;
	if (!v->first_ns)
		v->first_ns = v->last_ns;
	for (size_t i = 0; i < v->tables.len; i++)
		view_table_take(v->tables.items[i], &e, &v->key);
	if (v->spectrum.on)
		view_spectrum_take(&v->spectrum, ev->view->ts_ns, e.leaves ? e.latency_ns : 0);
}

/* ---- life ---- */

static int add_table(struct views *v, const struct view_kind *kind)
{
	if (vec_grow(&v->tables) < 0)
		return -ENOMEM;
	v->tables.items[v->tables.len] = view_table_new(kind);
	if (!v->tables.items[v->tables.len])
		return -ENOMEM;
	v->tables.len++;
	return 0;
}

static int unknown(const char *name, size_t len, struct err *err)
{
	struct buf all = { 0 };
	int r;

	for (size_t i = 0; i < view_n_kinds; i++)
		buf_printf(&all, "%s, ", view_kinds[i].name);
	r = err_set(err, -EINVAL, "--view %.*s: there are %sspectrogram", (int)MIN(len, (size_t)64), name,
		    buf_str(&all));
	buf_fini(&all);
	return r;
}

static int add_named(struct views *v, const char *name, size_t len, struct err *err)
{
	if (len == strlen("spectrogram") && !memcmp(name, "spectrogram", len)) {
		v->spectrum.on = true;
		return 0;
	}
	for (size_t i = 0; i < view_n_kinds; i++)
		if (strlen(view_kinds[i].name) == len && !memcmp(view_kinds[i].name, name, len))
			return add_table(v, &view_kinds[i]);
	return unknown(name, len, err);
}

int views_new(const char *list, bool color, struct views **ret, struct err *err)
{
	struct views *v = calloc(1, sizeof(*v));
	int r = v ? 0 : -ENOMEM;

	if (v)
		v->spectrum.color = color;
	while (r >= 0 && *list) {
		size_t len = strcspn(list, ",");

		r = len ? add_named(v, list, len, err) : 0;
		list += len + (list[len] == ',');
	}
	if (r >= 0) {
		*ret = v;
		return 0;
	}
	views_free(v);
	return r == -ENOMEM ? err_errno(err, r, "--view") : r;
}

void views_free(struct views *v)
{
	if (!v)
		return;
	screen_free(v->screen);
	for (size_t i = 0; i < v->tables.len; i++)
		view_table_free(v->tables.items[i]);
	vec_fini(&v->tables);
	buf_fini(&v->key);
	free(v);
}

unsigned views_needs(const struct views *v)
{
	unsigned needs = 0;

	for (size_t i = 0; i < v->tables.len; i++)
		needs |= v->tables.items[i]->kind->needs;
	return needs;
}

/* ---- the sink ---- */

static int sink_open_views(struct sink *s, struct err *err)
{
	(void)s;
	(void)err;
	return 0;
}

static int sink_take(struct sink *s, const struct event *ev)
{
	views_take(s->opts->ctx, ev);
	return 0;
}

static int sink_close_views(struct sink *s)
{
	(void)s;
	return 0;
}

const struct sink_ops views_sink = {
	.name = "views", .summary = "tables of calls", .open = sink_open_views, .event = sink_take,
	.close = sink_close_views, .needs = 1u << SEC_PARAMS,
};

/* ---- values ---- */

static void scaled(double v, double step, const char *const *units, char *to, size_t cap)
{
	while (v >= step && units[1]) {
		v /= step;
		units++;
	}
	snprintf(to, cap, v >= 100 || v == (double)(uint64_t)v ? "%.0f%s" : "%.1f%s", v, *units);
}

static void time_text(uint64_t ns, char *to, size_t cap)
{
	static const char *const units[] = { "ns", "us", "ms", "s", NULL };

	scaled((double)ns, 1000, units, to, cap);
}

static void view_value_text(const struct view_table *t, uint64_t value, uint64_t span_ns, char *to, size_t cap)
{
	static const char *const bytes[] = { "B", "K", "M", "G", "T", NULL };

	switch (t->kind->unit) {
	case UNIT_BYTES:
		scaled((double)value, 1024, bytes, to, cap);
		break;
	case UNIT_NS:
		time_text(value, to, cap);
		break;
	case UNIT_COUNT:
	case UNIT__MAX:
		snprintf(to, cap, "%" PRIu64, value);
		break;
	case UNIT_CPU:
		snprintf(to, cap, "%.2f%%", span_ns ? 100.0 * (double)value / (double)span_ns : 0);
		break;
	}
}

static const char *unit_word(const struct view_table *t)
{
	static const char *const words[] = {
		[UNIT_BYTES] = "BYTES", [UNIT_NS] = "TIME", [UNIT_COUNT] = "NUMBER", [UNIT_CPU] = "CPU%",
	};

	_Static_assert(ARRAY_SIZE(words) == UNIT__MAX, "a word per unit");
	return words[t->kind->unit];
}

static uint64_t span_of(const struct views *v)
{
	return v->last_ns - v->first_ns;
}

static void row_line(const struct views *v, const struct view_table *t, size_t i, char *to, size_t cap)
{
	const struct view_row *row = &t->rows.items[i];
	char value[32];

	view_value_text(t, row->value, span_of(v), value, sizeof(value));
	snprintf(to, cap, "%10s %10" PRIu64 "  %s", value, row->count, row->key);
}

/* ---- the end of a run ---- */

static void print_table(const struct views *v, struct view_table *t, size_t rows)
{
	char line[1024];

	view_table_sort(t);
	printf("%10s %10s  %s\n", unit_word(t), "EVENTS", t->kind->key);
	for (size_t i = 0; i < t->rows.len && i < rows; i++) {
		row_line(v, t, i, line, sizeof(line));
		puts(line);
	}
}

static int print_json(struct view_table *t, size_t rows)
{
	struct buf out = { 0 };
	int r;

	view_table_sort(t);
	for (size_t i = 0; i < t->rows.len && i < rows; i++) {
		const struct view_row *row = &t->rows.items[i];
		struct json j = { .out = &out };

		json_open(&j, '{');
		json_key(&j, "v");
		json_u64(&j, 1);
		json_key(&j, "type");
		json_str(&j, "sys.view", strlen("sys.view"));
		json_key(&j, "view");
		json_str(&j, t->kind->name, strlen(t->kind->name));
		json_key(&j, "key");
		json_str(&j, row->key, strlen(row->key));
		json_key(&j, "value");
		json_u64(&j, row->value);
		json_key(&j, "events");
		json_u64(&j, row->count);
		json_close(&j, '}');
		buf_add_char(&out, '\n');
	}
	r = buf_error(&out);
	if (r >= 0)
		fwrite(out.data, 1, out.len, stdout);
	buf_fini(&out);
	return r;
}

int views_print_json(struct views *v, size_t rows)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < v->tables.len; i++)
		r = print_json(v->tables.items[i], rows);
	fflush(stdout);
	return r;
}

int views_print(struct views *v, size_t rows)
{
	if (v->spectrum.on && v->spectrum.interval_ns)
		view_spectrum_line(&v->spectrum);
	for (size_t i = 0; i < v->tables.len; i++) {
		if (v->tables.len > 1)
			printf("%s%s:\n", i ? "\n" : "", v->tables.items[i]->kind->title);
		print_table(v, v->tables.items[i], rows);
	}
	fflush(stdout);
	return 0;
}

/* ---- the screen ---- */

static void row_text(void *ctx, size_t i, char *to, size_t cap)
{
	struct views *v = ctx;

	row_line(v, v->tables.items[v->shown], i, to, cap);
}

static void on_show(void *ctx)
{
	struct views *v = ctx;
	struct view_table *t = v->tables.items[v->shown];
	char title[256], head[128];
	const struct screen_page page = {
		.title = title, .head = head, .n_rows = t->rows.len, .row = row_text, .ctx = v,
		.foot = "tab, backspace: other tables  c: from zero  p: pause  q: quit",
	};

	if (!v->paused)
		view_table_sort(t);
	snprintf(title, sizeof(title), "sonde syscalls: %s, %.0f s%s", t->kind->title, (double)span_of(v) / 1e9,
		 v->paused ? "  [paused]" : "");
	snprintf(head, sizeof(head), "%10s %10s  %s", unit_word(t), "EVENTS", t->kind->key);
	screen_show(v->screen, &page);
}

static void clear(struct views *v)
{
	for (size_t i = 0; i < v->tables.len; i++)
		for (size_t k = 0; k < v->tables.items[i]->rows.len; k++)
			v->tables.items[i]->rows.items[k].value = v->tables.items[i]->rows.items[k].count = 0;
	v->first_ns = v->last_ns;
}

static void on_key(void *ctx, int key)
{
	struct views *v = ctx;

	switch (key) {
	case '\t':
		v->shown = (v->shown + 1) % v->tables.len;
		screen_home(v->screen);
		break;
	case SCREEN_KEY_BACK:
		v->shown = (v->shown + v->tables.len - 1) % v->tables.len;
		screen_home(v->screen);
		break;
	case 'c':
		clear(v);
		break;
	case 'p':
		v->paused = !v->paused;
		break;
	default:
		break;
	}
}

static void on_quit(void *ctx)
{
	struct views *v = ctx;

	pipeline_stop(v->pipeline);
}

int views_screen(struct views *v, struct err *err)
{
	return screen_new("--top", "--view without it prints its tables at the end", &v->screen, err);
}

int views_start(struct views *v, struct loop *loop, struct pipeline *p, struct err *err)
{
	static const struct screen_ops ops = { .show = on_show, .key = on_key, .quit = on_quit };

	v->pipeline = p;
	return v->screen ? screen_start(v->screen, loop, &ops, v, err) : 0;
}

void views_stop(struct views *v)
{
	screen_free(v->screen);
	v->screen = NULL;
}
