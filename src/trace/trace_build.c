// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Adding to a call that is put together.
 */
#include "trace/trace_build.h"

#include "base/macros.h"

void trace_build_fini(struct trace_build *b)
{
	vec_fini(&b->during);
	vec_fini(&b->served);
	vec_fini(&b->rows);
	vec_fini(&b->items);
	trace_paint_fini(&b->paint);
}

void trace_build_paint(struct trace_build *b, const struct trace_segment *s)
{
	struct trace_segment part = *s;

	part.from_ns = MAX(part.from_ns, b->low_ns);
	part.to_ns = MIN(part.to_ns, b->high_ns);
	if (part.from_ns < part.to_ns && trace_paint_add(&b->paint, &part) < 0)
		b->nomem = true;
}

void trace_build_item(struct trace_build *b, const struct trace_item *i)
{
	if (vec_push(&b->items, *i) < 0)
		b->nomem = true;
}
