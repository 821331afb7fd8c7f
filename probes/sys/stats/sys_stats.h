/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters of the BPF programs, as records.
 */
#ifndef SYS_STATS_ROWS_H
#define SYS_STATS_ROWS_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_object;
struct probe;

/* Upper bound of a histogram bucket, ns: buckets below 4 are exact, then four per octave. */
static inline uint64_t sys_stats_step_end(unsigned step)
{
	unsigned octave = (step >> 2) + 1;

	return step < 4 ? step : ((4ull + (step & 3) + 1) << (octave - 2)) - 1;
}

/*
 * Injects a record for each call that was made, in descending order of time. @sampled: times are of a sample
 * (sys_stats.bpf.c), from which this function estimates the total. @by (SYS_BY_*): groups the calls by process or
 * name, in descending order of total time. 0 or a negative errno.
 */
int sys_stats_report(struct probe *p, struct bpf_object *obj, const unsigned *abis, unsigned n_abis, unsigned by,
		   bool sampled);

/*
 * Reports at intervals, by process and call: the sums since the report before. They come shortly before each multiple
 * of the interval (boot clock), so that readers with such intervals find one report in each. @abis is borrowed. NULL
 * without memory.
 */
struct sys_stats_reports *sys_stats_new(struct probe *p, struct bpf_object *obj, const unsigned *abis,
					unsigned n_abis, uint64_t interval_ns);
void sys_stats_free(struct sys_stats_reports *s);	/* NULL is fine */
int sys_stats_start(struct sys_stats_reports *s);	/* once the programs are attached; 0 or -errno */
int sys_stats_set_interval(struct sys_stats_reports *s, uint64_t interval_ns);
int sys_stats_emit(struct sys_stats_reports *s);	/* reports now. 0 or -errno */

#endif
