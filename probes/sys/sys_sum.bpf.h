/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Counting instead of telling: calls, errors and latencies per call and CPU, without any record.
 */
#ifndef SYS_SUM_BPF_H
#define SYS_SUM_BPF_H

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

static __always_inline void sum_call(__u32 slot, bool failed, __u64 ns)
{
	struct sys_sum *s = bpf_map_lookup_elem(&sys_sums, &slot);

	if (!s)
		return;
	s->calls++;
	s->errors += failed;
	s->total_ns += ns;
	s->steps[step_of(ns)]++;
}

#endif
