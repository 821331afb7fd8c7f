/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers from kept events, a file each. All as struct ui_source_ops; @ctx: a struct ui_memory.
 */
#ifndef UI_UI_ANSWERS_H
#define UI_UI_ANSWERS_H

struct err;
struct ui_answer;
struct ui_query;

/* Rows of events, and one event: /events, /event/SEQ. */
int ui_events_answer(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);
int ui_events_one(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);
/* Stacks of samples and waits as a tree with the place of each frame: /flame. */
int ui_flame_answer(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);
/* Durations over time as a matrix of counts: /heat/NAME. */
int ui_heat_answer(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);
/*
 * /sides?call=ID: both sides of a call, also where hosts differ, and the network time: the client's latency minus the
 * server's. 0, -EINVAL, -ENOENT with a sentence, -ENOMEM.
 */
int ui_sides_answer(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);
/* A call put together, and why calls are slow: /trace, /explain. */
int ui_trace_answer(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);
int ui_trace_explain(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);
/* States of the threads of a process over time: /tracks. */
int ui_tracks_answer(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);
/* A table of a view and its course over time: /view/NAME. */
int ui_view_answer(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);

#endif
