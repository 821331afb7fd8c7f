/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The run that all commands which show events share: outputs, filters, limits, recordings, selection. A command adds
 * its probes and its own predicate (struct run_ops).
 */
#ifndef CMD_RUN_H
#define CMD_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "cmd/run/run_conf.h"
#include "cmd/run/run_ops.h"

#define RUN_PACKETS 1u /* the command takes interfaces */
#define RUN_LINES 2u   /* it prints a line per event */
#define RUN_NO_BYTES 4u /* with RUN_LINES: its lines have no packet and I/O bytes */

/* The common option sets, @flags: RUN_*; appended by a command to its own. Returns how many were written. */
size_t run_sets(struct run_conf *c, unsigned flags, struct opt_set *ret_sets);
struct opt_set run_global_set(struct run_conf *c); /* the last of them */

/* Texts that run_settle() allocates; must outlive the run. */
struct run_texts {
	struct buf where, write;
};

/*
 * After option parsing: sets `where` to all filters, including the trailing @words (may be NULL), and turns -w into
 * an output of the format that its suffix names, else @format. Call it before `where` or `outputs` is read.
 */
int run_settle(struct run_conf *c, const char *words, const char *format, struct run_texts *mem, struct err *err);
void run_texts_fini(struct run_texts *t);

/* Assembles the run, runs until done or stopped, reports. Returns an exit status. */
int run(const struct run_conf *c, const struct run_ops *spec);

/* Whether text on stdout is coloured. */
bool run_want_color(const struct run_conf *c);

/* Joins words by spaces: the filter as typed. Owned by the caller; NULL without words. */
char *run_join_words(const struct opt_strv *words);

#endif
