/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Samples: what a CPU does when its perf event comes.
 */
#ifndef CPU_SAMPLE_BPF_H
#define CPU_SAMPLE_BPF_H

#include "probes/cpu/cpu_user.bpf.h"

const volatile __u64 cpu_value = 0;		/* of one sample; 0 = the event's own period */
const volatile __u64 cpu_clock_period_ns = 0;	/* the event is a clock of this period; 0 = it is something else */

/* By CPU number; sized at run time. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_pace);
} cpu_paces SEC(".maps");

/*
 * Keeps the clock's books. The timer keeps a grid of periods; one that comes late skips what it missed, and the
 * kernel does not say so. Most of what is missed on virtual machines is time in which the hypervisor ran somebody
 * else: no thread's time, so a late sample stands for one period like any other. The grid is known by its earliest
 * sample, of which others are late by less than a period.
 */
static __always_inline void keep_pace(struct cpu_pace *p, __u64 now_ns)
{
	__u64 grid = p->grid_ns, n = 1;

	if (!cpu_clock_period_ns)
		return;
	if (!grid || now_ns < grid + cpu_clock_period_ns) {
		p->grid_ns = now_ns;
	} else {
		n = (now_ns - grid) / cpu_clock_period_ns;
		p->grid_ns = grid + n * cpu_clock_period_ns;
	}
	p->periods += n;
	p->missed += n - 1;
}

static __always_inline bool in_kernel(const struct bpf_perf_event_data *ctx)
{
#if defined(__TARGET_ARCH_x86)
	return !(ctx->regs.cs & 3);
#elif defined(__TARGET_ARCH_arm64)
	return (ctx->regs.pstate & 0xf) != 0;
#endif
}

/* Returns how many frames there are. */
static __always_inline __u64 add_kernel_stack(struct bpf_perf_event_data *ctx, struct cpu_sample_rec *r)
{
	long n;

	r->n_kern = 0;
	r->kern_err = 0;
	if (!cpu_kern_depth)
		return 0;
	r->mode |= CPU_MODE_KERN_ASKED;
	if (!(r->mode & CPU_MODE_KERNEL))
		return 0;
	n = bpf_get_stack(ctx, r->ips, cpu_kern_depth * sizeof(__u64), 0);
	if (n < 0) {
		r->kern_err = (__s32)n;
		return 0;
	}
	r->n_kern = (__u16)(n / sizeof(__u64));
	return (__u64)n / sizeof(__u64);
}

static __always_inline void add_user_stack(struct cpu_sample_rec *r, bool has_memory, __u64 n_kern)
{
	r->n_user = 0;
	r->user_end = SONDE_STACK_NONE;
	if (!cpu_user_depth)
		return;
	r->mode |= CPU_MODE_USER_ASKED;
	barrier_var(n_kern); /* what is checked is what is used, also to old verifiers */
	if (!has_memory || n_kern > CPU_KERN_MAX)
		return;
	r->n_user = (__u16)walk_user(CPU_CLASS_SAMPLE, (__u32)n_kern, &r->user_end);
}

static __always_inline void take_sample(struct bpf_perf_event_data *ctx, struct sonde_ledger *l)
{
	struct cpu_sample_rec *r = scratch_of(CPU_CLASS_SAMPLE);
	__u64 id = bpf_get_current_pid_tgid();
	struct cpu_who who;
	__u64 at_ns;

	if (!r)
		return;
	who_is_it(&who);
	rec_init_keys(&r->hdr, l, CPU_REC_SAMPLE, sizeof(*r), CPU_CLASS_SAMPLE, id >> 32, (__u32)id, who.start_ns);
	r->value = cpu_value ? cpu_value : ctx->sample_period;
	r->wait_ns = 0;
	r->cgroup_id = who.cgroup_id;
	r->netns = who.netns;
	r->state = r->pad = 0;
	r->count = 1;
	r->mode = (in_kernel(ctx) ? CPU_MODE_KERNEL : 0) | ((__u32)id ? 0 : CPU_MODE_IDLE) |
		  (cpu_value ? 0 : CPU_MODE_EVENTS);
	bpf_get_current_comm(r->comm, sizeof(r->comm));
	add_user_stack(r, (__u32)id && who.has_memory, add_kernel_stack(ctx, r));
	if (!stack_copied(CPU_CLASS_SAMPLE, r->user_end, &at_ns) || !copy_record(l, CPU_CLASS_SAMPLE, at_ns))
		emit(l, r);
}

SEC("perf_event")
int cpu_sample(struct bpf_perf_event_data *ctx)
{
	__u32 cpu = bpf_get_smp_processor_id(), tid = (__u32)bpf_get_current_pid_tgid();
	struct cpu_pace *p = bpf_map_lookup_elem(&cpu_paces, &cpu);
	struct sonde_ledger *l = p ? ledger_seen(CPU_CLASS_SAMPLE) : NULL;

	if (!l)
		return 0;
	keep_pace(p, bpf_ktime_get_ns());
	if (select_current(tid))
		take_sample(ctx, l);
	else
		rec_filtered(l);
	return 0;
}

#endif
