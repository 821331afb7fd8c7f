/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Programs that nothing on their CPU but an interrupt comes between. They build records in memory of the CPU, count
 * in its row of the ledger and hold room in its ring; another task's program in the middle of one would mix the two.
 *
 * Tracepoints disable preemption up to 6.18. Later kernels protect them by SRCU (kernel/tracepoint.c) and leave
 * preemption on. Where the kernel skips a program because another task is in the middle of the same one, it counts
 * a miss (SONDE_LOST_RECURSION): a few instructions at either end remain in which that can happen.
 *
 * Functions at uprobes could always be preempted; they disable it on every kernel that lets them (since 6.11).
 */
#ifndef BPF_PREEMPT_BPF_H
#define BPF_PREEMPT_BPF_H

#include "bpf/kernel.h"

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
	_Pragma("GCC diagnostic push") \
	_Pragma("GCC diagnostic ignored \"-Wint-conversion\"") \
	ret = ____##name(___bpf_ctx_cast(args)); \
	_Pragma("GCC diagnostic pop") \
	if (tracepoints_preempt()) \
		preempt_enable(); \
	return ret; \
} \
static __always_inline typeof(name(0)) ____##name(unsigned long long *ctx, ##args)

#endif
