/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters of the BPF programs, as records.
 */
#ifndef SYS_STATS_ROWS_H
#define SYS_STATS_ROWS_H

#include <stdbool.h>

struct bpf_object;
struct probe;

/*
 * Injects a record for each call that was made, in descending order of time. @sampled: times are of a sample
 * (sys_stats.bpf.c), from which this function estimates the total. @by (SYS_BY_*): groups the calls by process or
 * name, in descending order of total time. 0 or a negative errno.
 */
int sys_stats_report(struct probe *p, struct bpf_object *obj, const unsigned *abis, unsigned n_abis, unsigned by,
		   bool sampled);

#endif
