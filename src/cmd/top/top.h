/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run whose events are shown as views: full screen on a terminal, blocks of text or JSON elsewhere. For sonde top
 * and every --top.
 */
#ifndef CMD_TOP_H
#define CMD_TOP_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct run_ops;
struct top;
struct view_rows;

struct top_opts {
	const struct view *view;	/* the first one */
	const struct run_conf *run;	/* the user's options; borrowed */
	const char *command;		/* "sonde top" */
	const char *words;		/* the user's filter words; NULL = none */
	uint64_t interval_ns;		/* 0 = a second; in blocks: only totals */
	bool batch;			/* blocks even on a terminal */
	bool wide;			/* of blocks: all columns, whole texts */
	bool mouse;			/* on a screen: takes clicks and the wheel from the terminal */
	uint32_t rows, width;		/* of blocks: 0 = all rows, 0 = 80 columns or COLUMNS */
	const char *const *types;	/* of events that a live run makes, NULL-terminated; NULL = any */
	const char *spaces;		/* network namespaces, for the title; NULL = none are watched */
	uint32_t speed;			/* of a recording on a screen: 0 = all at once */
	/*
	 * Rows from elsewhere than events, on a screen only; NULL = from events. @only: the opened row, NULL = all.
	 */
	int (*fill)(void *ctx, const char *only, struct view_rows *ret);
	void *fill_ctx;
};

/* Takes over the terminal if there is one. An error has a message. @o is copied. */
int top_new(const struct top_opts *o, struct top **ret, struct err *err);
void top_free(struct top *t);	/* NULL is fine */

/* run() with the views as its only output. Returns an exit status. */
int top_run(struct top *t, const struct run_ops *spec);

/* All of that in one: an exit status, behind a message if it did not start. */
int top_show(const struct top_opts *o, const struct run_ops *spec);

/* Whether views go to a screen; false = blocks. */
bool top_on_screen(const struct top *t);

#endif
