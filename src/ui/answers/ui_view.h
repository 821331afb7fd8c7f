/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table of a view and its course over time: /view/NAME.
 */
#ifndef UI_UI_VIEW_H
#define UI_UI_VIEW_H

struct err;
struct ui_answer;
struct ui_query;

/* As struct ui_source_ops; @ctx: a struct ui_memory. */
int ui_view_answer(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);

#endif
