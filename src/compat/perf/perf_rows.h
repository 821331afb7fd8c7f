/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks with their samples, added up by sort keys: the rows of perf report and perf top. With `children` a function
 * also gets the samples of the functions that it called.
 */
#ifndef COMPAT_PERF_ROWS_H
#define COMPAT_PERF_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"

enum perf_key { PERF_KEY_COMM, PERF_KEY_PID, PERF_KEY_CPU, PERF_KEY_DSO, PERF_KEY_SYM, PERF_KEY__MAX };

struct perf_rows_opts {
	bool keys[PERF_KEY__MAX];
	bool children;
	const char *symbol_part; /* only functions with this in their name; NULL = all */
	bool named;		 /* only functions with a name */
	bool no_kernel, no_user; /* no rows of that part */
};

/* A frame of a stack; texts are those of perf_rows_text(), equal if their pointers are. */
struct perf_frame {
	const char *sym, *dso;
	char level; /* 'k' or '.' */
	bool unnamed;
};

/* Samples with one stack, thread name, thread and CPU, as far as keys distinguish them. */
struct perf_cell {
	uint64_t value, count;
	const char *comm;
	uint32_t tid, cpu;
	uint32_t first, n; /* frames, innermost first; at least one */
};

struct perf_total {
	uint64_t value, count;
};

struct perf_place {
	uint32_t cell, frame; /* frame: index in the cell's, innermost 0 */
};

struct perf_row {
	const char *comm;
	struct perf_frame frame;
	uint32_t tid, cpu;
	struct perf_total self, total;
	struct {
		struct perf_place *items;
		size_t len, cap;
	} places;     /* the cells whose samples these are */
	size_t depth; /* frames of its longest chain */
};

/* Zeroed, then perf_rows_init(). */
struct perf_rows {
	const struct perf_rows_opts *o;
	bool has_chains; /* set by the caller: cells have more than the innermost frame */
	struct {
		struct perf_cell *items;
		size_t len, cap;
	} cells;
	struct {
		struct perf_frame *items;
		size_t len, cap;
	} frames;

	/* perf_rows_finish() */
	struct perf_total all;
	struct {
		struct perf_row *items;
		size_t len, cap;
	} rows; /* largest first */

	struct map row_by_key;
	void *texts; /* tsearch() tree */
	struct arena arena;
};

void perf_rows_init(struct perf_rows *r, const struct perf_rows_opts *o);
/* The one copy of a text, or NULL without memory. */
const char *perf_rows_text(struct perf_rows *r, const char *text);
/* The frames of a cell are added first, the cell behind them. 0 or -ENOMEM. */
int perf_rows_add_frame(struct perf_rows *r, const struct perf_frame *f);
int perf_rows_add_cell(struct perf_rows *r, const struct perf_cell *c);
/* Makes the rows of all cells. 0 or -ENOMEM. */
int perf_rows_finish(struct perf_rows *r);
void perf_rows_clear(struct perf_rows *r); /* drops cells, rows and texts */
void perf_rows_fini(struct perf_rows *r);

#endif
