/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the BPF programs count what they could not do; made from gorpc_sites.def by tools/gen_sites.py.
 */
#ifndef GORPC_SITE_H
#define GORPC_SITE_H

struct gorpc_site {
	const char *file;	/* NULL in row 0 */
	unsigned line;
	const char *reason;	/* a sentence without its full stop */
};

extern const struct gorpc_site gorpc_sites[];	/* by number */
extern const unsigned gorpc_n_sites;

#endif
