/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Spans of calls by the calls' numbers: the join between events that a call caused (a drop, a system call, a sample)
 * and its span.
 */
#ifndef SINKS_OTLP_CALLS_H
#define SINKS_OTLP_CALLS_H

#include "base/map.h"
#include "base/vec.h"
#include "sinks/otlp/otlp_span.h"

struct otlp_calls_type { const struct event_desc *desc; bool is_call; };

/* Released by otlp_calls_fini(). */
struct otlp_calls {
	struct otlp_spans spans;
	struct map ids;		/* number of a call -> struct otlp_span_ids */
	VEC(struct otlp_calls_type) types;	/* seen so far */
};

void otlp_calls_init(struct otlp_calls *c);
void otlp_calls_fini(struct otlp_calls *c);
/* Learns the span of @ev if it is an event of an RPC; *ret_ids (may be NULL) gets it. */
bool otlp_calls_learn(struct otlp_calls *c, const struct event *ev, struct otlp_span_ids *ret_ids);
/* The span of call @number; NULL = not known (yet). Valid until the next call of otlp_calls_learn(). */
const struct otlp_span_ids *otlp_calls_find(const struct otlp_calls *c, uint64_t number);

#endif
