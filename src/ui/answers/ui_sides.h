/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Both sides of a call, also where hosts differ, and the network time: the client's latency minus the server's.
 */
#ifndef UI_UI_SIDES_H
#define UI_UI_SIDES_H

struct err;
struct ui_answer;
struct ui_query;

/* /sides?call=ID. 0, -EINVAL, -ENOENT with a sentence, -ENOMEM. @ctx: a struct ui_memory. */
int ui_sides_answer(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);

#endif
