// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables of a run: filled by a sink, printed at the end.
 */
#include "cmd/syscalls/sysdig_views.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/vec.h"
#include "cmd/syscalls/view_spectrum.h"
#include "cmd/syscalls/view_table.h"
#include "event/event.h"
#include "event/json.h"
#include "scap/render.h"
#include "scap/schema.h"
#include "scap/state/state.h"
#include "sinks/sink.h"

#define ERRNO_MAX 4095	/* MAX_ERRNO of the kernel */

struct sysdig_views {
	VEC(struct view_table *) tables;
	struct view_spectrum spectrum;
	uint64_t first_ns, last_ns;	/* of the events */
	struct buf key;			/* scratch */
};

/* ---- events ---- */

/* The native event has it from the kernel; a capture's event from the entry before it. */
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

/* Counts an event; ignores events without process and descriptor state. 0 or -ENOMEM. */
static int take_event(struct sysdig_views *v, const struct event *ev)
{
	struct view_event e;
	int r = 0;

	if (!ev->view || !ev->view->info || ev->desc->class != EVENT_DATA)
		return 0;
	fill(&e, ev, ev->view);
	v->last_ns = ev->view->ts_ns;
	if (!v->first_ns)
		v->first_ns = v->last_ns;
	for (size_t i = 0; r >= 0 && i < v->tables.len; i++)
		r = view_table_take(v->tables.items[i], &e, &v->key);
	if (v->spectrum.on)
		view_spectrum_take(&v->spectrum, ev->view->ts_ns, e.leaves ? e.latency_ns : 0);
	return r;
}

/* ---- life ---- */

static int add_table(struct sysdig_views *v, const struct view_kind *kind)
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
	r = err_set(err, -EINVAL, "--view %.*s: expected %sspectrogram", (int)MIN(len, (size_t)64), name,
		    buf_str(&all));
	buf_fini(&all);
	return r;
}

static int add_named(struct sysdig_views *v, const char *name, size_t len, struct err *err)
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

int sysdig_views_new(const char *list, bool color, struct sysdig_views **ret, struct err *err)
{
	struct sysdig_views *v = calloc(1, sizeof(*v));
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
	sysdig_views_free(v);
	return r == -ENOMEM ? err_errno(err, r, "--view") : r;
}

void sysdig_views_free(struct sysdig_views *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->tables.len; i++)
		view_table_free(v->tables.items[i]);
	vec_fini(&v->tables);
	buf_fini(&v->key);
	free(v);
}

unsigned sysdig_views_needs(const struct sysdig_views *v)
{
	unsigned needs = 0;

	for (size_t i = 0; i < v->tables.len; i++)
		needs |= v->tables.items[i]->kind->needs;
	return needs;
}

/* ---- the sink ---- */

static int sink_open_views(_unused_ struct sink *s, _unused_ struct err *err)
{
	return 0;
}

static int sink_take(struct sink *s, const struct event *ev)
{
	return take_event(s->opts->ctx, ev);
}

const struct sink_ops sysdig_views_sink = {
	.name = "views", .summary = "tables of calls", .open = sink_open_views, .event = sink_take,
	.needs = 1u << SEC_PARAMS,
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

static uint64_t span_of(const struct sysdig_views *v)
{
	return v->last_ns - v->first_ns;
}

static void row_line(const struct sysdig_views *v, const struct view_table *t, size_t i, char *to, size_t cap)
{
	const struct view_row *row = &t->rows.items[i];
	char value[32];

	view_value_text(t, row->value, span_of(v), value, sizeof(value));
	snprintf(to, cap, "%10s %10" PRIu64 "  %s", value, row->count, row->key);
}

/* ---- the end of a run ---- */

static void print_table(const struct sysdig_views *v, struct view_table *t, size_t rows)
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
		json_put_u64(&j, "v", 1);
		json_put_text(&j, "type", "sys.view");
		json_put_text(&j, "view", t->kind->name);
		json_put_text(&j, "key", row->key);
		json_put_u64(&j, "value", row->value);
		json_put_u64(&j, "events", row->count);
		json_close(&j, '}');
		buf_add_char(&out, '\n');
	}
	r = buf_error(&out);
	if (r >= 0)
		fwrite(out.data, 1, out.len, stdout);
	buf_fini(&out);
	return r;
}

int sysdig_views_print_json(struct sysdig_views *v, size_t rows)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < v->tables.len; i++)
		r = print_json(v->tables.items[i], rows);
	fflush(stdout);
	return r;
}

int sysdig_views_print(struct sysdig_views *v, size_t rows)
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
