/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables over system calls, like sysdig's chisels: processes by CPU time, network and file bytes; files, connections
 * and calls. Live or from captures; process and descriptor state is that of scap/state/state.h.
 */
#ifndef CMD_SYSDIG_VIEWS_H
#define CMD_SYSDIG_VIEWS_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct sysdig_views;

/* @list: names separated by commas; @color: for the spectrogram. -EINVAL with a sentence that lists all names. */
int sysdig_views_new(const char *list, bool color, struct sysdig_views **ret, struct err *err);
void sysdig_views_free(struct sysdig_views *v);		/* NULL is fine */
unsigned sysdig_views_needs(const struct sysdig_views *v);	/* VIEW_NEEDS_* of view_table.h */

/* Writes the @rows largest rows of every table, and the last line of the spectrogram. 0 or -errno. */
int sysdig_views_print(struct sysdig_views *v, size_t rows);
/* The tables as JSON, one object a line, values in bytes, ns and numbers; without the spectrogram. */
int sysdig_views_print_json(struct sysdig_views *v, size_t rows);

/* The sink that fills the tables; its sink_opts.ctx is a struct sysdig_views. */
extern const struct sink_ops sysdig_views_sink;

#endif
