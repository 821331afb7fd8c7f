/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Which calls the records were of that did not fit, and on which CPU. The ledger says how many there were.
 */
#ifndef SYS_LOST_BPF_H
#define SYS_LOST_BPF_H

#include "probes/sys/bpf/sys_call.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SYS_PLAN_ABIS * SYS_NR_MAX + 1); /* by slot; the last: no table has it */
	__type(key, __u32);
	__type(value, __u64);
} sys_lost SEC(".maps");

/* Changes when anything was lost: whoever looks need not look through the map. Adding races; changing does not. */
__u64 sys_lost_changes = 0;

static __noinline int call_lost(__u32 slot)
{
	__u64 *n;

	if (slot > SYS_PLAN_ABIS * SYS_NR_MAX)
		slot = SYS_PLAN_ABIS * SYS_NR_MAX;
	n = bpf_map_lookup_elem(&sys_lost, &slot);
	if (n)
		(*n)++;
	sys_lost_changes++;
	return 0;
}

#endif
