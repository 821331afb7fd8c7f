/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The current call: number, caller, entry time.
 *
 * Every system call of the host runs this code, so each instruction counts: the number is looked up before anything
 * else is read, the cheapest clock supplies the times, and the address of the kernel stack, which the tracepoint
 * passes, identifies the thread.
 */
#ifndef SYS_CALL_BPF_H
#define SYS_CALL_BPF_H

#include "bpf/filter.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/typed.bpf.h"
#include "probes/sys/sys_plan_wire.h"
#include "probes/sys/bpf/sys_task.bpf.h"

#include <bpf/bpf_helpers.h>

extern const volatile struct sys_plan sys_plans[SYS_PLAN_ABIS * SYS_NR_MAX];
extern const volatile struct sys_plan sys_form_plans[SYS_FORMS_MAX];
const volatile __u16 sys_do[SYS_PLAN_ABIS * SYS_NR_MAX] = { 0 };	/* SYS_DO_* */
const volatile __u16 sys_do_any[SYS_NR_MAX] = { 0 }; /* union over all ABIs: rejects most calls */
const volatile __u16 sys_do_unknown = 0;	/* for numbers without a table row */
const volatile __u16 sys_do_back = 0;	/* SYS_DO_* of rt_sigreturn, in any ABI */

/* CLOCK_BOOTTIME - CLOCK_MONOTONIC. User space updates it, because suspend changes it. */
__u64 sys_boot_offset_ns = 0;

#define ENOSYS 38
#define SLOT_NONE (~0u)
_Static_assert((SYS_PLAN_ABIS & (SYS_PLAN_ABIS - 1)) == 0, "slots are masked");

struct call {
	struct pt_regs *regs;
	struct task_struct *task; /* the caller */
	__u64 ret, latency_ns;
	__u64 now_ns;		/* boot clock: one reading serves the record and the latency */
	__u32 slot;		/* index in sys_plans; SLOT_NONE: no table row */
	__u32 nr, abi;
	__u32 n_args;
	__u32 tgid, tid;
	__u64 start_ns;		/* of the process */
};

static __always_inline const volatile struct sys_plan *plan_of(const struct call *c)
{
	__u32 slot = c->slot;

	if (slot >= SYS_PLAN_ABIS * SYS_NR_MAX)
		slot = 0;
	return &sys_plans[slot];
}

#define FORM_STEPS 11	/* of a binary search among the forms of one call */
_Static_assert(SYS_FORMS_MAX < 1 << FORM_STEPS, "the search ends");

/* Index of the form for @value, or -1. The forms of a call are sorted. */
__noinline int form_find(__u32 first, __u32 n, __u32 value)
{
	__u32 low = first, high = first + n;

	for (int i = 0; i < FORM_STEPS; i++) {
		__u32 at = (low + high) / 2, v;
		__u64 more;

		if (low >= high || at >= SYS_FORMS_MAX)
			break;
		v = sys_form_plans[at].value;
		if (v == value)
			return at;
		/* All bits or none instead of a branch, whose ways the verifier would walk one by one. */
		more = (__s64)((__u64)v - value) >> 63;
		barrier_var(more);
		low += (at + 1 - low) & more;
		high = at + ((high - at) & more);
	}
	return -1;
}

static __always_inline __u32 arg_at(const struct call *c, __u32 n)
{
	__u64 args[4];

	regs_args(c->regs, c->abi, args, 4);
	if (n == 0)
		return args[0];
	if (n == 1)
		return args[1];
	return n == 2 ? args[2] : args[3];
}

#define SYS_STEPS_OF_FORMS (SYS_PLAN_ABIS * SYS_NR_MAX)	/* forms follow the calls */

static __always_inline const volatile struct sys_plan *plan_at(__u32 steps)
{
	if (steps < SYS_STEPS_OF_FORMS)
		return &sys_plans[steps];
	steps -= SYS_STEPS_OF_FORMS;
	return &sys_form_plans[steps < SYS_FORMS_MAX ? steps : 0];
}

/* Plan for plan_at(): of the call's form, or of the call itself. */
static __always_inline __u32 steps_of(const struct call *c)
{
	const volatile struct sys_plan *plan = plan_of(c);
	__u32 value;
	int form;

	if (!(plan->flags & SYS_PLAN_FORMS))
		return c->slot;
	value = arg_at(c, plan->select[0]);
	if (plan->select[0] == plan->select[1])
		value &= plan->value;
	else
		value = SYS_SELECTED(value, arg_at(c, plan->select[1]));
	form = form_find(plan->first_form, plan->n_forms, value);
	return form < 0 ? c->slot : SYS_STEPS_OF_FORMS + form;
}

/* A new task returns from clone() without having entered it. */
static __always_inline bool is_newborn(const struct call *c)
{
	return !c->ret && plan_of(c)->flags & SYS_PLAN_BIRTH;
}

/* Return from a signal handler, which restored all registers but the number of the call. */
static __always_inline bool is_back(long nr, long ret)
{
	return nr == -1 && ret != -ENOSYS; /* syscall(-1) fails with ENOSYS */
}

/* Union of SYS_DO_* over all ABIs; hot path of every system call. @exit must be constant. */
static __always_inline __u32 do_any(long nr, bool exit, long ret)
{
	unsigned long i = nr;

	if (i >= SYS_NR_MAX)
		return exit && is_back(nr, ret) ? sys_do_back : sys_do_unknown;
	barrier_var(i); /* keeps the compiler from computing the address before the check */
	return sys_do_any[i & (SYS_NR_MAX - 1)];
}

/* Number of the call at exit. */
static __always_inline long nr_exit(const struct call *c, long nr)
{
	if (!is_back(nr, c->ret))
		return nr;
	return c->abi == SYS_ABI_I386 ? NR_RT_SIGRETURN_I386 : NR_RT_SIGRETURN;
}

/* SYS_DO_* in the caller's ABI. Sets @c->slot and @c->nr. */
static __always_inline __u32 do_call(struct call *c, long nr)
{
	unsigned long slot;

	slot = call_slot(&c->abi, &nr);
	c->nr = (__u32)nr;
	c->slot = SLOT_NONE;
	if (slot >= SYS_PLAN_ABIS * SYS_NR_MAX)
		return sys_do_unknown;
	barrier_var(slot);
	c->slot = slot;
	return sys_do[slot & (SYS_PLAN_ABIS * SYS_NR_MAX - 1)];
}

/*
 * Set while user space pauses recording, for a moment (sys_gate.h) or until it resumes. Calls that change processes
 * and descriptors pass nevertheless.
 */
__u32 sys_closed = 0;

static __always_inline bool is_closed(__u32 todo)
{
	return sys_closed && !(todo & (SYS_DO_LIFE | SYS_DO_STATE));
}

/* ---- entry time ---- */

/*
 * Slots for kernel stacks, hashed by address. The first stack claims a slot for good: from then on its calls are
 * entered with one comparison and one store, without a lock. Stacks whose slot is taken use a hash map.
 */
struct sys_slot sys_slots[SYS_SLOTS];

MAP(sys_slots_more, HASH, SYS_SLOTS_MORE, __u64, __u64);

/* Stack address as a number: the verifier forbids shifting a pointer, but allows the difference of two. */
static __always_inline __u64 stack_of(struct pt_regs *regs)
{
	return (__u64)regs - (__u64)&sys_boot_offset_ns;
}

static __always_inline struct sys_slot *slot_of(__u64 stack)
{
	return &sys_slots[(stack >> SYS_STACK_SHIFT) & (SYS_SLOTS - 1)];
}

/* Two stacks that claim a slot at the same time both lose; the counter detects it. */
static __always_inline bool slot_claim(struct sys_slot *s, __u64 stack)
{
	if (s->claims)
		return false;
	__sync_fetch_and_add(&s->claims, 1);
	if (*(volatile __u64 *)&s->claims != 1)
		return false;
	s->owner = stack;
	return true;
}

static __noinline int slot_set_more(__u64 stack, __u64 now_ns)
{
	bpf_map_update_elem(&sys_slots_more, &stack, &now_ns, BPF_ANY);
	return 0;
}

static __noinline __u64 slot_take_more(__u64 stack)
{
	__u64 *enter_ns = bpf_map_lookup_elem(&sys_slots_more, &stack), ns = 0;

	if (enter_ns) {
		ns = *enter_ns;
		bpf_map_delete_elem(&sys_slots_more, &stack);
	}
	return ns;
}

static __always_inline void time_enter(struct pt_regs *regs, __u64 now_ns)
{
	__u64 stack = stack_of(regs);
	struct sys_slot *s = slot_of(stack);

	if (s->owner == stack || slot_claim(s, stack))
		s->enter_ns = now_ns;
	else
		slot_set_more(stack, now_ns);
}

/* Takes the entry time of the call; 0 = entered before the start. @s: slot of @stack. */
static __always_inline __u64 take_enter(struct sys_slot *s, __u64 stack)
{
	__u64 enter_ns;

	if (s->owner != stack)
		return slot_take_more(stack);
	enter_ns = s->enter_ns;
	s->enter_ns = 0;
	return enter_ns;
}

/* Nanoseconds since entry; 0 = entered before the start. */
static __always_inline __u64 time_exit(struct sys_slot *s, __u64 stack, __u64 now_ns)
{
	__u64 enter_ns = take_enter(s, stack);

	return enter_ns ? now_ns - enter_ns : 0;
}

/* ---- who makes it ---- */

/* Distance from stack_of() to the base of that stack, the same for all stacks. 0 = not known yet. */
__u64 sys_stack_offset = 0;

static __always_inline void caller_more(struct call *c, struct task_struct *task)
{
	c->tid = TASK_GET(task, pid);
	c->start_ns = task_start(task);
}

/* @whole: also fields that only records need; a constant. */
static __always_inline void caller_is(struct call *c, struct task_struct *task, bool whole)
{
	c->abi = task_abi(task);
	c->tgid = TASK_GET(task, tgid);
	if (whole)
		caller_more(c, task);
}

/*
 * The task cached for this stack is still valid if its own stack pointer agrees, because a task releases its stack
 * before another task gets it. Asking the kernel for the current task costs more than this check.
 */
static __always_inline bool caller_known(struct call *c, const struct sys_slot *s, bool whole)
{
	struct task_struct *task;

	if (!HAS_TYPE(task_struct) || !s->task)
		return false;
	task = TYPED(s->task, task_struct);
	if ((__u64)task->stack != s->owner + sys_stack_offset)
		return false;
	caller_is(c, task, whole);
	c->task = task;
	return true;
}

/* Sets abi and tgid of the caller, with @whole also tid and start time. @s: slot of @stack. */
static __always_inline void find_caller(struct call *c, struct sys_slot *s, __u64 stack, bool whole)
{
	bool mine = HAS_TYPE(task_struct) && (s->owner == stack || slot_claim(s, stack));
	struct task_struct *task;

	if (mine && caller_known(c, s, whole))
		return;
	task = this_task();
	caller_is(c, task, whole);
	/* one type on all ways: verifiers before 6.5 refuse a load from two */
	c->task = HAS_TYPE(task_struct) ? TYPED(task, task_struct) : task;
	if (mine) {
		if (!sys_stack_offset)
			sys_stack_offset = (__u64)task->stack - stack;
		s->task = (__u64)task;
	}
}

#endif
