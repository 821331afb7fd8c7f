/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * States of the threads of a process over time: /tracks.
 */
#ifndef UI_UI_TRACKS_H
#define UI_UI_TRACKS_H

struct err;
struct ui_answer;
struct ui_query;

/* As struct ui_source_ops; @ctx: a struct ui_memory. */
int ui_tracks_answer(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);

#endif
