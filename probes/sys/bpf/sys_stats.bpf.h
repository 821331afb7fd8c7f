/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Counting instead of telling: calls, errors and latencies per call and CPU, or per call and process, without any
 * record.
 */
#ifndef SYS_STATS_BPF_H
#define SYS_STATS_BPF_H

#include "probes/sys/bpf/sys_sampling.bpf.h"
#include "probes/sys/bpf/sys_task.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* by slot; set at run time where it is used */
	__type(key, __u32);
	__type(value, struct sys_stats_cell);
} sys_stats_rows SEC(".maps");

const volatile __u8 sys_by = SYS_BY_ALL;	/* for whom there are counts of their own */
const volatile struct sys_stats_cell sys_stats_none = { 0 };

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* SYS_BY_MOST where it is used */
	__type(key, struct sys_stats_key);
	__type(value, struct sys_stats_cell);
} sys_stats_rows_by SEC(".maps");

/* Counts of one process are added to on several CPUs; those of all have a place for each. */
#define SUM_ADD(at, n) do { \
	if (sys_by) \
		__sync_fetch_and_add(&(at), (n)); \
	else \
		(at) += (n); \
} while (0)

static __always_inline struct sys_stats_cell *sum_by(__u32 slot, __u32 tgid)
{
	struct sys_stats_key key = { .tgid = sys_by == SYS_BY_PROCESS ? tgid : 0, .slot = slot };
	struct sys_stats_cell *s;

	bpf_get_current_comm(key.name, sizeof(key.name));
	s = bpf_map_lookup_elem(&sys_stats_rows_by, &key);
	if (s)
		return s;
	bpf_map_update_elem(&sys_stats_rows_by, &key, (void *)&sys_stats_none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&sys_stats_rows_by, &key);
}

/* Four steps an octave: the highest bit and the two below it. */
static __always_inline __u32 step_of(__u64 ns)
{
	__u32 v = ns >> 32 ? 0xffffffff : ns, log = 0, step;

	if (v < 4)
		return v;
	if (v >> 16)
		log = 16;
	if (v >> (log + 8))
		log += 8;
	if (v >> (log + 4))
		log += 4;
	if (v >> (log + 2))
		log += 2;
	if (v >> (log + 1))
		log += 1;
	step = ((log - 1) << 2) + ((v >> (log - 2)) & 3);
	return step & (SYS_STEPS - 1);
}

static __always_inline void sum_time(struct sys_stats_cell *s, enum took how, __u64 ns)
{
	bool drawn = how == TOOK_DRAWN;

	if (drawn) {
		SUM_ADD(s->drawn, 1);
		SUM_ADD(s->drawn_ns, ns);
	} else {
		SUM_ADD(s->sure, 1);
		SUM_ADD(s->sure_ns, ns);
	}
	if (ns > s->max_ns)
		s->max_ns = ns;
	SUM_ADD(s->steps[step_of(ns)], drawn ? SYS_SAMPLING_ONE_IN : 1);
}

/* @nr: its number in whatever ABI. */
static __always_inline void sum_call(__u32 slot, long nr, __u32 tgid, bool failed, enum took how, __u64 ns)
{
	struct sys_stats_cell *s = sys_by && slot != SLOT_NONE ? sum_by(slot, tgid) : NULL;

	if (!s)
		s = bpf_map_lookup_elem(&sys_stats_rows, &slot);
	if (!s)
		return;
	SUM_ADD(s->calls, 1);
	SUM_ADD(s->errors, failed);
	if (how == TOOK_NOT_DRAWN)
		return;
	if (how == TOOK_FIRST)
		sys_first[nr & (SYS_NR_MAX - 1)]++;
	if (how == TOOK_UNKNOWN)
		SUM_ADD(s->unknown, 1);
	else
		sum_time(s, how, ns);
}

#endif
