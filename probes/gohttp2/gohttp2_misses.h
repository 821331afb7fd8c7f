/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Causes of missing data that the BPF programs count, made from gohttp2_misses.def by tools/gen_misses.py.
 */
#ifndef GOHTTP2_MISSES_H
#define GOHTTP2_MISSES_H

struct gohttp2_miss {
	const char *file;	/* of the BPF programs */
	unsigned line;
	const char *reason;
};

extern const struct gohttp2_miss gohttp2_misses[]; /* by number */
extern const unsigned gohttp2_n_misses;

#endif
