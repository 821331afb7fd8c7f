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

#include "trace/trace_fact.h"
#include "trace/trace_paint.h"

#define TRACE_SLACK_NS 500000000ull
#define TRACE_BUDGET_BYTES (64u << 20)
#define TRACE_ROWS_MAX 256u

struct trace;

/* How a row was joined to the one above it. */
enum trace_how { TRACE_HOW_ROOT, TRACE_HOW_TUPLE, TRACE_HOW_CALL, TRACE_HOW_TIME, TRACE_HOW__MAX };

/* One side of a call. */
struct trace_row {
	struct trace_fact call;	/* TRACE_FACT_CALL */
	uint16_t parent;	/* row; of the first: itself */
	uint16_t depth;		/* the first has 0 */
	uint8_t how;		/* enum trace_how */
	uint8_t pad[3];
	uint32_t packets, retransmitted, drops;	/* of its request and response, seen at or by this side */
};

/* An event of the call, for the reader; in the order of time. */
struct trace_item {
	const struct trace_fact *fact;
	uint64_t queued_ns;	/* of a read: how long the bytes were in the socket */
	uint64_t runq_ns;	/* of these, for a CPU */
	uint16_t row;
};

/* A call, put together; valid within the callback. */
struct trace_call {
	const struct trace_row *rows;
	size_t n_rows;
	const struct trace_segment *segs; /* from begin_ns to end_ns without gap */
	size_t n_segs;
	const struct trace_item *items;
	size_t n_items;
	uint64_t begin_ns, end_ns;
	const struct trace_names *names;
	uint64_t ambiguous;	/* calls during it that may or may not be made for it: several calls contain them */
	uint64_t ignored;	/* beyond TRACE_ROWS_MAX or TRACE_PAINT_MAX */
	uint64_t min_wait_ns;	/* no recorded wait is shorter; UINT64_MAX = none was recorded */
	bool evicted;		/* events of its time had left the window */
};

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
