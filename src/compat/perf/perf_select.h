/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which samples of a recording perf script and perf report show: --comms, --pid, --tid, --cpu, --time.
 */
#ifndef COMPAT_PERF_SELECT_H
#define COMPAT_PERF_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"

struct event;

struct perf_select {
	struct opt_strv comms, cpus; /* lists separated by commas */
	struct opt_u32v pids, tids;
	const char *time; /* "START,STOP", seconds since boot; either may be empty */

	/* perf_select_begin() */
	uint64_t from_ns, to_ns;
	uint32_t *cpu_list; /* owned */
	size_t n_cpus;
};

/* The rows for a struct @s with a member `select`. */
#define PERF_SELECT_ROWS(s, cpu_key, comm_key) \
	OPT_ROW(s, select.cpus, "cpu", cpu_key, OPT_STRV, "CPU", "samples of these CPUs, as 0-3,8"), \
		OPT_ROW(s, select.comms, "comms", comm_key, OPT_STRV, "COMM", \
			"samples of threads with these names"), \
		OPT_ROW(s, select.pids, "pid", 0, OPT_U32V, "PID", "samples of these processes"), \
		OPT_ROW(s, select.tids, "tid", 0, OPT_U32V, "TID", "samples of these threads"), \
		OPT_ROW(s, select.time, "time", 0, OPT_STR, "START,STOP", \
			"samples of this span, seconds as perf script prints", \
			.differs = "one span of times; parts in percent are refused")

/* Reads the lists. 0, or -EINVAL with a sentence. */
int perf_select_begin(struct perf_select *s, struct err *err);
void perf_select_fini(struct perf_select *s);
/* As in struct run_ops; @ctx is a struct perf_select. */
bool perf_select_pass(void *ctx, const struct event *ev);
/* Whether @name is one of the words of the lists. */
bool perf_select_has(const struct opt_strv *lists, const char *name, size_t len);

#endif
