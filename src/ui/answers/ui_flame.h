/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of samples and waits as a tree with the place of each frame: /flame.
 */
#ifndef UI_UI_FLAME_H
#define UI_UI_FLAME_H

struct err;
struct ui_answer;
struct ui_query;

/* As struct ui_source_ops; @ctx: a struct ui_memory. */
int ui_flame_answer(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);

#endif
