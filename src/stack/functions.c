// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each different stack is an entry of a set, and its names are kept beside it. A stack is named in a set of its own,
 * since names are looked up for all stacks of a set.
 */
#include "stack/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "event/event.h"
#include "stack/stack.h"
#include "stack/view.h"

#define SEEN_BYTES (16u << 20)
#define TEXT_BYTES (16u << 20)	/* then all is forgotten */
#define ONE_BYTES (1u << 20)

struct names {
	const char *text;	/* NULL = to be named */
	size_t len;
	uint64_t uses, again;	/* a name is missing: named again at this use, then at twice as many; 0 = never */
};

struct stack_functions {
	struct event_functions pub;
	struct sym *sym;
	struct stack_set *seen, *one;
	VEC(struct names) names;	/* by entry of `seen` */
	struct arena texts;
	struct stack_frames frames;
	struct buf text;		/* of the stack at hand */
};
_Static_assert(offsetof(struct stack_functions, pub) == 0, "list() casts");

static void forget(struct stack_functions *f)
{
	stack_set_clear(f->seen);
	f->names.len = 0;
	arena_reset(&f->texts);
}

/* The names of @ev into f->text. *ret_whole: none is missing. */
static int name_stack(struct stack_functions *f, const struct event *ev, bool *ret_whole)
{
	_cleanup_(stack_names_freep) struct stack_names *names = NULL;
	const struct stack_view plain = { 0 };
	size_t at;
	int r;

	stack_set_clear(f->one);
	buf_reset(&f->text);
	r = stack_set_put(f->one, ev, &at);
	if (r >= 0)
		r = stack_names_new(f->one, f->sym, &names);
	if (r >= 0)
		r = stack_names_all(names, stack_set_at(f->one, at), &plain, &f->frames);
	*ret_whole = true;
	for (size_t i = 0; r >= 0 && i < f->frames.len; i++) {
		const struct stack_frame *frame = &f->frames.items[i];

		*ret_whole = *ret_whole && (!frame->func || *frame->func->name);
		r = buf_add(&f->text, frame->name, strlen(frame->name) + 1);
	}
	return r;
}

/* NULL without memory. */
static struct names *names_at(struct stack_functions *f, size_t at)
{
	while (f->names.len <= at) {
		if (vec_push(&f->names, (struct names){ 0 }) < 0)
			return NULL;
	}
	return &f->names.items[at];
}

static void keep(struct stack_functions *f, struct names *n, bool whole)
{
	n->text = arena_copy(&f->texts, f->text.data, f->text.len);
	n->len = f->text.len;
	n->again = whole ? 0 : 2 * n->uses + 1;
	if (!n->text)
		forget(f);
}

static int list(struct event_functions *pub, const struct event *ev, const char **ret, size_t *ret_len)
{
	struct stack_functions *f = (struct stack_functions *)pub;
	struct names *n = NULL;
	size_t at;
	bool whole;
	int r;

	if (!event_section(ev, SEC_STACK_USER) && !event_section(ev, SEC_STACK_KERN))
		return -ENOENT;
	r = stack_set_put(f->seen, ev, &at);
	if (r == -ENOSPC) {
		forget(f);
		r = stack_set_put(f->seen, ev, &at);
	}
	if (r == -ENOMEM)
		return r;
	n = r < 0 ? NULL : names_at(f, at);
	if (n && n->text && (++n->uses < n->again || !n->again)) {
		*ret = n->text;
		*ret_len = n->len;
		return 0;
	}
	r = name_stack(f, ev, &whole);
	if (r == -ENOMEM || !f->text.len)
		return r == -ENOMEM ? r : -ENOENT;
	*ret = f->text.data;
	*ret_len = f->text.len;
	if (n)
		keep(f, n, whole);
	return 0;
}

int stack_functions_new(struct sym *sym, struct stack_functions **ret)
{
	const struct stack_set_opts seen = { .budget_bytes = SEEN_BYTES }, one = { .budget_bytes = ONE_BYTES };
	struct stack_functions *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->pub.list = list;
	f->sym = sym;
	f->texts.limit_bytes = TEXT_BYTES;
	if (stack_set_new(sym, &seen, &f->seen) < 0 || stack_set_new(sym, &one, &f->one) < 0) {
		stack_functions_free(f);
		return -ENOMEM;
	}
	*ret = f;
	return 0;
}

void stack_functions_free(struct stack_functions *f)
{
	if (!f)
		return;
	stack_set_free(f->seen);
	stack_set_free(f->one);
	vec_fini(&f->names);
	vec_fini(&f->frames);
	arena_fini(&f->texts);
	buf_fini(&f->text);
	free(f);
}

struct event_functions *stack_functions_of(struct stack_functions *f)
{
	return f ? &f->pub : NULL;
}
