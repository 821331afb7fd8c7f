/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call graph below a row of perf report.
 */
#ifndef COMPAT_PERF_CHAIN_H
#define COMPAT_PERF_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct err;
struct perf_rows;
struct perf_row;

enum perf_chain_form {
	PERF_CHAIN_NONE,
	PERF_CHAIN_GRAPH,
	PERF_CHAIN_FRACTAL,
	PERF_CHAIN_FLAT,
	PERF_CHAIN_FOLDED,
	PERF_CHAIN__MAX,
};
enum perf_chain_value { PERF_CHAIN_PERCENT, PERF_CHAIN_PERIOD, PERF_CHAIN_COUNT, PERF_CHAIN_VALUE__MAX };

struct perf_chain_opts {
	enum perf_chain_form form;
	enum perf_chain_value value;
	double min_percent; /* of all samples; branches below are left out */
	uint32_t limit;	    /* branches of a node; 0 = all */
	bool callee;	    /* innermost first */
	bool order_given;   /* by the command line */
	bool sym_first;	    /* the row is a function: it is not repeated */
};

/* "graph,0.5,caller": into @o. 0, or -EINVAL with a sentence. */
int perf_chain_parse(const char *text, struct perf_chain_opts *o, struct err *err);

/* Appends the call graph of @row. 0 or -ENOMEM. */
int perf_chain_put(const struct perf_rows *h, const struct perf_row *row, const struct perf_chain_opts *o,
		   struct buf *out);

#endif
