// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Segments in an array: painting shifts those behind the painted part.
 */
#include "trace/trace_paint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/vec.h"

int trace_paint_init(struct trace_paint *p, const struct trace_segment *s)
{
	*p = (struct trace_paint){ 0 };
	if (vec_grow_raw((void **)&p->segs, &p->cap, 1, sizeof(*p->segs)) < 0)
		return -ENOMEM;
	p->segs[p->len++] = *s;
	return 0;
}

void trace_paint_fini(struct trace_paint *p)
{
	free(p->segs);
	*p = (struct trace_paint){ 0 };
}

/* The segment at @ns, which lies within the whole. */
static size_t find(const struct trace_paint *p, uint64_t ns)
{
	return BISECT(i, p->len - 1, p->segs[i + 1].from_ns <= ns);
}

int trace_paint_add(struct trace_paint *p, const struct trace_segment *s)
{
	struct trace_segment parts[3], first, last;
	uint64_t from = MAX(s->from_ns, p->segs[0].from_ns), to = MIN(s->to_ns, p->segs[p->len - 1].to_ns);
	size_t i, end, n = 0;

	if (from >= to)
		return 0;
	i = find(p, from);
	end = find(p, to - 1) + 1;
	first = p->segs[i];
	last = p->segs[end - 1];
	if (p->len + 2 > TRACE_PAINT_MAX) {
		p->ignored++;
		return 0;
	}
	if (vec_grow_raw((void **)&p->segs, &p->cap, p->len + 2, sizeof(*p->segs)) < 0)
		return -ENOMEM;
	if (first.from_ns < from) {
		parts[n] = first;
		parts[n++].to_ns = from;
	}
	parts[n] = *s;
	parts[n].from_ns = from;
	parts[n++].to_ns = to;
	if (last.to_ns > to) {
		parts[n] = last;
		parts[n++].from_ns = to;
	}
	memmove(p->segs + i + n, p->segs + end, (p->len - end) * sizeof(*p->segs));
	memcpy(p->segs + i, parts, n * sizeof(*p->segs));
	p->len = p->len - (end - i) + n;
	return 0;
}

static bool is_alike(const struct trace_segment *a, const struct trace_segment *b)
{
	return a->event == b->event && a->tgid == b->tgid && a->tid == b->tid && a->detail == b->detail &&
	       a->waker == b->waker && a->waker_call == b->waker_call && a->behind == b->behind &&
	       a->row == b->row && a->state == b->state && a->cause == b->cause && a->by == b->by &&
	       a->held == b->held;
}

void trace_paint_merge(struct trace_paint *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->len; i++) {
		if (n && is_alike(&p->segs[n - 1], &p->segs[i]))
			p->segs[n - 1].to_ns = p->segs[i].to_ns;
		else
			p->segs[n++] = p->segs[i];
	}
	p->len = n;
}
