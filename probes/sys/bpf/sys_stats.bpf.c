// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Summary of system calls (-c): counts, errors and latencies by call and CPU, or by call and process, in maps. These
 * programs replace those of sys.bpf.c and write no records.
 */
#include "bpf/kernel.h"
#include "bpf/preempt.bpf.h"
#include "probes/sys/bpf/sys_call.bpf.h"
#include "probes/sys/bpf/sys_pred.bpf.h"
#include "probes/sys/bpf/sys_select.bpf.h"
#include "probes/sys/syscalls_bpf.h"

#include <bpf/bpf_tracing.h>

const volatile struct sys_plan sys_plans[SYS_PLAN_ABIS * SYS_NR_MAX] = { SYS_PLANS };
const volatile struct sys_plan sys_form_plans[SYS_FORMS_MAX] = { SYS_FORMS };
_Static_assert(SYS_N_FORMS <= SYS_FORMS_MAX, "forms.tsv fits");

/* ---- which calls are timed ---- */

/*
 * Two clock readings cost more than the rest of counting, so a random quarter of the calls is timed: one random
 * sequence per thread, which no regular loop of calls can match. The first 1,024 calls of each number are all
 * timed, so rare calls are exact.
 *
 * Long calls are never missed: the kernel's tick counter is free to read, and a call that spans two ticks is
 * reported with that duration, one tick more or less. Ticks may arrive late in a burst, after the hypervisor took
 * the CPU away; so a long call then reads the clock, and lasts at most since the last clock reading of its thread.
 */

const volatile bool sys_sampling = false; /* false: all calls are timed */
const volatile __u64 sys_tick_ns = 0;	/* period of bpf_jiffies64(); 0 = unknown */

/* Kinds of entry time in a slot; without a flag: nanoseconds of a sampled call. */
#define ENTER_FIRST (1ull << 63)	/* nanoseconds of one of the first calls */
#define ENTER_TICKS (1ull << 62)	/* ticks */

#define SEEN_SHIFT 20	/* nanoseconds to about a millisecond (2^20 ns) */

/* Calls of each number, in all ABIs, that were timed as one of the first. Races may add a few. */
__u32 sys_first[SYS_NR_MAX];

struct sys_sample sys_samples[SYS_SLOTS];	/* parallel to sys_slots */

enum took {
	TOOK_UNKNOWN,	/* entered before the start */
	TOOK_UNTIMED,
	TOOK_SAMPLED,
	TOOK_LONG,
	TOOK_FIRST,
};

static __always_inline struct sys_sample *sample_of(__u64 stack)
{
	return &sys_samples[(stack >> SYS_STACK_SHIFT) & (SYS_SLOTS - 1)];
}

/* Next number of a sequence with period 2^32 - 1 (Marsaglia's xorshift). */
static __always_inline bool is_sampled(struct sys_sample *d)
{
	__u32 r = d->random;

	r ^= r << 13;
	r ^= r >> 17;
	r ^= r << 5;
	d->random = r;
	return !(r & (SYS_SAMPLING_ONE_IN - 1));
}

static __always_inline void sample_enter(struct pt_regs *regs, long nr)
{
	__u64 stack = stack_of(regs);
	struct sys_sample *d = sample_of(stack);
	struct sys_slot *s = slot_of(stack);

	if (s->owner != stack && !slot_claim(s, stack)) {
		slot_set_more(stack, bpf_ktime_get_ns() | ENTER_FIRST);
	} else if (!d->random || sys_first[nr & (SYS_NR_MAX - 1)] < SYS_SAMPLING_AFTER) {
		if (!d->random)
			d->random = (__u32)(stack >> SYS_STACK_SHIFT) * 2654435769u | 1;
		s->enter_ns = bpf_ktime_get_ns() | ENTER_FIRST;
	} else if (is_sampled(d)) {
		s->enter_ns = bpf_ktime_get_ns();
	} else {
		s->enter_ns = bpf_jiffies64() | ENTER_TICKS;
	}
}

/* Duration of a call of @ticks, whose entry did not read the clock. */
static __noinline __u64 long_ns(__u64 stack, __u64 ticks)
{
	struct sys_sample *d = sample_of(stack);
	__u64 now_ns = bpf_ktime_get_ns(), ns = ticks * sys_tick_ns, most;

	most = (__u64)((__u32)(now_ns >> SEEN_SHIFT) - d->seen + 1) << SEEN_SHIFT;
	d->seen = now_ns >> SEEN_SHIFT;
	return ns < most ? ns : most;
}

/*
 * Does the call span enough ticks to be reported by ticks as well? The phase of the ticks is unrelated to the calls.
 */
static __always_inline bool is_long(__u64 now_ns, __u64 ns)
{
	__u64 tick_ns = sys_tick_ns;

	if (ns < tick_ns || !tick_ns)
		return false;
	return now_ns / tick_ns - (now_ns - ns) / tick_ns >= SYS_SAMPLING_LONG_TICKS;
}

/* Duration of the call that sample_enter() saw, if known. @s: slot of @stack. */
static __always_inline enum took sample_exit(struct sys_slot *s, __u64 stack, __u64 *ret_ns)
{
	__u64 enter = take_enter(s, stack), now_ns;

	if (!enter)
		return TOOK_UNKNOWN;
	if (enter & ENTER_TICKS) {
		enter = bpf_jiffies64() - (enter & ~ENTER_TICKS);
		if (enter < SYS_SAMPLING_LONG_TICKS)
			return TOOK_UNTIMED;
		*ret_ns = long_ns(stack, enter);
		return *ret_ns < sys_tick_ns ? TOOK_UNTIMED : TOOK_LONG;
	}
	now_ns = bpf_ktime_get_ns();
	sample_of(stack)->seen = now_ns >> SEEN_SHIFT;
	*ret_ns = now_ns - (enter & ~ENTER_FIRST);
	if (enter & ENTER_FIRST)
		return TOOK_FIRST;
	return is_long(now_ns, *ret_ns) ? TOOK_LONG : TOOK_SAMPLED;
}

/* Counterpart of time_enter(), where all calls are timed. */
static __always_inline enum took time_exit_all(struct sys_slot *s, __u64 stack, __u64 *ret_ns)
{
	*ret_ns = time_exit(s, stack, bpf_ktime_get_ns());
	return *ret_ns ? TOOK_LONG : TOOK_UNKNOWN;
}

/* ---- counters ---- */

MAP(sys_stats_rows, PERCPU_ARRAY, 1 /* by slot; user space sets the number */, __u32, struct sys_stats_cell);

const volatile __u8 sys_by = SYS_BY_ALL;	/* SYS_BY_* */
const volatile struct sys_stats_cell sys_stats_none = { 0 };

MAP(sys_stats_rows_by, HASH, 1, struct sys_stats_key, struct sys_stats_cell); /* SYS_BY_MOST if sys_by is set */

/* Several CPUs update the cells of one process; the cells of sys_stats_rows are per CPU. */
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

/* Histogram bucket, four per octave: the highest bit and the two bits below it. */
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
	bool sampled = how == TOOK_SAMPLED;

	if (sampled) {
		SUM_ADD(s->sampled, 1);
		SUM_ADD(s->sampled_ns, ns);
	} else {
		SUM_ADD(s->sure, 1);
		SUM_ADD(s->sure_ns, ns);
	}
	if (ns > s->max_ns)
		s->max_ns = ns;
	SUM_ADD(s->steps[step_of(ns)], sampled ? SYS_SAMPLING_ONE_IN : 1);
}

/* @nr: number in the caller's ABI. */
static __always_inline void sum_call(const struct call *c, long nr, __u32 todo, enum took how)
{
	struct sys_stats_cell *s = sys_by && c->slot != SLOT_NONE ? sum_by(c->slot, c->tgid) : NULL;
	__u32 slot = c->slot;

	if (!s)
		s = bpf_map_lookup_elem(&sys_stats_rows, &slot);
	if (!s)
		return;
	SUM_ADD(s->calls, 1);
	SUM_ADD(s->errors, is_error(c->ret));
	if (todo & (SYS_DO_SENDS | SYS_DO_RECEIVES) && c->ret > 0)
		SUM_ADD(s->bytes, c->ret);
	if (how == TOOK_UNTIMED)
		return;
	if (how == TOOK_FIRST)
		sys_first[nr & (SYS_NR_MAX - 1)]++;
	if (how == TOOK_UNKNOWN)
		SUM_ADD(s->unknown, 1);
	else
		sum_time(s, how, c->latency_ns);
}

/* ---- programs ---- */

SEC("tp_btf/sys_enter")
int BPF_PROG_NOPREEMPT(sys_enter_sum, struct pt_regs *regs, long nr)
{
	__u32 todo = do_any(nr, false, 0);

	if (!(todo & SYS_DO_TIME) || is_closed(todo))
		return 0;
	if (sys_sampling)
		sample_enter(regs, nr);
	else
		time_enter(regs, bpf_ktime_get_ns());
	return 0;
}

static __noinline bool sum_selected(struct call *c, __u32 todo)
{
	c->task = this_task();
	caller_more(c, c->task);
	return conditions(c, todo);
}

/* Replaces sys_exit. */
SEC("tp_btf/sys_exit")
int BPF_PROG_NOPREEMPT(sys_exit_sum, struct pt_regs *regs, long ret)
{
	long nr = regs_nr(regs);
	__u64 stack = stack_of(regs);
	__u32 todo = do_any(nr, true, ret);
	enum took how = TOOK_UNKNOWN;
	struct sys_slot *s;
	struct call c;

	if (!(todo & SYS_DO_EXIT))
		return 0;
	s = slot_of(stack);
	c.regs = regs;
	c.ret = ret;
	c.latency_ns = 0;
	if (sys_closed) {
		take_enter(s, stack);
		return 0;
	}
	if (todo & SYS_DO_TIME)
		how = sys_sampling ? sample_exit(s, stack, &c.latency_ns) : time_exit_all(s, stack, &c.latency_ns);
	find_caller(&c, s, stack, false);
	nr = nr_exit(&c, nr);
	todo = do_call(&c, nr);
	if (!(todo & SYS_DO_EXIT) || is_excluded(c.tgid))
		return 0;
	if (todo & SYS_DO_LIFE && is_newborn(&c)) /* counted in the parent */
		return 0;
	if (todo & SYS_DO_STEPS && !sum_selected(&c, todo))
		return 0;
	sum_call(&c, nr, todo, how);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
