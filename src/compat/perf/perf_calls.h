/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls in the lines of perf trace, and its summary by thread.
 */
#ifndef COMPAT_PERF_CALLS_H
#define COMPAT_PERF_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "compat/perf/perf_sums.h"

struct perf_calls {
	bool summary;		  /* at the end */
	bool no_lines;		  /* summary only */
	bool errnos;		  /* in the summary */
	bool no_comm, no_threads; /* in front of calls: without the name; neither name nor id */
	bool full_time;		  /* since boot, not since the first call */
	bool failed;		  /* only calls that failed */
	uint64_t min_ns;	  /* only calls of at least this duration */
	const uint32_t *only;	  /* the one process whose calls count; NULL or 0 = all */
	struct outfile *out;	  /* borrowed */
};

extern const struct sink_ops perf_calls_sink; /* sink_opts.ctx is a struct perf_calls */

#endif
