// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Samples: the program of the perf events.
 */
#include "bpf/words.bpf.h"
#include "probes/cpu/bpf/cpu_common.bpf.h"
#include "probes/cpu/bpf/cpu_user.bpf.h"

const volatile __u64 cpu_value = 0;		/* of one sample; 0 = the event's own period */
const volatile __u64 cpu_clock_period_ns = 0;	/* the event is a clock of this period; 0 = it is something else */

__u32 cpu_sample_one_in = 1; /* a power of two; --max-cpu changes it while the program runs */

/* By CPU number; sized at run time. */
MAP(cpu_paces, ARRAY, 1, __u32, struct cpu_pace);

/*
 * Keeps the ledger of the clock. The timer has a grid of periods; a late timer skips the periods that it missed,
 * which the kernel does not report. On virtual machines the hypervisor ran something else for most of that time,
 * which belongs to no thread, so a late sample counts one period. The earliest sample defines the grid; others are
 * late by less than a period.
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

#define FETCH_SPANS 16		/* of the last walk; few stacks are deeper */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_ringbuf {
	__u64 mask;
	unsigned long consumer_pos, producer_pos;
};

struct bpf_ringbuf_map {
	struct bpf_ringbuf *rb;
};

#pragma clang attribute pop

/* A map pointer may be dereferenced through CO-RE. */
static __always_inline void fetch_ring(void *ring)
{
	struct bpf_ringbuf_map *map = ring;
	struct bpf_ringbuf *rb;

	if (!map || !bpf_core_field_exists(struct bpf_ringbuf_map, rb) ||
	    !bpf_core_field_exists(struct bpf_ringbuf, producer_pos))
		return;
	rb = map->rb;
	fetch(&rb->mask, 8);
	fetch(&rb->consumer_pos, 8);
	fetch(&rb->producer_pos, 8);
}

/*
 * Prefetches the memory that a sample of thread @id needs. At a hundred samples per second all of it is cold: loaded
 * piece by piece it takes a third of the sample's time, together hardly more than one piece.
 */
static __always_inline void fetch_ahead(__u64 id)
{
	struct cpu_scratch *d = get_scratch(CPU_CLASS_SAMPLE);
	const __u8 *mark = go_mark(id >> 32);
	const struct cpu_unwind_trace *t;
	__u32 zero = 0, *n;

	if (!d)
		return;
	t = &d->traces[trace_index((__u32)id) & ((1 << TRACE_SLOTS_SHIFT) - 1)];
	fetch(t, offsetof(struct cpu_unwind_trace, spans) + FETCH_SPANS * sizeof(t->spans[0]));
	fetch(&d->u.w, offsetof(struct cpu_walk, regs));
	fetch(&d->u.mm, offsetof(struct cpu_unwind, mappings) - offsetof(struct cpu_unwind, mm));
	fetch(d->window, sizeof(d->window));
	fetch(&d->fresh, 3 * LINE);
	fetch(&d->copy, 5 * LINE);	/* and the record, and its first addresses */
	fetch_ring(ring_of_this_cpu(LANE_BULK));
	if (mark)
		fetch(mark, sizeof(*mark));
	n = bpf_map_lookup_elem(&sonde_n_excluded, &zero);
	if (n)
		fetch(n, sizeof(*n));
	(void)tables_number();
}

static __always_inline bool in_kernel(const struct bpf_perf_event_data *ctx)
{
#if defined(__TARGET_ARCH_x86)
	return !(ctx->regs.cs & 3);
#elif defined(__TARGET_ARCH_arm64)
	return (ctx->regs.pstate & 0xf) != 0;
#endif
}

/* Returns the number of frames. */
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

/* True if the event interrupted user space. Copies the registers that every frame has to the scratch area. */
static __always_inline bool regs_here(const struct bpf_perf_event_data *ctx)
{
	struct cpu_scratch *d = get_scratch(CPU_CLASS_SAMPLE);

	if (!d || in_kernel(ctx))
		return false;
	d->u.regs_left = REGS_TASK;
#if defined(__TARGET_ARCH_x86)
	d->u.w.ip = ctx->regs.ip;
	d->u.w.sp = ctx->regs.sp;
	d->u.w.fp = ctx->regs.bp;
	d->u.w.compat = (ctx->regs.cs & 0xffff) == USER32_CS;
#elif defined(__TARGET_ARCH_arm64)
	d->u.w.ip = ctx->regs.pc;
	d->u.w.sp = ctx->regs.sp;
	d->u.w.fp = ctx->regs.regs[29];
	d->u.w.link = ctx->regs.regs[30];
	d->u.w.compat = !!(ctx->regs.pstate & PSTATE_MODE32);
#endif
	return true;
}

static __always_inline void add_user_stack(const struct bpf_perf_event_data *ctx, struct cpu_sample_rec *r,
					   bool has_memory, __u64 n_kern)
{
	r->n_user = 0;
	r->user_end = SONDE_STACK_NONE;
	if (!cpu_user_depth)
		return;
	r->mode |= CPU_MODE_USER_ASKED;
	barrier_var(n_kern); /* what is checked is what is used, also to old verifiers */
	if (!has_memory || n_kern > CPU_KERN_MAX)
		return;
	r->n_user = (__u16)unwind_user(CPU_CLASS_SAMPLE, (__u32)n_kern, regs_here(ctx), &r->user_end);
}

/* @one_in: samples that this one stands for. */
static __always_inline void take_sample(struct bpf_perf_event_data *ctx, struct sonde_ledger *l, __u64 id,
					const struct cpu_who *who, __u32 one_in)
{
	struct cpu_sample_rec *r = record_of(CPU_CLASS_SAMPLE);
	__u64 at_ns;

	if (!r)
		return;
	rec_init_keys(&r->hdr, l, CPU_REC_SAMPLE, sizeof(*r), CPU_CLASS_SAMPLE | SONDE_RF_IDENT, id >> 32, (__u32)id,
		      who->start_ns);
	ident_keys(&r->id, ident_image_number(id >> 32, who->start_ns, who->execs), who->cgroup_id, who->netns);
	ident_go(&r->id, id >> 32, who->start_ns, false);
	r->value = (cpu_value ? cpu_value : ctx->sample_period) * one_in;
	r->wait_ns = 0;
	r->cgroup_id = who->cgroup_id;
	r->netns = who->netns;
	r->state = r->pad = 0;
	r->count = (__u16)one_in;
	r->mode = (in_kernel(ctx) ? CPU_MODE_KERNEL : 0) | ((__u32)id ? 0 : CPU_MODE_IDLE) |
		  (cpu_value ? 0 : CPU_MODE_EVENTS);
	bpf_get_current_comm(r->comm, sizeof(r->comm));
	add_user_stack(ctx, r, (__u32)id && who->has_memory, add_kernel_stack(ctx, r));
	if (!stack_copied(CPU_CLASS_SAMPLE, r->user_end, &at_ns) || !copy_record(l, CPU_CLASS_SAMPLE, at_ns))
		emit(l, CPU_CLASS_SAMPLE, r);
}

/* Counts a sample that --max-cpu leaves out. */
static __always_inline void leave_out(struct cpu_pace *p)
{
	struct sonde_ledger *l = ledger_seen(CPU_CLASS_SAMPLE);

	keep_pace(p, bpf_ktime_get_ns());
	if (l)
		rec_sampled(l);
}

SEC("perf_event")
int cpu_sample(struct bpf_perf_event_data *ctx)
{
	const __u64 id = bpf_get_current_pid_tgid();
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu_pace *p = bpf_map_lookup_elem(&cpu_paces, &cpu);
	const bool few = selects_process();	/* most samples may be of no use */
	const __u32 one_in = cpu_sample_one_in;
	struct sonde_ledger *l;
	struct cpu_who who = { 0 };

	if (p && one_in > 1 && p->turn++ & (one_in - 1)) {
		leave_out(p);
		return 0;
	}
	if (!few) {
		who_is_it(&who);
		if ((__u32)id)
			fetch_ahead(id);
	}
	l = p ? ledger_seen(CPU_CLASS_SAMPLE) : NULL;
	if (!l)
		return 0;
	keep_pace(p, bpf_ktime_get_ns());
	if (!select_current(id)) {
		rec_filtered(l);
		return 0;
	}
	if (few)
		who_is_it(&who);
	take_sample(ctx, l, id, &who, one_in);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
