/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The latest facts in the order of time (then of the stream), within a budget: beyond it the oldest leaves.
 */
#ifndef TRACE_WINDOW_H
#define TRACE_WINDOW_H

#include <stddef.h>
#include <stdint.h>

struct trace_fact;

struct trace_window *trace_window_new(size_t budget_bytes); /* NULL without memory */
void trace_window_free(struct trace_window *w);

/* Copies @f. 0 or -ENOMEM. Facts that come late move those behind them: cheap within the reorder window. */
int trace_window_add(struct trace_window *w, const struct trace_fact *f);

size_t trace_window_len(const struct trace_window *w);
const struct trace_fact *trace_window_at(const struct trace_window *w, size_t i); /* valid until the next add */
size_t trace_window_find(const struct trace_window *w, uint64_t ts_ns); /* first one at @ts_ns or later */

uint64_t trace_window_evicted(const struct trace_window *w);
uint64_t trace_window_evicted_ns(const struct trace_window *w); /* time of the newest one evicted; 0 = none */

#endif
