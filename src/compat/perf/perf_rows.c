// SPDX-License-Identifier: GPL-2.0-or-later
#include "compat/perf/perf_rows.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/vec.h"

void perf_rows_init(struct perf_rows *r, const struct perf_rows_opts *o)
{
	r->o = o;
	map_init(&r->row_by_key, 4 * sizeof(uint64_t), sizeof(uint32_t));
}

/* ---- cells ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

const char *perf_rows_text(struct perf_rows *r, const char *text)
{
	char **found = tfind(text, &r->texts, by_text);
	char *copy;

	if (found)
		return *found;
	copy = arena_copy(&r->arena, text, strlen(text));
	return copy && tsearch(copy, &r->texts, by_text) ? copy : NULL;
}

int perf_rows_add_frame(struct perf_rows *r, const struct perf_frame *f)
{
	if (!f->sym || !f->dso || vec_push(&r->frames, *f) < 0)
		return -ENOMEM;
	return 0;
}

int perf_rows_add_cell(struct perf_rows *r, const struct perf_cell *c)
{
	if (!c->comm || vec_push(&r->cells, *c) < 0)
		return -ENOMEM;
	return 0;
}

/* ---- rows ---- */

static struct perf_row *row_of(struct perf_rows *r, const struct perf_cell *c, const struct perf_frame *f)
{
	const bool *keys = r->o->keys;
	const struct {
		const char *comm, *sym, *dso;
		uint32_t tid, cpu;
	} key = {
		.comm = keys[PERF_KEY_COMM] ? c->comm : NULL,
		.sym = keys[PERF_KEY_SYM] ? f->sym : NULL,
		.dso = keys[PERF_KEY_DSO] ? f->dso : NULL,
		.tid = keys[PERF_KEY_PID] ? c->tid : 0,
		.cpu = keys[PERF_KEY_CPU] ? c->cpu : 0,
	};
	bool is_new = false;
	uint32_t *i = map_add(&r->row_by_key, &key, &is_new);

	_Static_assert(sizeof(key) == 4 * sizeof(uint64_t), "no padding in a key");
	if (!i || (is_new && vec_grow(&r->rows) < 0))
		return NULL;
	if (is_new) {
		*i = (uint32_t)r->rows.len;
		r->rows.items[r->rows.len++] = (struct perf_row){
			.comm = c->comm,
			.frame = *f,
			.tid = c->tid,
			.cpu = c->cpu,
		};
	}
	return &r->rows.items[*i];
}

static bool is_shown(const struct perf_rows_opts *o, const struct perf_frame *f)
{
	if ((o->named && f->unnamed) || (o->no_kernel && f->level == 'k') || (o->no_user && f->level != 'k'))
		return false;
	return !o->symbol_part || strstr(f->sym, o->symbol_part);
}

static int add_place(struct perf_rows *r, uint32_t cell, uint32_t frame)
{
	const struct perf_cell *c = &r->cells.items[cell];
	const struct perf_frame *f = &r->frames.items[c->first + frame];
	struct perf_row *row = is_shown(r->o, f) ? row_of(r, c, f) : NULL;

	if (!row)
		return is_shown(r->o, f) ? -ENOMEM : 0;
	if (!frame) {
		row->self.value += c->value;
		row->self.count += c->count;
	}
	/* a function that recurs counts once */
	if (row->places.len && row->places.items[row->places.len - 1].cell == cell)
		return 0;
	if (vec_push(&row->places, (struct perf_place){ .cell = cell, .frame = frame }) < 0)
		return -ENOMEM;
	row->total.value += c->value;
	row->total.count += c->count;
	row->depth = MAX(row->depth, (size_t)(frame ? frame + 1 : c->n));
	return 0;
}

/* The innermost function first, whose chain is the whole one; then from the outermost inwards. */
static int add_places(struct perf_rows *r, uint32_t cell)
{
	const struct perf_cell *c = &r->cells.items[cell];
	int ret = add_place(r, cell, 0);

	r->all.value += c->value;
	r->all.count += c->count;
	for (uint32_t f = c->n; ret >= 0 && r->o->children && r->has_chains && f > 1; f--)
		ret = add_place(r, cell, f - 1);
	return ret;
}

static int by_weight(const void *a, const void *b, void *children)
{
	const struct perf_row *x = a, *y = b;
	int r = *(bool *)children ? COMPARE(y->total.value, x->total.value) ?: COMPARE(y->depth, x->depth) : 0;

	return r ?: COMPARE(y->self.value, x->self.value) ?: strcmp(x->frame.sym, y->frame.sym);
}

int perf_rows_finish(struct perf_rows *r)
{
	bool children = r->o->children && r->has_chains;
	int ret = 0;

	for (uint32_t i = 0; ret >= 0 && i < r->cells.len; i++)
		ret = add_places(r, i);
	if (ret >= 0 && r->rows.len)
		qsort_r(r->rows.items, r->rows.len, sizeof(*r->rows.items), by_weight, &children);
	return ret;
}

static void keep_text(_unused_ void *text)
{
}

void perf_rows_clear(struct perf_rows *r)
{
	for (size_t i = 0; i < r->rows.len; i++)
		vec_fini(&r->rows.items[i].places);
	vec_fini(&r->rows);
	vec_fini(&r->cells);
	vec_fini(&r->frames);
	map_clear(&r->row_by_key);
	tdestroy(r->texts, keep_text);
	r->texts = NULL;
	arena_reset(&r->arena);
	r->all = (struct perf_total){ 0 };
}

void perf_rows_fini(struct perf_rows *r)
{
	perf_rows_clear(r);
	map_fini(&r->row_by_key);
	arena_fini(&r->arena);
}
