/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Durations over time as a matrix of counts: /heat/NAME.
 */
#ifndef UI_UI_HEAT_H
#define UI_UI_HEAT_H

struct err;
struct ui_answer;
struct ui_query;

/* As struct ui_source_ops; @ctx: a struct ui_memory. */
int ui_heat_answer(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);

#endif
