/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Series of the rows of tables/metrics.def, added up from events. A metric has a limited number of series; further
 * label sets add to one with the label otel_metric_overflow, so sums stay exact.
 *
 * One thread. Cost per event: a hash of the labels and an addition per row of the event's type; sums of the kernel
 * arrive as one event per key and interval.
 */
#ifndef METRICS_METRICS_H
#define METRICS_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metrics/metrics_table.h"

struct event;
struct metrics;
struct registry;

struct metrics_opts {
	uint32_t families;	/* mask: rows of other families are left out */
	uint32_t more;		/* mask of metrics_table_more */
	uint32_t max_series;	/* of a metric; 0 = 2000 */
	uint64_t idle_ns;	/* a series without an event for this long goes; 0 = 15 min, UINT64_MAX = never */
};

/*
 * Borrows @reg for the call; rows of types that are not in it are left out. -ENOENT: a field of the table does not
 * exist.
 */
int metrics_new(const struct metrics_opts *o, const struct registry *reg, struct metrics **ret, struct err *err);
void metrics_free(struct metrics *m);	/* NULL is fine */

/* Adds an event to the rows of @families (mask) that count its type. 0 or -ENOMEM: that event is not counted. */
int metrics_take(struct metrics *m, uint32_t families, const struct event *ev);
/* Drops the series that are idle at @now_ns (boot time). */
void metrics_expire(struct metrics *m, uint64_t now_ns);

/* ---- reading ---- */

/* Of one bucket: the last call with a trace. */
struct metrics_exemplar {
	uint64_t value_ns, wall_ns;	/* wall_ns: since 1970 */
	char trace[33], span[17];	/* hex digits; empty = none */
};

struct metrics_label {
	const char *key, *attribute;	/* for Prometheus, for OpenTelemetry */
	const char *text;	/* not terminated, any bytes */
	uint32_t len;
	bool known;
};

/* Borrowed for the call. */
struct metrics_series {
	const struct metric *metric;
	bool overflow;		/* all label sets beyond max_series; has no labels */
	struct metrics_label labels[METRIC_LABELS + METRIC_MORE];
	size_t n_labels;
	uint64_t start_ns;	/* boot time of the first event */
	uint64_t value;		/* in the metric's unit, times in ns; of a histogram the sum */
	uint64_t count;		/* of a histogram */
	const uint64_t *buckets;	/* bounds + 1, not cumulative */
	const struct metrics_exemplar *exemplars;	/* as many; NULL = none */
	const struct metrics_expo *expo;	/* the same values; NULL = the conventions give bounds */
};

/* @first: the first series of its metric. Stops at a negative return, which it returns. */
typedef int (*metrics_fn)(void *ctx, const struct metrics_series *s, bool first);
int metrics_each(const struct metrics *m, metrics_fn fn, void *ctx);

/* Number of series of all metrics. */
size_t metrics_n_series(const struct metrics *m);

#endif
