/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where answers come from: a table of functions, one per kind of question. Behind it are the kept events of a live
 * stream or a recording (ui_kept.c); another store of events is another table.
 */
#ifndef UI_UI_SOURCE_H
#define UI_UI_SOURCE_H

#include "ui/ui_query.h"

struct ui_answer;
struct ui_memory;

struct ui_source_ops {
	const char *name;
	/* Fills a->body; NULL: this source has no such answers. 0, or -errno with a sentence. */
	int (*answer[UI_PATH__MAX])(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);
};

struct ui_source {
	const struct ui_source_ops *ops;
	const void *ctx;
};

/* Live streams and recordings. */
struct ui_source ui_source_kept(const struct ui_memory *m);

/* Answers, in any case: errors become answers. */
void ui_source_answer(const struct ui_source *s, const struct ui_query *q, struct ui_answer *ret);

#endif
