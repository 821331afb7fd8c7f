/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Common parts of sampling and switching: configuration, selection, and the end of every record.
 *
 * Programs run in any context: a sample in a timer interrupt or, with hardware events, an NMI; a switch with the
 * run queue locked. So the code takes no shared lock and allocates no memory, and the two share neither scratch
 * memory nor a row of the ledger.
 */
#ifndef CPU_COMMON_BPF_H
#define CPU_COMMON_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/ident.bpf.h"
#include "bpf/ident_go.bpf.h"
#include "bpf/ring.bpf.h"
#include "probes/cpu/bpf/cpu_state.bpf.h"
#include "probes/cpu/cpu_wire.h"
#include "sonde/stack_wire.h"

/* Filled before load (cpu.c). */
UNIT_SHARED const volatile __u32 cpu_kern_depth = 127;	/* frames; 0 = no kernel stacks */
UNIT_SHARED const volatile bool cpu_keep_idle = false;
UNIT_SHARED const volatile bool cpu_select_tids = false;

SONDE_SET(cpu_tids, __u32);

/* Scratch memory of a record, with room for its addresses. */
static __always_inline struct cpu_sample_rec *record_of(__u32 class)
{
	struct cpu_scratch *d = get_scratch(class);

	if (!d)
		return NULL;
	barrier_var(d); /* else the offset may be added before the check, which the verifier refuses */
	return (void *)d->rec;
}

static __always_inline bool select_tid(__u32 tid)
{
	return !cpu_select_tids || bpf_map_lookup_elem(&cpu_tids, &tid);
}

static __always_inline __u32 task_netns(struct task_struct *task)
{
	return net_inode_probed(BPF_CORE_READ(task, nsproxy, net_ns));
}

#define PF_KTHREAD 0x00200000	/* include/linux/sched.h */

/* The process of a sample. */
struct cpu_who {
	__u64 start_ns;		/* of the process, boot clock */
	__u64 cgroup_id, execs;	/* execs: ident_image_number() */
	__u32 netns;
	__u32 flags;		/* PF_* */
	bool has_memory;	/* not a kernel thread */
};

enum bpf_func_id___cpu { BPF_FUNC_get_current_task_btf___cpu };

/*
 * Reads the current task. Each field is in a cold cache line; adjacent loads without a call in between (5.11) miss
 * in parallel. The list is short on purpose: for each pointer that is followed from a trusted one the verifier
 * searches all kernel types by name, a millisecond each (6.18) before the first sample.
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
		who->flags = BPF_CORE_READ(task, flags);
		who->has_memory = !(who->flags & PF_KTHREAD);
		who->execs = BPF_CORE_READ(task, self_exec_id);
		return;
	}
	task = bpf_get_current_task_btf();
	spaces = task->nsproxy;
	who->flags = task->flags;
	who->has_memory = !(who->flags & PF_KTHREAD);
	who->execs = task->self_exec_id;
	who->start_ns = task->group_leader->start_boottime;
	who->netns = spaces ? net_inode(spaces->net_ns) : 0;
	who->cgroup_id = bpf_get_current_cgroup_id();
}

/* Applies the selection to the current task, @id. The idle threads, all with number 0, belong to no process. */
static __always_inline bool select_current(__u64 id)
{
	if (!(__u32)id && !cpu_keep_idle)
		return false;
	return select_task_of(id >> 32) && select_tid((__u32)id);
}

/* Sends the record; its stacks determine its length. */
static __always_inline void emit(struct sonde_ledger *l, __u32 class, struct cpu_sample_rec *r)
{
	__u32 len = fixed_bytes(class) + ((__u32)r->n_kern + r->n_user) * sizeof(__u64);

	barrier_var(len);
	if (len > sizeof(*r) + SCRATCH_IPS * sizeof(__u64)) { /* impossible, but the verifier cannot prove it */
		rec_lost(l, SONDE_LOST_COPY);
		return;
	}
	r->hdr.len = len;
	rec_output(l, LANE_BULK, r, len);
}

#endif
