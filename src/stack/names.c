// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Frames with names. Looks up each location once, as itself or as a return address. The address of a frame
 * interrupted by a signal is the instruction itself, not a return address.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "stack/view.h"

struct want {
	struct sym_loc loc;
	uint64_t caller;	/* 0 or 1; this wide to avoid padding */
};
_Static_assert(sizeof(struct want) == 24, "no padding in want");

struct stack_names {
	struct sym *sym;
	struct map index;		/* struct want -> u32 index into frames */
	struct sym_query *queries;
	struct sym_frame *frames;
	size_t n, cap;			/* queries */
	size_t n_frames;		/* of these, answered */
	bool has_signals;		/* some frame is by a signal */
	struct map note_by_end;		/* u64 module << 8 | end -> const char * */
	struct map place_by_loc;	/* struct sym_loc -> const char * */
	struct arena texts;		/* notes and places */
};

static const struct sym_func no_name = { .name = "", .raw = "", .file = "" };

void stack_names_free(struct stack_names *n)
{
	if (!n)
		return;
	map_fini(&n->index);
	map_fini(&n->note_by_end);
	map_fini(&n->place_by_loc);
	arena_fini(&n->texts);
	free(n->queries);
	free(n->frames);
	free(n);
}

static int add_query(struct stack_names *n, const struct want *w)
{
	bool is_new = false;
	uint32_t *i = map_add(&n->index, w, &is_new);

	if (!i)
		return -ENOMEM;
	if (!is_new)
		return 0;
	if (n->n == n->cap) {
		size_t cap = n->cap ? n->cap * 2 : 256;
		struct sym_query *q = reallocarray(n->queries, cap, sizeof(*q));

		if (!q)
			return -ENOMEM;
		n->queries = q;
		n->cap = cap;
	}
	*i = (uint32_t)n->n;
	n->queries[n->n++] = (struct sym_query){ .loc = w->loc, .caller = w->caller };
	return 0;
}

static int add_queries(struct stack_names *n, const struct sym_loc *locs, uint32_t len)
{
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < len; i++)
		r = add_query(n, &(struct want){ .loc = locs[i], .caller = i > 0 });
	return r;
}

/* Names for the queries from @from on. */
static int answer(struct stack_names *n, size_t from)
{
	struct sym_frame *frames = reallocarray(n->frames, n->cap + 1, sizeof(*frames));
	int r;

	if (!frames)
		return -ENOMEM;
	n->frames = frames;
	n->n_frames = n->n;
	for (size_t i = from; i < n->n; i++)
		frames[i] = (struct sym_frame){ .funcs = &no_name, .n = 1 };
	r = n->sym && n->n > from ? sym_frames(n->sym, n->queries + from, n->n - from, frames + from) : 0;
	for (size_t i = from; r >= 0 && i < n->n; i++)
		n->has_signals |= sym_stack_by_signal(&frames[i]);
	return r;
}

/* NULL if it was not requested, or is in the pending batch. */
static struct sym_frame frame_at(const struct stack_names *n, const struct sym_loc *loc, bool caller)
{
	const struct want w = { .loc = *loc, .caller = caller };
	const uint32_t *i = map_find(&n->index, &w);

	return i && *i < n->n_frames ? n->frames[*i] : (struct sym_frame){ .funcs = &no_name, .n = 1 };
}

/* The address behind a frame by a signal is that of an instruction, not a return address. */
static int add_interrupted(struct stack_names *n, const struct sym_loc *locs, uint32_t len)
{
	bool caller = false;
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i + 1 < len; i++) {
		struct sym_frame f = frame_at(n, &locs[i], caller);

		caller = !sym_stack_by_signal(&f);
		if (!caller)
			r = add_query(n, &(struct want){ .loc = locs[i + 1] });
	}
	return r;
}

typedef int (*add_fn)(struct stack_names *n, const struct sym_loc *locs, uint32_t len);

/* One batch: collects @add's queries from all stacks and names them at once. */
static int ask(struct stack_names *n, const struct stack_set *s, add_fn add)
{
	size_t before = n->n;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < stack_set_len(s); i++) {
		const struct stack_entry *e = stack_set_at(s, i);

		r = add(n, e->user, e->n_user);
		if (r >= 0)
			r = add(n, e->kern, e->n_kern);
	}
	return r < 0 ? r : answer(n, before);
}

/* A frame that got another name may be by a signal, too. */
static int ask_interrupted(struct stack_names *n, const struct stack_set *s)
{
	size_t before;
	int r;

	do {
		before = n->n;
		r = ask(n, s, add_interrupted);
	} while (r >= 0 && n->n > before);
	return r;
}

int stack_names_new(const struct stack_set *s, struct sym *sym, struct stack_names **ret)
{
	_cleanup_(stack_names_freep) struct stack_names *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	n->sym = sym;
	map_init(&n->index, sizeof(struct want), sizeof(uint32_t));
	map_init(&n->note_by_end, sizeof(uint64_t), sizeof(const char *));
	map_init(&n->place_by_loc, sizeof(struct sym_loc), sizeof(const char *));
	r = ask(n, s, add_queries);
	if (r >= 0 && n->has_signals)
		r = ask_interrupted(n, s);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(n);
	return 0;
}

/* ---- frames ---- */

static int push(struct stack_frames *ret, const struct stack_frame *f)
{
	return vec_push(ret, *f);
}

static int push_note(struct stack_frames *ret, const char *text)
{
	return push(ret, &(struct stack_frame){ .name = text, .part = STACK_PART_NOTE });
}

/* "[libc.so.6+0x8f0a3]"; NULL if the address is not an offset in a file, or without memory. */
static const char *place_name(struct stack_names *n, const struct sym_loc *loc)
{
	const struct sym_module *m = n->sym ? sym_module(n->sym, loc->module) : NULL;
	_cleanup_(buf_fini) struct buf b = { 0 };
	const char **place;

	if (!m || (m->kind != SYM_FILE && m->kind != SYM_VDSO))
		return NULL;
	place = map_add(&n->place_by_loc, loc, NULL);
	if (!place || *place)
		return place ? *place : NULL;
	buf_printf(&b, "[%s+0x%llx]", m->kind == SYM_VDSO ? "vdso" : stack_names_module_name(m),
		   (unsigned long long)loc->addr);
	if (!buf_error(&b))
		*place = arena_copy(&n->texts, b.data, b.len);
	return *place;
}

static void name_frame(struct stack_names *n, struct stack_frame *f)
{
	f->name = *f->func->name ? f->func->name : place_name(n, &f->loc);
	f->unknown = !f->name;
	if (f->unknown)
		f->name = "[unknown]";
}

static int push_frame(struct stack_names *n, struct stack_frames *ret, const struct sym_frame *f,
		      const struct stack_frame *like)
{
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < f->n; i++) {
		struct stack_frame one = *like;

		one.func = &f->funcs[i];
		one.inlined = i + 1 < f->n;
		name_frame(n, &one);
		r = push(ret, &one);
	}
	return r;
}

static int push_stack(struct stack_names *n, const struct sym_loc *locs, const uint64_t *ips, uint32_t len,
		      enum stack_part part, struct stack_frames *ret)
{
	bool interrupted = true;	/* the frame's address is that of the instruction itself */
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < len; i++) {
		struct sym_frame f = frame_at(n, &locs[i], i > 0 && !interrupted);
		struct stack_frame like = { .loc = locs[i], .ip = ips[i], .part = part, .caller = !interrupted };

		interrupted = sym_stack_by_signal(&f);
		r = push_frame(n, ret, &f, &like);
	}
	return r;
}

uint64_t stack_names_frame_offset(const struct stack_frame *f)
{
	if (!f->func)
		return 0;
	return f->func->start ? f->loc.addr - f->func->start : f->func->off;
}

/* ---- notes on truncated stacks ---- */

const char *stack_names_module_name(const struct sym_module *m)
{
	const char *slash = strrchr(m->path, '/');

	if (!*m->path)
		return "?";
	return slash && slash[1] ? slash + 1 : m->path;
}

/* Whether the reason depends on the file of the last frame. */
static bool names_module(uint32_t user_end)
{
	return user_end == SONDE_STACK_NO_TABLE || user_end == SONDE_STACK_NO_RULE || user_end == SONDE_STACK_FP ||
	       user_end == SONDE_STACK_RULE;
}

static const char *new_note(struct stack_names *n, const struct sym_module *m, uint32_t user_end)
{
	const char *reason = stack_end_reason(user_end);
	_cleanup_(buf_fini) struct buf b = { 0 };

	if (m && m->kind != SYM_UNKNOWN && names_module(user_end))
		buf_printf(&b, "[truncated: %s in %s]", reason, stack_names_module_name(m));
	else
		buf_printf(&b, "[truncated: %s]", reason);
	return buf_error(&b) ? NULL : arena_copy(&n->texts, b.data, b.len);
}

static const char *truncation(struct stack_names *n, const struct stack_entry *e)
{
	uint32_t module = e->user[e->n_user - 1].module;
	uint64_t key = (uint64_t)module << 8 | MIN(e->user_end, (uint32_t)SONDE_STACK__MAX);
	const char **note = map_add(&n->note_by_end, &key, NULL);

	if (note && !*note)
		*note = new_note(n, n->sym ? sym_module(n->sym, module) : NULL, e->user_end);
	return note && *note ? *note : "[truncated]";
}

int stack_names_user(struct stack_names *n, const struct stack_entry *e, struct stack_frames *ret)
{
	int r;

	ret->len = 0;
	if (stack_entry_missed_user(e))
		return push_note(ret, "[Missed User Stack]");
	r = push_stack(n, e->user, e->user_ips, e->n_user, STACK_PART_USER, ret);
	if (r < 0 || !e->n_user || !stack_end_reason(e->user_end))
		return r;
	return push_note(ret, truncation(n, e));
}

static int stack_names_kern(struct stack_names *n, const struct stack_entry *e, struct stack_frames *ret)
{
	ret->len = 0;
	if (stack_entry_missed_kern(e))
		return push_note(ret, "[Missed Kernel Stack]");
	return push_stack(n, e->kern, e->kern_ips, e->n_kern, STACK_PART_KERN, ret);
}

int stack_names_all(struct stack_names *n, const struct stack_entry *e, const struct stack_view *v,
		    struct stack_frames *ret)
{
	struct stack_frames user = { 0 };
	int r = 0;

	ret->len = 0;
	if (!v->user_only)
		r = stack_names_kern(n, e, ret);
	if (r >= 0 && !v->kernel_only)
		r = stack_names_user(n, e, &user);
	if (r >= 0 && v->delimiter && e->n_user && e->n_kern && ret->len && user.len)
		r = push_note(ret, "-");
	for (size_t i = 0; r >= 0 && i < user.len; i++)
		r = push(ret, &user.items[i]);
	vec_fini(&user);
	return r;
}
