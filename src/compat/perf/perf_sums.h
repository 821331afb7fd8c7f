/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The summary of perf trace -s: calls, errors and times of each thread.
 */
#ifndef COMPAT_PERF_SUMS_H
#define COMPAT_PERF_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

struct buf;
struct event;
struct sys_body;

/* Zeroed, then perf_sums_init(). */
struct perf_sums {
	/* lint-ok(tables): sums of a run by thread, not state of threads */
	struct map threads; /* u32 tid -> thread */
	struct map calls;   /* tid, call -> sums */
	struct map errnos;  /* lint-ok(tables): as above; tid, call, errno -> u64 */
	uint64_t events;
};

void perf_sums_init(struct perf_sums *s);
void perf_sums_fini(struct perf_sums *s);
/* Counts a call, @returned or never to return. 0 or -ENOMEM. */
int perf_sums_add(struct perf_sums *s, const struct event *ev, const struct sys_body *b, bool returned);
/* Appends the summary; @errnos: with the numbers of each error. 0 or -ENOMEM. */
int perf_sums_put(const struct perf_sums *s, bool errnos, struct buf *out);

#endif
