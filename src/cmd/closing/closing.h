/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Progress and closing lines of a run, on stderr.
 */
#ifndef CMD_CLOSING_H
#define CMD_CLOSING_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct loop;
struct run_conf;

/* Whether a run has closing lines: every live one, a replay at a terminal or with -v; none with -q. */
bool closing_needed(const struct run_conf *c);
/* ... and they are due: it ended by itself or by a request, without an error. @status: of run(). */
bool closing_due(const struct run_conf *c, int status);

/* "2,970" */
void closing_add_number(struct buf *b, uint64_t n);
/* "1 sample", "2,970 samples" */
void closing_add_count(struct buf *b, uint64_t n, const char *thing);

/*
 * A line at the foot of a terminal, rewritten each second until it is freed. @line appends the text; it gets the
 * whole seconds since the start. Without a terminal nothing is written, and *ret is NULL.
 */
struct progress;
typedef void (*progress_fn)(void *ctx, uint64_t secs, struct buf *line);
int closing_progress_new(struct loop *loop, const struct run_conf *c, progress_fn line, void *ctx,
			 struct progress **ret);
void closing_progress_free(struct progress *p); /* clears the line; NULL is fine */

#endif
