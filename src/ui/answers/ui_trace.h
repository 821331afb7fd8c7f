/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A call put together, and why calls are slow: /trace, /explain.
 */
#ifndef UI_UI_TRACE_H
#define UI_UI_TRACE_H

struct err;
struct ui_answer;
struct ui_query;

/* As struct ui_source_ops; @ctx: a struct ui_memory. */
int ui_trace_answer(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);
int ui_trace_explain(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);

#endif
