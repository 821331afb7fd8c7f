// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fold: facts into the window, chosen calls put together once all that belongs to them is there.
 */
#include "trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/vec.h"
#include "trace/trace_build.h"
#include "trace/trace_path.h"
#include "trace/trace_window.h"

/* A chosen call, found again in the window when it is due. */
struct due {
	uint64_t ts_ns, num;
};

struct trace {
	struct trace_opts opts;
	struct trace_names *names;	  /* owned */
	struct trace_fact_reader *reader; /* owned */
	struct trace_window *window;	  /* owned */
	VEC(struct due) due;		  /* by time */
	uint64_t newest_ns, min_wait_ns;
};

struct trace *trace_new(const struct trace_opts *opts)
{
	struct trace *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->opts = *opts;
	t->min_wait_ns = UINT64_MAX;
	t->names = trace_fact_names_new();
	t->reader = t->names ? trace_fact_reader_new(t->names) : NULL;
	t->window = trace_window_new(opts->budget_bytes ? opts->budget_bytes : TRACE_BUDGET_BYTES);
	if (!t->reader || !t->window) {
		trace_free(t);
		return NULL;
	}
	return t;
}

void trace_free(struct trace *t)
{
	if (!t)
		return;
	vec_fini(&t->due);
	trace_window_free(t->window);
	trace_fact_reader_free(t->reader);
	trace_fact_names_free(t->names);
	free(t);
}

uint64_t trace_evicted(const struct trace *t)
{
	return trace_window_evicted(t->window);
}

static const struct trace_fact *find_due(const struct trace *t, const struct due *d)
{
	for (size_t i = trace_window_find(t->window, d->ts_ns); i < trace_window_len(t->window); i++) {
		const struct trace_fact *f = trace_window_at(t->window, i);

		if (f->ts_ns != d->ts_ns)
			break;
		if (f->num == d->num)
			return f;
	}
	return NULL;
}

static int put_together(struct trace *t, const struct due *d)
{
	const struct trace_fact *call = find_due(t, d);
	struct trace_build p = { .window = t->window, .names = t->names, .min_wait_ns = t->min_wait_ns };
	int r;

	if (!call)
		return 0;	/* left the window: counted there */
	r = trace_path_build(&p, call);
	if (r >= 0) {
		const struct trace_call c = {
			.rows = p.rows.items, .n_rows = p.rows.len, .segs = p.paint.segs, .n_segs = p.paint.len,
			.items = p.items.items, .n_items = p.items.len, .begin_ns = p.begin_ns, .end_ns = p.end_ns,
			.names = t->names, .ambiguous = p.ambiguous, .ignored = p.ignored,
			.min_wait_ns = t->min_wait_ns,
			.evicted = trace_window_evicted_ns(t->window) >= p.begin_ns,
		};

		r = t->opts.take(t->opts.ctx, &c);
	}
	trace_build_fini(&p);
	return r;
}

static int put_due(struct trace *t, uint64_t until_ns)
{
	size_t n = 0;
	int r = 0;

	while (r >= 0 && n < t->due.len && t->due.items[n].ts_ns <= until_ns)
		r = put_together(t, &t->due.items[n++]);
	if (n) {
		t->due.len -= n;
		memmove(t->due.items, t->due.items + n, t->due.len * sizeof(*t->due.items));
	}
	return r;
}

static int add_due(struct trace *t, const struct trace_fact *f)
{
	const struct due d = { .ts_ns = f->ts_ns, .num = f->num };
	size_t i;

	if (vec_grow(&t->due) < 0)
		return -ENOMEM;
	for (i = t->due.len++; i; i--) {
		const struct due *before = &t->due.items[i - 1];

		if (before->ts_ns < d.ts_ns || (before->ts_ns == d.ts_ns && before->num < d.num))
			break;
		t->due.items[i] = *before;
	}
	t->due.items[i] = d;
	return 0;
}

int trace_add(struct trace *t, const struct event *ev)
{
	struct trace_fact f;
	int r = trace_fact_read(t->reader, ev, &f);

	if (r <= 0)
		return r;
	if (f.kind == TRACE_FACT_WAIT && f.ts_ns > f.from_ns)
		t->min_wait_ns = MIN(t->min_wait_ns, f.ts_ns - f.from_ns);
	r = trace_window_add(t->window, &f);
	if (r >= 0 && f.kind == TRACE_FACT_CALL && f.of_call.side && t->opts.want(t->opts.ctx, ev, &f))
		r = add_due(t, &f);
	t->newest_ns = MAX(t->newest_ns, f.ts_ns);
	if (r >= 0 && t->newest_ns > TRACE_SLACK_NS)
		r = put_due(t, t->newest_ns - TRACE_SLACK_NS - 1);
	return r;
}

int trace_end(struct trace *t)
{
	return put_due(t, UINT64_MAX);
}
