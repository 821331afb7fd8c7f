// SPDX-License-Identifier: GPL-2.0-or-later
#include "compat/perf/perf_hist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "compat/perf/perf_frame.h"
#include "compat/perf/perf_input.h"
#include "event/core.h"
#include "event/event.h"
#include "sinks/sink.h"

#define UNKNOWN "[unknown]"

int perf_hist_open(struct perf_hist *h, const struct perf_hist_opts *o, const struct sink_opts *so)
{
	h->o = o;
	map_init(&h->sums, sizeof(uint64_t), sizeof(struct perf_total));
	perf_rows_init(&h->rows, &o->rows);
	return sinks_profile_open(&h->profile, so);
}

int perf_hist_event(struct sink *sink, const struct event *ev)
{
	struct perf_hist *h = sink->state;
	uint64_t key, count, value;
	struct perf_total *s;
	size_t entry;

	if (ev->desc->type == SONDE_EV_LEDGER)
		h->lost += ((const struct core_ledger *)ev->body)->lost;
	if (sinks_profile_take(&h->profile, ev, &entry) < 0)
		return 0;
	h->event = perf_input_event(ev, h->event);
	h->rows.has_chains = h->rows.has_chains || perf_frame_is_chain(ev);
	key = (uint64_t)entry << 16 | (h->o->rows.keys[PERF_KEY_CPU] ? ev->cpu : 0);
	s = map_add(&h->sums, &key, NULL);
	if (!s)
		return -ENOMEM;
	count = stack_event_count(h->profile.set, ev);
	value = stack_event_value(h->profile.set, ev);
	s->count += count;
	s->value += value ? value : count;
	return 0;
}

/* ---- cells ---- */

static int add_frame(struct perf_hist *h, const struct stack_frame *f)
{
	_cleanup_(buf_fini) struct buf sym = { 0 }, dso = { 0 };
	struct perf_frame to = {
		.level = f->part == STACK_PART_KERN ? 'k' : '.',
		.unnamed = !f->func || !*f->func->name,
	};

	str_escape_buf(&sym, f->name, strlen(f->name));
	perf_frame_short_dso(h->profile.sym, f, &dso);
	to.sym = perf_rows_text(&h->rows, buf_str(&sym));
	to.dso = perf_rows_text(&h->rows, buf_str(&dso));
	return perf_rows_add_frame(&h->rows, &to);
}

static bool is_selected(const struct perf_hist *h, const struct stack_frames *frames)
{
	const struct stack_frame *f = frames->len ? &frames->items[0] : NULL;

	return perf_frame_selected(h->profile.sym, f, &h->o->symbols, &h->o->dsos);
}

/* A stack without a frame gets an unknown frame. */
static int add_cell(struct perf_hist *h, uint64_t key, const struct perf_total *s, const struct stack_frames *f)
{
	const struct stack_entry *e = stack_set_at(h->profile.set, key >> 16);
	const struct stack_frame none = { .name = UNKNOWN, .part = STACK_PART_USER };
	const size_t n = h->rows.has_chains ? f->len : MIN(f->len, (size_t)1);
	char comm[64];
	struct perf_cell c = {
		.value = s->value,
		.count = s->count,
		.cpu = (uint32_t)(key & 0xffff),
		.tid = e->key.tid ? e->key.tid : e->key.tgid,
		.first = (uint32_t)h->rows.frames.len,
	};
	int r = 0;

	if (!is_selected(h, f))
		return 0;
	str_escape(comm, sizeof(comm), e->key.comm, strnlen(e->key.comm, sizeof(e->key.comm)));
	c.comm = perf_rows_text(&h->rows, comm);
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = add_frame(h, &f->items[i]);
	if (r >= 0 && !n)
		r = add_frame(h, &none);
	c.n = (uint32_t)(h->rows.frames.len - c.first);
	return r < 0 ? r : perf_rows_add_cell(&h->rows, &c);
}

/* In the order in which the stacks came: equal rows are in the same order on every run. */
static int make_cells(struct perf_hist *h, struct stack_names *names)
{
	_cleanup_free_ uint64_t *keys = calloc(h->sums.len + 1, sizeof(*keys));
	struct stack_frames frames = { 0 };
	size_t pos = 0, n = 0;
	void *key, *val;
	int r = keys ? 0 : -ENOMEM;

	while (r >= 0 && map_next(&h->sums, &pos, &key, &val))
		keys[n++] = *(uint64_t *)key;
	if (n)
		qsort(keys, n, sizeof(*keys), vec_by_u64);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		r = stack_names_all(names, stack_set_at(h->profile.set, keys[i] >> 16), &h->profile.view, &frames);
		if (r >= 0)
			r = add_cell(h, keys[i], map_find(&h->sums, &keys[i]), &frames);
	}
	vec_fini(&frames);
	return r;
}

int perf_hist_finish(struct perf_hist *h)
{
	_cleanup_(stack_names_freep) struct stack_names *names = NULL;
	int r = stack_names_new(h->profile.set, h->profile.sym, &names);

	if (r >= 0)
		r = make_cells(h, names);
	return r < 0 ? r : perf_rows_finish(&h->rows);
}

void perf_hist_clear(struct perf_hist *h)
{
	perf_rows_clear(&h->rows);
	map_clear(&h->sums);
	stack_set_clear(h->profile.set);
}

void perf_hist_fini(struct perf_hist *h)
{
	perf_rows_fini(&h->rows);
	map_fini(&h->sums);
	sinks_profile_fini(&h->profile);
}
