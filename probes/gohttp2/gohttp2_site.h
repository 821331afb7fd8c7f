/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the BPF programs count what they could not do; made from gohttp2_sites.def by tools/gen_sites.py.
 */
#ifndef GOHTTP2_SITE_H
#define GOHTTP2_SITE_H

struct gohttp2_site {
	const char *file;	/* NULL in row 0 */
	unsigned line;
	const char *reason;	/* a sentence without its full stop */
};

extern const struct gohttp2_site gohttp2_sites[]; /* by number */
extern const unsigned gohttp2_n_sites;

#endif
