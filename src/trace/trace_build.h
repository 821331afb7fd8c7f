/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A call while it is put together: its rows, segments and items. Private to src/trace.
 */
#ifndef TRACE_BUILD_H
#define TRACE_BUILD_H

#include "base/vec.h"
#include "trace/trace_call.h"

struct trace_build {
	const struct trace_window *window;
	const struct trace_names *names;
	uint64_t min_wait_ns;	/* as in struct trace_call */
	VEC(const struct trace_fact *) during; /* waits and system calls that overlap the call; by their ends */
	VEC(const struct trace_fact *) served; /* calls of servers that overlap the call; by their ends */
	VEC(struct trace_row) rows;
	VEC(struct trace_item) items;
	struct trace_paint paint;
	uint64_t begin_ns, end_ns, ambiguous, ignored;
	uint64_t low_ns, high_ns; /* paint stays between: a child's within its parent's */
	bool nomem;
};

void trace_build_fini(struct trace_build *b);

/* Both remember -ENOMEM. */
void trace_build_paint(struct trace_build *b, const struct trace_segment *s);
void trace_build_item(struct trace_build *b, const struct trace_item *i);

#endif
