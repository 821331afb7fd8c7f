/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Counting instead of telling: calls, errors and latencies per call and CPU, without any record.
 */
#ifndef SYS_SUM_BPF_H
#define SYS_SUM_BPF_H

#include "probes/sys/sys_draw.bpf.h"
#include "probes/sys/sys_task.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* by slot; set at run time where it is used */
	__type(key, __u32);
	__type(value, struct sys_sum);
} sys_sums SEC(".maps");

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

static __always_inline void sum_time(struct sys_sum *s, enum took how, __u64 ns)
{
	bool drawn = how == TOOK_DRAWN;

	if (drawn) {
		s->drawn++;
		s->drawn_ns += ns;
	} else {
		s->sure++;
		s->sure_ns += ns;
	}
	if (ns > s->max_ns)
		s->max_ns = ns;
	s->steps[step_of(ns)] += drawn ? SYS_DRAW_ONE_IN : 1;
}

/* @nr: its number in whatever ABI. */
static __always_inline void sum_call(__u32 slot, long nr, bool failed, enum took how, __u64 ns)
{
	struct sys_sum *s = bpf_map_lookup_elem(&sys_sums, &slot);

	if (!s)
		return;
	s->calls++;
	s->errors += failed;
	if (how == TOOK_NOT_DRAWN)
		return;
	if (how == TOOK_FIRST)
		sys_first[nr & (SYS_NR_MAX - 1)]++;
	if (how == TOOK_UNKNOWN)
		s->unknown++;
	else
		sum_time(s, how, ns);
}

#endif
