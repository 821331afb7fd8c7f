/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why calls are slow: the slow calls of an operation against its normal ones, by where their time went. A cause is
 * named only if the difference is large and holds under resampling. The code knows states and places, but no faults.
 */
#ifndef TRACE_EXPLAIN_H
#define TRACE_EXPLAIN_H

#include <stdbool.h>

struct buf;
struct trace_call;

struct trace_explain *trace_explain_new(bool failed_only); /* slow: the failed ones alone. NULL without memory */
void trace_explain_free(struct trace_explain *e);

/* Counts a call; the second side of a call that is known is ignored. 0 or -ENOMEM. */
int trace_explain_add(struct trace_explain *e, const struct trace_call *c);

/*
 * Each operation, the most frequent first: its causes, or why there are none. Resampling has a fixed seed, so equal
 * calls give equal bytes. 0 or -ENOMEM.
 */
int trace_explain_print(const struct trace_explain *e, bool json, struct buf *out);

#endif
