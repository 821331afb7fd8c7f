/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of -c and -C.
 */
#ifndef COMPAT_STRACE_SUMS_H
#define COMPAT_STRACE_SUMS_H

#include "base/map.h"

struct buf;
struct strace_opts;
struct sys_body;

/* Zeroed, then strace_sums_init(). */
struct strace_sums {
	struct map rows;
};

void strace_sums_init(struct strace_sums *s);
void strace_sums_fini(struct strace_sums *s);
/* Counts a call that returned. 0 or -ENOMEM. */
int strace_sums_add(struct strace_sums *s, const struct sys_body *b);
/* Appends the table with a line of sums. 0 or -ENOMEM. */
int strace_sums_print(const struct strace_sums *s, const struct strace_opts *o, struct buf *out);

#endif
