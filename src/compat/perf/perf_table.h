/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of perf report --stdio.
 */
#ifndef COMPAT_PERF_TABLE_H
#define COMPAT_PERF_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "compat/perf/perf_chain.h"

struct perf_rows_opts;

/* Columns, from left to right. */
enum perf_column {
	PERF_COLUMN_CHILDREN,
	PERF_COLUMN_OVERHEAD,
	PERF_COLUMN_SAMPLES,
	PERF_COLUMN_PERIOD,
	PERF_COLUMN_PID,
	PERF_COLUMN_COMM,
	PERF_COLUMN_CPU,
	PERF_COLUMN_DSO,
	PERF_COLUMN_SYM,
	PERF_COLUMN__MAX,
};

struct perf_table_opts {
	uint8_t columns[PERF_COLUMN__MAX + 1]; /* enum perf_column, up to PERF_COLUMN__MAX */
	double min_percent;		       /* rows below are left out */
	uint32_t rows;			       /* 0 = all */
	const char *separator;		       /* between columns without padding; NULL = two blanks, padded */
	bool quiet;			       /* no comments, no heading */
	struct perf_chain_opts chain;
};

/*
 * "comm,dso,sym" of --sort: the columns and the keys of @keys. @fields: of --fields, where overhead, sample and
 * period are columns too, in this order. 0, or -EINVAL with a sentence.
 */
int perf_table_sort(const char *text, bool fields, struct perf_table_opts *t, struct perf_rows_opts *keys,
		    struct err *err);
bool perf_table_has(const struct perf_table_opts *t, enum perf_column column);
/* Adds or removes a column, in its place. */
void perf_table_set(struct perf_table_opts *t, enum perf_column column, bool on);

/* Appends heading and rows. 0 or -ENOMEM. */
int perf_table_put(const struct perf_rows *h, const struct perf_table_opts *t, struct buf *out);

#endif
