/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One /live stream: a heartbeat each second, and the answers of its subscriptions when they change. Knows no sockets:
 * the server takes bytes out of it. A newer answer replaces one not yet taken.
 */
#ifndef UI_UI_STREAM_H
#define UI_UI_STREAM_H

#include <stddef.h>

struct ui_query;
struct ui_stream;

struct ui_stream_opts {
	struct ui_jobs *jobs;
	const struct ui_memory *memory;
	void (*ready)(void *ctx); /* bytes wait; not called from ui_stream_tick() or ui_stream_take() */
	void *ctx;
};

/* @q: the query of /live; its subscriptions are parsed here, and those at fault answered in the stream. */
int ui_stream_new(const struct ui_stream_opts *o, const struct ui_query *q, struct ui_stream **ret);
void ui_stream_free(struct ui_stream *s); /* NULL is fine */

void ui_stream_tick(struct ui_stream *s);	/* each second */
/* Takes up to @cap bytes; 0 = none wait. */
size_t ui_stream_take(struct ui_stream *s, char *to, size_t cap);

#endif
