/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics: which events add to which series. The rows of tables/metrics.def, without any state.
 */
#ifndef METRICS_METRICS_TABLE_H
#define METRICS_METRICS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

#define METRIC_LABELS 7u	/* most labels of a metric */
#define METRIC_MORE 5u		/* labels that only a "+LABEL" adds: metrics_table_more */
#define METRIC_BOUNDS 16u	/* most bounds of a histogram */
#define METRIC_STEP_LAST 123u	/* step of a STEPS array without an end: what is longer than 3.7 s */

enum metric_kind { METRIC_COUNTER, METRIC_HISTOGRAM, METRIC_KIND__MAX };

enum metric_unit { METRIC_PACKETS, METRIC_BYTES, METRIC_NS, METRIC_CALLS, METRIC_CONNECTIONS, METRIC_SEGMENTS,
		   METRIC_UNIT__MAX };

enum metric_op {
	METRIC_COUNT,	/* events; with an id only the first one of each */
	METRIC_SUM,	/* of the field: what was added since the last event */
	METRIC_TOTAL,	/* of the field, a total of its id: the increments of all ids */
	METRIC_TIME,	/* histogram of the field, in ns; with an id only the first value of each */
	METRIC_STEPS,	/* histogram of the field, uint64_t totals of its id by step: metrics_table_step_end() */
	METRIC_OP__MAX,
};

struct metric_label {
	const char *key, *attribute, *field;
};

struct metric {
	const char *name, *help;
	enum metric_kind kind;
	enum metric_unit unit;
	const char *family;
	const char *type, *only;	/* of events; filter or NULL */
	enum metric_op op;
	const char *field;		/* NULL: the event itself */
	const char *id;			/* fields separated by blanks; NULL = none */
	const char *sum;		/* STEPS: field with the total in ns */
	struct metric_label labels[METRIC_LABELS];	/* up to key NULL */
};

struct metric_family {
	const char *name, *probes, *summary, *cost;
};

/* Labels of any metric whose events have the field, without a bound of their values. */
struct metric_more {
	const char *name;	/* without the plus */
	struct metric_label label;
};
extern const struct metric_more metrics_table_more[METRIC_MORE];

extern const struct metric metrics_table[];
extern const size_t metrics_table_n;
extern const struct metric_family metrics_table_families[];
extern const size_t metrics_table_n_families;

size_t metrics_table_n_labels(const struct metric *m);
/*
 * Masks (1u << index) of the families in @list, separated by commas, and of the labels ("+pid") of
 * metrics_table_more. -EINVAL with a message for another word.
 */
int metrics_table_mask(const char *list, uint32_t *ret, uint32_t *ret_more, struct err *err);
/* Of all families but hubble, which has the counts of others under the names of another program. */
uint32_t metrics_table_own(void);
/* The mask of the family of @m. */
uint32_t metrics_table_family(const struct metric *m);

/* Name of the family in Prometheus' formats: without _total, which samples of counters have behind it. */
void metrics_table_prometheus(const struct metric *m, struct buf *out);
/* Unit of OpenTelemetry (UCUM): "By", "s", "{packet}". */
const char *metrics_table_unit(const struct metric *m);

/* Upper bounds of a histogram's buckets in ns, ascending; the last bucket has none. Returns their number. */
size_t metrics_table_bounds(const struct metric *m, const uint64_t **ret);
/* Are these bounds ours, and not those of the conventions? */
bool metrics_table_own_bounds(const struct metric *m);
/*
 * Largest value in ns of step @i of a STEPS array: steps below 4 are exact, then come four an octave. Each bound of
 * such a histogram is the end of a step.
 */
uint64_t metrics_table_step_end(unsigned i);

#endif
