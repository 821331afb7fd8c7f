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
#include "probes/cpu/bpf/cpu_state.bpf.h"
#include "probes/cpu/cpu_wire.h"
#include "sonde/stack_wire.h"

/* Filled before load (cpu.c). */
UNIT_SHARED const volatile __u32 cpu_kern_depth = 127;	/* frames; 0 = no kernel stacks */
UNIT_SHARED const volatile bool cpu_keep_idle = false;
UNIT_SHARED const volatile bool cpu_select_tids = false;

SONDE_SET(cpu_tids, __u32);

/* Where a record is made, with room for its addresses. */
static __always_inline struct cpu_sample_rec *scratch_of(__u32 class)
{
	struct cpu_scratch *d = desk_of(class);

	return d ? (void *)d->rec : NULL;
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

/* Whose sample it is. */
struct cpu_who {
	__u64 start_ns;		/* of the process, boot clock */
	__u64 cgroup_id;
	__u32 netns;
	bool has_memory;	/* no kernel thread */
};

enum bpf_func_id___cpu { BPF_FUNC_get_current_task_btf___cpu };

/*
 * The current task. Each of these lies in a cache line that nobody had in mind: loads one beside the other, with no
 * call in between (5.11), are waited for together. Not more of them than this: for each pointer that is followed from
 * a trusted one the verifier searches all types of the kernel by name, which takes it a millisecond (6.18), and that
 * comes before the first sample.
 */
static __always_inline void who_is_it(struct cpu_who *who)
{
	struct task_struct *task;
	struct nsproxy *spaces;

	if (!bpf_core_enum_value_exists(enum bpf_func_id___cpu, BPF_FUNC_get_current_task_btf___cpu)) {
		task = (struct task_struct *)bpf_get_current_task();
		who->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
		who->cgroup_id = bpf_get_current_cgroup_id();
		who->netns = task_netns(task);
		who->has_memory = !(BPF_CORE_READ(task, flags) & PF_KTHREAD);
		return;
	}
	task = bpf_get_current_task_btf();
	spaces = task->nsproxy;
	who->has_memory = !(task->flags & PF_KTHREAD);
	who->start_ns = task->group_leader->start_boottime;
	who->netns = spaces ? net_inode(spaces->net_ns) : 0;
	who->cgroup_id = bpf_get_current_cgroup_id();
}

/* The selection over the current task. The idle threads, all of them number 0, belong to no process. */
static __always_inline bool select_current(__u32 tid)
{
	if (!tid && !cpu_keep_idle)
		return false;
	return select_task() && select_tree(bpf_get_current_pid_tgid() >> 32) && select_tid(tid) &&
	       (!sonde_select_netns || select_netns(task_netns((struct task_struct *)bpf_get_current_task())));
}

/* Sends what was gathered: the stacks' lengths decide. */
static __always_inline void emit(struct sonde_ledger *l, struct cpu_sample_rec *r)
{
	__u32 len = sizeof(*r) + ((__u32)r->n_kern + r->n_user) * sizeof(__u64);

	barrier_var(len);
	if (len > sizeof(*r) + SCRATCH_IPS * sizeof(__u64)) { /* cannot be, which the verifier does not know */
		rec_lost(l, SONDE_LOST_COPY);
		return;
	}
	r->hdr.len = len;
	rec_output(l, LANE_BULK, r, len);
}

#endif
