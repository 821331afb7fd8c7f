/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Times of some calls: two readings of the clock cost more than all else that counting does, so not every call pays
 * for them. One in four does, chosen by random numbers, one sequence for each thread: no loop of calls, however
 * regular, can be in step with them. Of each call number the first thousand are timed all, so that what is seldom is
 * exact.
 *
 * What is long is never left out: ticks of the kernel's clock cost nothing to read, and a call that saw two of them
 * go by is told as so long, a tick more or less. Ticks can come late and all at once, after the hypervisor took the
 * CPU away that counts them; so the clock is read then, and such a call is no longer than since its thread read it
 * last.
 */
#ifndef SYS_SAMPLING_BPF_H
#define SYS_SAMPLING_BPF_H

#include "probes/sys/bpf/sys_call.bpf.h"

const volatile bool sys_sampling = false; /* else the times of all calls are taken */
const volatile __u64 sys_tick_ns = 0;	/* of bpf_jiffies64() */

/* How what stands in a slot came there; a bare number is a time. */
#define ENTER_FIRST (1ull << 63)	/* a time, of one of the first calls */
#define ENTER_TICKS (1ull << 62)	/* no time: ticks */

#define SEEN_SHIFT 20	/* times are remembered in milliseconds, nearly */

/* Calls of each number, of all ABIs, that were timed because they were among the first. Races make it a few more. */
__u32 sys_first[SYS_NR_MAX];

struct sys_lot sys_lots[SYS_SLOTS];	/* beside sys_slots */

enum took {
	TOOK_UNKNOWN,	/* nobody saw it begin */
	TOOK_NOT_DRAWN,
	TOOK_DRAWN,
	TOOK_LONG,
	TOOK_FIRST,
};

static __always_inline struct sys_lot *lot_of(__u64 stack)
{
	return &sys_lots[(stack >> SYS_STACK_SHIFT) & (SYS_SLOTS - 1)];
}

/* The next of a sequence of 2^32 - 1 numbers (Marsaglia's xorshift). */
static __always_inline bool is_drawn(struct sys_lot *d)
{
	__u32 r = d->random;

	r ^= r << 13;
	r ^= r >> 17;
	r ^= r << 5;
	d->random = r;
	return !(r & (SYS_SAMPLING_ONE_IN - 1));
}

static __always_inline void draw_enter(struct pt_regs *regs, long nr)
{
	__u64 stack = stack_of(regs);
	struct sys_lot *d = lot_of(stack);
	struct sys_slot *s = slot_of(stack);

	if (s->owner != stack && !slot_claim(s, stack)) {
		slot_set_more(stack, bpf_ktime_get_ns() | ENTER_FIRST);
	} else if (!d->random || sys_first[nr & (SYS_NR_MAX - 1)] < SYS_SAMPLING_AFTER) {
		if (!d->random)
			d->random = (__u32)(stack >> SYS_STACK_SHIFT) * 2654435769u | 1;
		s->enter_ns = bpf_ktime_get_ns() | ENTER_FIRST;
	} else if (is_drawn(d)) {
		s->enter_ns = bpf_ktime_get_ns();
	} else {
		s->enter_ns = bpf_jiffies64() | ENTER_TICKS;
	}
}

/* A call of @ticks, which was not timed. */
static __noinline __u64 long_ns(__u64 stack, __u64 ticks)
{
	struct sys_lot *d = lot_of(stack);
	__u64 now_ns = bpf_ktime_get_ns(), ns = ticks * sys_tick_ns, most;

	most = (__u64)((__u32)(now_ns >> SEEN_SHIFT) - d->seen + 1) << SEEN_SHIFT;
	d->seen = now_ns >> SEEN_SHIFT;
	return ns < most ? ns : most;
}

/* Would ticks have told it? Where they lie matters as little as the calls know of them. */
static __always_inline bool is_long(__u64 now_ns, __u64 ns)
{
	__u64 tick_ns = sys_tick_ns;

	if (ns < tick_ns || !tick_ns)
		return false;
	return now_ns / tick_ns - (now_ns - ns) / tick_ns >= SYS_SAMPLING_LONG_TICKS;
}

/* How long the call took that began with draw_enter(), if that is known. @s: the place of @stack. */
static __always_inline enum took draw_exit(struct sys_slot *s, __u64 stack, __u64 *ret_ns)
{
	__u64 enter = take_enter(s, stack), now_ns;

	if (!enter)
		return TOOK_UNKNOWN;
	if (enter & ENTER_TICKS) {
		enter = bpf_jiffies64() - (enter & ~ENTER_TICKS);
		if (enter < SYS_SAMPLING_LONG_TICKS)
			return TOOK_NOT_DRAWN;
		*ret_ns = long_ns(stack, enter);
		return *ret_ns < sys_tick_ns ? TOOK_NOT_DRAWN : TOOK_LONG;
	}
	now_ns = bpf_ktime_get_ns();
	lot_of(stack)->seen = now_ns >> SEEN_SHIFT;
	*ret_ns = now_ns - (enter & ~ENTER_FIRST);
	if (enter & ENTER_FIRST)
		return TOOK_FIRST;
	return is_long(now_ns, *ret_ns) ? TOOK_LONG : TOOK_DRAWN;
}

/* The same for time_enter(): of all calls. */
static __always_inline enum took time_exit_all(struct sys_slot *s, __u64 stack, __u64 *ret_ns)
{
	*ret_ns = time_exit(s, stack, bpf_ktime_get_ns());
	return *ret_ns ? TOOK_LONG : TOOK_UNKNOWN;
}

#endif
