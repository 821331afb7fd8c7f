/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of events, and one event: /events, /event/SEQ.
 */
#ifndef UI_UI_EVENTS_H
#define UI_UI_EVENTS_H

struct err;
struct ui_answer;
struct ui_query;

/* As struct ui_source_ops; @ctx: a struct ui_memory. */
int ui_events_answer(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);
int ui_events_one(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);

#endif
