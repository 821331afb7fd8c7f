/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines that only sysdig has: its times, and its JSON objects.
 */
#ifndef COMPAT_SYSDIG_LINES_H
#define COMPAT_SYSDIG_LINES_H

#include <stdbool.h>

struct sysdig_lines_opts {
	char time;	/* of -t: a, r or d; 0 = none of them */
	bool json, quiet, hex;	/* hex: rows of bytes begin with a tab */
	const char *form;	/* the line's format, for the members of objects */
};

/* @o is borrowed. NULL if memory runs out. */
struct sysdig_lines *sysdig_lines_new(const struct sysdig_lines_opts *o);
void sysdig_lines_free(struct sysdig_lines *l); /* NULL is fine */

extern const struct sink_ops sysdig_lines_sink; /* sink_opts.ctx is a struct sysdig_lines */

#endif
