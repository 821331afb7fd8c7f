/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A store as an input: its segments in order, or those that a question needs. Private to src/source.
 *
 * The worker that parses has no right to open files; an opener (worker/opener.h) opens segments for it, by number.
 */
#ifndef SOURCE_SEGMENTS_H
#define SOURCE_SEGMENTS_H

#include "store/store_dir.h"
#include "store/store_reader.h"

struct segments {
	struct store_list list;
	struct store_query query;
	int dir_fd;		/* owned; -1 = none */
	struct opener *opener;	/* owned */
};

/* Lists the store and starts the opener. @query is copied; NULL: everything. segments_close() in any case. */
int segments_open(struct segments *s, const char *path, const struct store_query *query, struct err *err);
void segments_close(struct segments *s);

/* The worker's function: @ctx is the struct segments, @in_fd the opener's socket. */
int segments_work(void *ctx, int in_fd, int out_fd);

#endif
