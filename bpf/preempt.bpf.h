/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Programs that keep their CPU to the end: interrupts may stop them, other tasks may not. They build records in
 * memory of the CPU, count in its row of the ledger and hold room in its ring; another task's program in the middle
 * of one would mix the two.
 *
 * Tracepoints disable preemption up to 6.18. Linux 7.2 protects them by SRCU (kernel/tracepoint.c) and leaves
 * preemption on, and skips a program on a CPU where another task is in the middle of it. Programs in process context
 * disable preemption themselves. A task that is preempted as it leaves one still has the kernel skip that program for
 * all others on the CPU until it runs again: where events must not be missed, a second program takes them (TP_PROG).
 *
 * Functions at uprobes could always be preempted; they disable it on every kernel that lets them (since 6.11).
 */
#ifndef BPF_PREEMPT_BPF_H
#define BPF_PREEMPT_BPF_H

#include "bpf/kernel.h"
#include "bpf/ring.bpf.h"
#include "sonde/wire.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Units of one object have names of their own: bpftool's linker cannot join functions of the kernel. */
#ifndef PREEMPT_UNIT
#define PREEMPT_UNIT main
#endif

#define PREEMPT_NAME__(function, unit) function##___##unit
#define PREEMPT_NAME_(function, unit) PREEMPT_NAME__(function, unit)
#define preempt_disable PREEMPT_NAME_(bpf_preempt_disable, PREEMPT_UNIT)
#define preempt_enable PREEMPT_NAME_(bpf_preempt_enable, PREEMPT_UNIT)

/* NULL before 6.11. */
extern void preempt_disable(void) __weak __ksym;
extern void preempt_enable(void) __weak __ksym;

struct tp_transition_snapshot {
	unsigned long srcu_gp;	/* where callers of tracepoints are SRCU readers */
} __attribute__((preserve_access_index));

#define tracepoints_preempt() bpf_core_field_exists(struct tp_transition_snapshot, srcu_gp)

/* Calls ____@name, the function that follows. */
#define PREEMPT_CALL(name, args...) ({ \
	_Pragma("GCC diagnostic push") \
	_Pragma("GCC diagnostic ignored \"-Wint-conversion\"") \
	____##name(___bpf_ctx_cast(args)); \
	_Pragma("GCC diagnostic pop") \
})

/* As BPF_PROG(), for a tracepoint in process context. */
#define BPF_PROG_NOPREEMPT(name, args...) \
name(unsigned long long *ctx); \
static __always_inline typeof(name(0)) ____##name(unsigned long long *ctx, ##args); \
typeof(name(0)) name(unsigned long long *ctx) \
{ \
	typeof(name(0)) ret; \
\
	if (tracepoints_preempt()) \
		preempt_disable(); \
	ret = PREEMPT_CALL(name, args); \
	if (tracepoints_preempt()) \
		preempt_enable(); \
	return ret; \
} \
static __always_inline typeof(name(0)) ____##name(unsigned long long *ctx, ##args)

/* PROGRAM() of such a tracepoint. */
#define PROGRAM_NOPREEMPT(section, name, call, args...) \
	SEC(section) \
	int BPF_PROG_NOPREEMPT(name, ##args) \
	{ \
		return call; \
	}

/* ---- a second program ---- */

/*
 * Events whose first program has run and whose second one has not: of the task in the low 48 bits, by the low 16 bits
 * of its number; a bit above them for each pair of the object. Tasks whose numbers are equal there take each other's
 * only if both are between the two programs at the same moment.
 */
UNIT_MAP(tp_turns, ARRAY, 1 /* 65536 where tracepoints preempt */, __u32, __u64);

#define TP_TASK (~0ULL >> 16)

static __always_inline __u64 *tp_turn(void)
{
	__u32 at = (__u32)bpf_get_current_pid_tgid() & 0xffff;

	return bpf_map_lookup_elem(&tp_turns, &at);
}

static __always_inline void tp_turn_take(__u32 pair)
{
	const __u64 task = bpf_get_current_task() & TP_TASK;
	__u64 *turn = tp_turn();

	if (turn)
		*turn = ((*turn & TP_TASK) == task ? *turn : task) | 1ULL << (48 + pair);
}

/* True behind the first program; else the event is the second one's. */
static __always_inline bool tp_turn_was_taken(__u32 pair)
{
	const __u64 task = bpf_get_current_task() & TP_TASK, bit = 1ULL << (48 + pair);
	__u64 *turn = tp_turn();
	struct sonde_ledger *l;

	if (turn && (*turn & TP_TASK) == task && *turn & bit) {
		*turn &= ~bit;
		return true;
	}
	l = ledger_row(0);
	if (l)
		l->lost[SONDE_LOST_TAKEN]++;
	return false;
}

/*
 * Programs @name and @name_again at @tracepoint, in process context alone. User space loads the second one where
 * tracepoints preempt (src/probe/hooks.c). @pair: below 16, of its own in the object; alternatives share one.
 */
#define TP_PROG(tracepoint, pair, name, args...) \
static __always_inline int ____##name(unsigned long long *ctx, ##args); \
SEC("tp_btf/" #tracepoint) \
int name(unsigned long long *ctx) \
{ \
	int ret; \
\
	if (tracepoints_preempt()) { \
		preempt_disable(); \
		tp_turn_take(pair); \
	} \
	ret = PREEMPT_CALL(name, args); \
	if (tracepoints_preempt()) \
		preempt_enable(); \
	return ret; \
} \
SEC("tp_btf/" #tracepoint) \
int name##_again(unsigned long long *ctx) \
{ \
	int ret = 0; \
\
	if (!tracepoints_preempt()) \
		return 0; \
	preempt_disable(); \
	if (!tp_turn_was_taken(pair)) \
		ret = PREEMPT_CALL(name, args); \
	preempt_enable(); \
	return ret; \
} \
static __always_inline int ____##name(unsigned long long *ctx, ##args)

#endif
