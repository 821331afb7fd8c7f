/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The latency of a call cut into segments. The first one covers all of it; painting replaces a part. So segments
 * follow each other without gap or overlap, and their lengths sum to the latency exactly.
 */
#ifndef TRACE_PAINT_H
#define TRACE_PAINT_H

#include <stddef.h>
#include <stdint.h>

#include "trace/trace_fact.h"

/* Source of a segment. */
enum trace_by {
	TRACE_BY_NONE,		/* nothing but the times of the call */
	TRACE_BY_THREAD,	/* thread that read, wrote or ran for the call */
	TRACE_BY_PROCESS,	/* all threads of the process: which one ran for the call is not known */
	TRACE_BY_BYTES,		/* range of the TCP stream */
	TRACE_BY__MAX,
};

/* Did the sender's TCP hold the bytes back after the write? */
enum trace_held {
	TRACE_HELD_NOT,
	TRACE_HELD_BACK,
	TRACE_HELD_ACK,		/* until an acknowledgement: Nagle's algorithm or the congestion window */
	TRACE_HELD__MAX,
};

struct trace_segment {
	uint64_t from_ns, to_ns; /* boot clock */
	uint64_t event;		 /* number of the event that says so; 0 = none */
	uint32_t tgid, tid;	 /* tid 0: no thread in particular */
	uint32_t comm, detail;	 /* names */
	uint32_t waker;		 /* name of the thread or interrupt that ended the wait */
	uint32_t waker_call;	 /* name of the call that this thread served then; 0 = not known */
	uint32_t behind;	 /* name of the call that the reading thread served instead; 0 = not known */
	uint16_t row;		 /* struct trace_row */
	uint8_t state;		 /* enum trace_state */
	uint8_t cause;		 /* enum trace_cause */
	uint8_t by;		 /* enum trace_by */
	uint8_t held;		 /* enum trace_held; of TRACE_CAUSE_NETWORK */
	uint8_t pad[2];
};

#define TRACE_PAINT_MAX 4096u /* segments of one call; paint beyond it is ignored and counted */

struct trace_paint {
	struct trace_segment *segs; /* owned; sorted */
	size_t len, cap;
	uint64_t ignored;
};

/* Covers s->from_ns to s->to_ns. 0 or -ENOMEM. Call trace_paint_fini() in any case. */
int trace_paint_init(struct trace_paint *p, const struct trace_segment *s);
void trace_paint_fini(struct trace_paint *p);
int trace_paint_add(struct trace_paint *p, const struct trace_segment *s); /* the part within. 0 or -ENOMEM */
void trace_paint_merge(struct trace_paint *p); /* neighbours that differ in their times only */

#endif
