// SPDX-License-Identifier: GPL-2.0-or-later
#include "compat/strace/strace_stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/vec.h"
#include "compat/strace/strace_line.h"
#include "event/event.h"
#include "sym/sym.h"

#define LOOSE_MAX 65536u	/* stacks of calls that have not returned */
#define LATE_NS 2000000000ull	/* the longest wait for a stack */

struct stack {
	uint32_t tid;
	uint64_t ts_ns, ip;	/* ts_ns 0 = none */
	struct sym_loc *locs;	/* owned */
	size_t n;
};

struct line {
	FILE *out;
	char *text; /* owned */
	size_t len, ip_at;
	uint32_t tid;
	uint64_t after_ns, until_ns;
	struct stack stack;
};

struct strace_stacks {
	bool whole;
	strace_stacks_fn write;
	void *ctx;
	VEC(struct stack) loose;
	VEC(struct line) lines;
	uint64_t now_ns; /* of the latest stack or line */
	struct buf text;
};

struct strace_stacks *strace_stacks_new(bool whole, strace_stacks_fn write, void *ctx)
{
	struct strace_stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->whole = whole;
	s->write = write;
	s->ctx = ctx;
	return s;
}

void strace_stacks_free(struct strace_stacks *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->loose.len; i++)
		free(s->loose.items[i].locs);
	for (size_t i = 0; i < s->lines.len; i++) {
		free(s->lines.items[i].text);
		free(s->lines.items[i].stack.locs);
	}
	vec_fini(&s->loose);
	vec_fini(&s->lines);
	buf_fini(&s->text);
	free(s);
}

/* ---- which stack is whose ---- */

static bool belongs(const struct line *l, const struct stack *st)
{
	return l->tid == st->tid && st->ts_ns > l->after_ns && st->ts_ns <= l->until_ns;
}

/* The latest one counts: a new program's comes behind that of its exec. */
static void give(struct line *l, struct stack *st)
{
	if (st->ts_ns < l->stack.ts_ns) {
		free(st->locs);
		return;
	}
	free(l->stack.locs);
	l->stack = *st;
}

static void drop_loose(struct strace_stacks *s, size_t i)
{
	memmove(s->loose.items + i, s->loose.items + i + 1, (s->loose.len - i - 1) * sizeof(struct stack));
	s->loose.len--;
}

static int keep_loose(struct strace_stacks *s, struct stack *st)
{
	if (s->loose.len == LOOSE_MAX) {
		free(s->loose.items[0].locs);
		drop_loose(s, 0);
	}
	if (vec_push(&s->loose, *st) < 0) {
		free(st->locs);
		return -ENOMEM;
	}
	return 0;
}

/* Forgets the stacks of @tid up to @until_ns; the stack of the line @l goes there. @l may be NULL. */
static void take_loose(struct strace_stacks *s, uint32_t tid, uint64_t until_ns, struct line *l)
{
	for (size_t i = 0; i < s->loose.len;) {
		struct stack *st = &s->loose.items[i];

		if (st->tid != tid || st->ts_ns > until_ns) {
			i++;
			continue;
		}
		if (l && belongs(l, st))
			give(l, st);
		else
			free(st->locs);
		drop_loose(s, i);
	}
}

void strace_stacks_drop(struct strace_stacks *s, uint32_t tid, uint64_t until_ns)
{
	take_loose(s, tid, until_ns, NULL);
}

int strace_stacks_take(struct strace_stacks *s, struct sym *sym, const struct event *ev)
{
	const struct section *sec = event_section(ev, SEC_STACK_USER);
	struct stack st = { .tid = ev->tid, .ts_ns = ev->ts_ns };
	const size_t n = sec ? sec->len / sizeof(uint64_t) : 0;

	if (n)
		memcpy(&st.ip, sec->data, sizeof(st.ip));
	if (n && s->whole && sym) {
		st.locs = calloc(n, sizeof(*st.locs));
		if (!st.locs)
			return -ENOMEM;
		st.n = sym_locate_user(sym, ev, st.locs, n);
	}
	s->now_ns = MAX(s->now_ns, ev->ts_ns);
	for (size_t i = 0; i < s->lines.len; i++) {
		if (!belongs(&s->lines.items[i], &st))
			continue;
		give(&s->lines.items[i], &st);
		return 0;
	}
	return keep_loose(s, &st);
}

/* ---- lines ---- */

int strace_stacks_put(struct strace_stacks *s, const struct strace_stacks_line *line)
{
	struct line l = {
		.out = line->out, .len = line->text->len, .ip_at = line->ip_at, .tid = line->tid,
		.after_ns = line->after_ns, .until_ns = line->until_ns,
	};

	l.text = malloc(l.len + 1);
	if (!l.text || vec_grow(&s->lines) < 0) {
		free(l.text);
		return -ENOMEM;
	}
	memcpy(l.text, line->text->data, l.len);
	s->now_ns = MAX(s->now_ns, l.until_ns);
	if (l.until_ns)
		take_loose(s, l.tid, l.until_ns, &l);
	s->lines.items[s->lines.len++] = l;
	return 0;
}

/* Does it still wait? Without whole stacks none comes late. */
static bool waits(const struct strace_stacks *s, const struct line *l)
{
	return s->whole && l->until_ns && !l->stack.ts_ns && l->until_ns + LATE_NS > s->now_ns;
}

static void add_frame(const struct sym *sym, const struct sym_loc *loc, const struct sym_frame *f, struct buf *out)
{
	const struct sym_module *m = sym_module(sym, loc->module);
	const struct sym_func *fn = f->n ? &f->funcs[f->n - 1] : NULL;

	buf_add_str(out, " > ");
	if (m->kind == SYM_UNKNOWN) {
		buf_printf(out, "unexpected_backtracing_error [0x%" PRIx64 "]\n", loc->addr);
		return;
	}
	strace_line_path(m->path, strlen(m->path), out);
	if (fn && *fn->name)
		buf_printf(out, "(%s+0x%" PRIx64 ")", fn->name, fn->off);
	else
		buf_add_str(out, "()");
	buf_printf(out, " [0x%" PRIx64 "]\n", loc->addr);
}

static void write_line(struct strace_stacks *s, const struct line *l, const struct sym *sym,
		       const struct sym_frame *frames)
{
	const size_t ip_at = MIN(l->ip_at, l->len);

	buf_reset(&s->text);
	buf_add(&s->text, l->text, ip_at);
	if (l->ip_at != SIZE_MAX && l->stack.ip)
		buf_printf(&s->text, "[%016" PRIx64 "] ", l->stack.ip);
	else if (l->ip_at != SIZE_MAX)
		buf_add_str(&s->text, "[????????????????] ");
	buf_add(&s->text, l->text + ip_at, l->len - ip_at);
	for (size_t i = 0; i < l->stack.n; i++)
		add_frame(sym, &l->stack.locs[i], &frames[i], &s->text);
	s->write(s->ctx, l->out, &s->text);
}

static size_t count_ready(const struct strace_stacks *s, bool all, size_t *ret_frames)
{
	size_t n = 0;

	for (*ret_frames = 0; n < s->lines.len && (all || !waits(s, &s->lines.items[n])); n++)
		*ret_frames += s->lines.items[n].stack.n;
	return n;
}

static void remove_lines(struct strace_stacks *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(s->lines.items[i].text);
		free(s->lines.items[i].stack.locs);
	}
	if (n)
		memmove(s->lines.items, s->lines.items + n, (s->lines.len - n) * sizeof(struct line));
	s->lines.len -= n;
}

int strace_stacks_flush(struct strace_stacks *s, struct sym *sym, bool all)
{
	size_t n_frames, n = count_ready(s, all, &n_frames), at = 0;
	_cleanup_free_ struct sym_query *queries = calloc(n_frames + 1, sizeof(*queries));
	_cleanup_free_ struct sym_frame *frames = calloc(n_frames + 1, sizeof(*frames));

	if (!queries || !frames)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < s->lines.items[i].stack.n; k++)
			queries[at++] = (struct sym_query){ .loc = s->lines.items[i].stack.locs[k], .caller = k > 0 };
	if (at && sym)
		sym_frames(sym, queries, at, frames); /* those without a name have "" */
	at = 0;
	for (size_t i = 0; i < n; i++) {
		write_line(s, &s->lines.items[i], sym, frames + at);
		at += s->lines.items[i].stack.n;
	}
	remove_lines(s, n);
	return 0;
}
