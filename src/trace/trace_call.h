/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A call that was put together: its sides, the calls made for it, what carried it at each instant, its events.
 */
#ifndef TRACE_TRACE_CALL_H
#define TRACE_TRACE_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace_fact.h"
#include "trace/trace_paint.h"

#define TRACE_SLACK_NS 500000000ull /* how late an event may come */
#define TRACE_ROWS_MAX 256u

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

#endif
