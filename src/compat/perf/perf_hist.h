/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts samples for the rows of perf report and perf top.
 */
#ifndef COMPAT_PERF_HIST_H
#define COMPAT_PERF_HIST_H

#include "base/opt.h"
#include "compat/perf/perf_rows.h"
#include "sinks/stack/profile.h"

struct perf_hist_opts {
	struct perf_rows_opts rows;
	struct opt_strv symbols, dsos; /* see perf_frame_selected() */
};

struct perf_hist {
	const struct perf_hist_opts *o;
	struct profile profile;
	const char *event; /* name of what was sampled; NULL = no sample yet */
	uint64_t lost;
	struct map sums; /* u64 entry and CPU -> struct perf_total */
	struct perf_rows rows;
};

int perf_hist_open(struct perf_hist *h, const struct perf_hist_opts *o, const struct sink_opts *so);
/* Counts an event if it is a sample, in the table that is the state of the sink. 0 or -ENOMEM. */
int perf_hist_event(struct sink *sink, const struct event *ev);
/* Makes the rows of the samples so far. 0 or -ENOMEM. */
int perf_hist_finish(struct perf_hist *h);
void perf_hist_clear(struct perf_hist *h); /* drops the samples and their rows */
void perf_hist_fini(struct perf_hist *h);

#endif
