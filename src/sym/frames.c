// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Locations to functions: looks up unknown locations file by file, each once, and keeps the names.
 */
#include "sym/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "sym/jit.h"
#include "sym/lookup.h"
#include "sym/module.h"
#include "sym/recorded.h"
#include "sym/symbolizer.h"
#include "sym/texts.h"

#define FRAME_BYTES 56	/* approximate cost of an entry in bytes */

struct frame_key { uint64_t addr; uint32_t module, caller; };

static const struct sym_func nameless = { .name = "", .raw = "", .file = "" };	/* its file has no name for it */
static const struct sym_func unanswered = { .name = "", .raw = "", .file = "" };	/* could not ask its file */

void sym_frames_init(struct sym *s)
{
	map_init(&s->frames, sizeof(struct frame_key), sizeof(struct sym_frame));
	map_init(&s->texts, sizeof(uint64_t), sizeof(const char *));
}

void sym_frames_fini(struct sym *s)
{
	map_fini(&s->frames);
	map_fini(&s->texts);
}

bool sym_frames_missing(const struct sym_frame *f)
{
	return f->funcs == &unanswered;
}

/* ---- the table of frames ---- */

static bool has_room(const struct sym *s)
{
	return s->frames.len * FRAME_BYTES < s->o.budget_bytes / 2;
}

/* @n 0: it has no name, and @empty is the reason. */
static int keep_frame(struct sym *s, const struct frame_key *k, const struct sym_func *funcs, uint32_t n,
		      const struct sym_func *empty)
{
	struct sym_func *copy = n ? arena_alloc(&s->arena, n * sizeof(*copy)) : NULL;
	struct sym_frame *f;
	bool is_new;

	if (!has_room(s))
		return 0;
	f = map_add(&s->frames, k, &is_new);
	if (!f)
		return -ENOMEM;
	s->stats.unnamed += is_new;
	*f = (struct sym_frame){ .funcs = empty, .n = 1 };
	if (!copy)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		copy[i] = funcs[i];
		copy[i].name = sym_texts_keep(s, funcs[i].name, strlen(funcs[i].name));
		copy[i].raw = sym_texts_keep(s, funcs[i].raw, strlen(funcs[i].raw));
		copy[i].file = sym_texts_keep(s, funcs[i].file, strlen(funcs[i].file));
	}
	*f = (struct sym_frame){ .funcs = copy, .n = n };
	s->stats.unnamed--;
	s->stats.named++;
	return 0;
}

static int keep_kernel(struct sym *s, const struct frame_key *k)
{
	const struct kernel_name *name = map_find(&s->kernel, &k->addr);
	struct sym_func f;

	if (!name || !name->name[0])
		return keep_frame(s, k, NULL, 0, &unanswered);
	f = (struct sym_func){
		.name = name->name, .raw = name->name, .file = "", .off = name->off,
		.start = k->addr - name->off,
	};
	return keep_frame(s, k, &f, 1, &unanswered);
}

/* ---- asking ---- */

static int compare_keys(const void *a, const void *b)
{
	const struct frame_key *x = a, *y = b;

	return COMPARE(x->module, y->module) ?: COMPARE(x->addr, y->addr) ?: COMPARE(x->caller, y->caller);
}

struct group {
	struct sym *s;
	const struct frame_key *keys;
	bool *told;
};

static int take_answer(void *ctx, size_t i, const struct sym_func *funcs, uint32_t n)
{
	struct group *g = ctx;

	g->told[i] = true;
	return keep_frame(g->s, &g->keys[i], funcs, n, &nameless);
}

/* Looks up the locations of one module; @keys correspond to @a->asks. */
static int ask_module(struct sym *s, const struct lookup_group *a, const struct frame_key *keys)
{
	_cleanup_free_ bool *told = calloc(a->n, sizeof(*told));
	struct group g = { .s = s, .keys = keys, .told = told };
	int r;

	if (!told)
		return -ENOMEM;
	r = lookup_module(s, a->m, a->asks, a->n, take_answer, &g);
	for (size_t i = 0; r != -ENOMEM && i < a->n; i++)
		if (!told[i])
			r = keep_frame(s, &keys[i], NULL, 0, &unanswered);
	return r == -ENOMEM ? r : 0;
}

/* Several modules per batch. @keys: of all groups, in order. */
static int ask_groups(struct sym *s, const struct lookup_group *groups, size_t n, const struct frame_key *keys)
{
	const size_t most = lookup_prefetch_max();
	int r = 0;

	for (size_t from = 0; r >= 0 && from < n; from += most) {
		size_t now = n - from < most ? n - from : most;

		lookup_prefetch(s, groups + from, now);
		for (size_t i = from; r >= 0 && i < from + now; i++) {
			r = ask_module(s, &groups[i], keys);
			keys += groups[i].n;
			free(TAKE_PTR(groups[i].m->first_answer));
		}
	}
	return r;
}

static int ask_all(struct sym *s, struct frame_key *keys, size_t n)
{
	_cleanup_free_ struct ask *asks = calloc(n, sizeof(*asks));
	_cleanup_free_ struct lookup_group *groups = calloc(n, sizeof(*groups));
	size_t unique = 0, n_groups = 0;

	if (!asks || !groups)
		return -ENOMEM;

	qsort(keys, n, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < n; i++)
		if (!unique || compare_keys(&keys[unique - 1], &keys[i]))
			keys[unique++] = keys[i];
	for (size_t i = 0; i < unique; i++) {
		asks[i] = (struct ask){ .addr = keys[i].addr, .caller = keys[i].caller };
		if (!i || keys[i].module != keys[i - 1].module)
			groups[n_groups++] = (struct lookup_group){
				.m = sym_module_at(s, keys[i].module),
				.asks = &asks[i],
			};
		groups[n_groups - 1].n++;
	}
	return ask_groups(s, groups, n_groups, keys);
}

static struct frame_key key_of(const struct sym_query *q)
{
	return (struct frame_key){ .addr = q->loc.addr, .module = q->loc.module, .caller = q->caller };
}

/* A file that could not be opened may exist now; a perf map may have grown. */
static bool is_known(const struct sym *s, const struct frame_key *k)
{
	const struct sym_frame *f = map_find(&s->frames, k);
	const struct module *m = sym_module_at(s, k->module);

	if (f && f->funcs == &unanswered)
		return m->refused;
	if (!f || f->funcs != &nameless || m->pub.kind != SYM_JIT)
		return f;
	return jit_bytes(m) == m->read_bytes;
}

/* False: the recording does not say. Without `lines` inlined functions are left out, as in a live run. */
static bool keep_recorded(struct sym *s, const struct frame_key *k, int *ret)
{
	const struct module *m = sym_module_at(s, k->module);
	const struct sym_frame *f = recorded_find(s, m, k->addr, k->caller);
	struct sym_func last;

	if (!f && !k->caller && !s->o.collects) /* the same function: else sym_collect_write() had recorded both */
		f = recorded_find(s, m, k->addr, true);
	if (!f || (!f->n && s->o.collects))
		return false;
	if (s->o.lines || !f->n) {
		*ret = keep_frame(s, k, f->funcs, f->n, &nameless);
		return true;
	}
	last = f->funcs[f->n - 1];
	last.file = "";
	last.line = 0;
	*ret = keep_frame(s, k, &last, 1, &nameless);
	return true;
}

int sym_frames(struct sym *s, const struct sym_query *q, size_t n, struct sym_frame *ret)
{
	_cleanup_free_ struct frame_key *missing = calloc(n + 1, sizeof(*missing));
	size_t n_missing = 0;
	int r = 0;

	if (!missing)
		return -ENOMEM;
	s->wasted_ns = 0;
	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct frame_key k = key_of(&q[i]);

		if (is_known(s, &k))
			continue;
		if (sym_module_at(s, k.module)->pub.kind == SYM_KERNEL)
			r = keep_kernel(s, &k);
		else if (keep_recorded(s, &k, &r))
			continue;
		else if (sym_module_at(s, k.module)->pub.kind != SYM_UNKNOWN)
			missing[n_missing++] = k;
	}
	if (r >= 0 && n_missing)
		r = ask_all(s, missing, n_missing);
	for (size_t i = 0; i < n; i++) {
		struct frame_key k = key_of(&q[i]);
		const struct sym_frame *f = map_find(&s->frames, &k);

		ret[i] = f ? *f : (struct sym_frame){ .funcs = &nameless, .n = 1 };
	}
	return r;
}
