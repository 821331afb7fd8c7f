/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * What sampling and switching have in common: configuration, selection, and the end of every record.
 *
 * Programs run in the middle of anything: a sample in a timer interrupt or, with hardware events, an NMI; a switch
 * with the run queue locked. So nothing here takes a lock that others hold, no memory is allocated, and the two
 * share neither scratch memory nor a row of the ledger.
 */
#ifndef CPU_COMMON_BPF_H
#define CPU_COMMON_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/ring.bpf.h"
#include "probes/cpu/cpu_wire.h"
#include "sonde/stack_wire.h"

/* Filled before load (cpu.c). */
const volatile __u32 cpu_kern_depth = 127;	/* frames, 0 = not wanted, likewise below */
const volatile __u32 cpu_user_depth = 127;
const volatile bool cpu_keep_idle = false;
const volatile bool cpu_select_tids = false;

SONDE_SET(cpu_tids, __u32);

/* A record with room for the deepest stack. */
union cpu_scratch {
	struct cpu_sample_rec rec;
	__u64 room[sizeof(struct cpu_sample_rec) / 8 + CPU_KERN_MAX + CPU_USER_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, union cpu_scratch);
} cpu_scratch SEC(".maps");

static __always_inline union cpu_scratch *scratch_of(__u32 class)
{
	return bpf_map_lookup_elem(&cpu_scratch, &class);
}

static __always_inline bool select_tid(__u32 tid)
{
	return !cpu_select_tids || bpf_map_lookup_elem(&cpu_tids, &tid);
}

static __always_inline __u32 task_netns(struct task_struct *task)
{
	return net_inode_probed(BPF_CORE_READ(task, nsproxy, net_ns));
}

#define PF_KTHREAD 0x00200000

static __always_inline bool has_user_memory(struct task_struct *task)
{
	return !(BPF_CORE_READ(task, flags) & PF_KTHREAD);
}

/* The selection over the current task. The idle threads, all of them number 0, are nobody's unless asked for. */
static __always_inline bool select_current(__u32 tid)
{
	if (!tid && !cpu_keep_idle)
		return false;
	return select_task() && select_tid(tid) &&
	       (!sonde_select_netns || select_netns(task_netns((struct task_struct *)bpf_get_current_task())));
}

/* Sends what was gathered: the stacks' lengths decide. */
static __always_inline void emit(struct sonde_ledger *l, struct cpu_sample_rec *r)
{
	__u32 len = sizeof(*r) + ((__u32)r->n_kern + r->n_user) * sizeof(__u64);

	barrier_var(len);
	if (len > sizeof(union cpu_scratch)) { /* cannot be, which the verifier does not know */
		rec_lost(l, SONDE_LOST_COPY);
		return;
	}
	r->hdr.len = len;
	rec_output(l, LANE_BULK, r, len);
}

#endif
