/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces: both sides of each chosen call, the calls made for it, what carried it at each instant. A fold over events,
 * without a clock: a call is put together once the stream is TRACE_SLACK_NS beyond its end, or at the end of the
 * stream, so events may come late within that time and in any order.
 *
 * Sides are joined by addresses, ports and stream; bytes by their range in the TCP stream; a child by the number of
 * the call that its goroutine serves, else by containment in time, where only one call of the process contains it.
 */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace_call.h"

#define TRACE_BUDGET_BYTES (64u << 20)

struct trace_opts {
	size_t budget_bytes;	/* of facts; 0 = TRACE_BUDGET_BYTES */
	/* Is the call, an rpc.call event, one to put together? */
	bool (*want)(void *ctx, const struct event *ev, const struct trace_fact *call);
	int (*take)(void *ctx, const struct trace_call *c); /* 0 or -errno */
	void *ctx;
};

struct trace *trace_new(const struct trace_opts *opts); /* NULL without memory */
void trace_free(struct trace *t);
int trace_add(struct trace *t, const struct event *ev); /* 0 or -errno */
int trace_end(struct trace *t);				/* the end of the stream */
uint64_t trace_evicted(const struct trace *t);		/* facts that left the window */

#endif
