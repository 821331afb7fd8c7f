/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables over system calls, like sysdig's chisels: processes by CPU time, network and file bytes; files, connections
 * and calls. Live or from captures; process and descriptor state is that of scap/state/state.h.
 */
#ifndef CMD_VIEWS_H
#define CMD_VIEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct event;
struct loop;
struct pipeline;
struct sink_ops;
struct views;

/* @list: names with commas between them; @color: for the spectrogram. -EINVAL with a sentence that has all names. */
int views_new(const char *list, bool color, struct views **ret, struct err *err);
void views_free(struct views *v);		/* NULL is fine */
unsigned views_needs(const struct views *v);	/* VIEW_NEEDS_* of view_table.h */

/* Writes the @rows largest rows of every table, and the last line of the spectrogram. 0 or -errno. */
int views_print(struct views *v, size_t rows);
/* The tables as JSON, one object a line, values in bytes, ns and numbers; without the spectrogram. */
int views_print_json(struct views *v, size_t rows);

/* A live screen over the tables; -ENOTTY and -ENOTSUP as screen_new(). */
int views_screen(struct views *v, struct err *err);
int views_start(struct views *v, struct loop *loop, struct pipeline *p, struct err *err);
void views_stop(struct views *v);		/* gives the terminal back, if it was taken */

/* The sink that fills the tables; its sink_opts.ctx is a struct views. */
extern const struct sink_ops views_sink;

#endif
