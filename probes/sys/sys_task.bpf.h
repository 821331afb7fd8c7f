/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The calling task and its registers, on kernels that give a typed task to tracing programs (5.11) and on those
 * before; and how a call is told apart by ABI.
 */
#ifndef SYS_TASK_BPF_H
#define SYS_TASK_BPF_H

#include "bpf/kernel.h"
#include "probes/sys/sys_plan_wire.h"
#include "probes/sys/sys_wire.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

enum bpf_func_id___sys { BPF_FUNC_get_current_task_btf___sys = 158 };

static __always_inline bool typed_task(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id___sys, BPF_FUNC_get_current_task_btf___sys);
}

static __always_inline struct task_struct *this_task(void)
{
	return typed_task() ? bpf_get_current_task_btf() : (struct task_struct *)bpf_get_current_task();
}

/*
 * A field of what this_task() gave; loads are free where they are typed. The copy keeps what holds @task out of the
 * relocation: a kernel that knows no such type would refuse it.
 */
#define TASK_GET(task, field) ({ \
	struct task_struct *of_ = (task); \
	typed_task() ? of_->field : BPF_CORE_READ(of_, field); \
})

static __always_inline __u64 task_start(struct task_struct *task)
{
	return typed_task() ? task->group_leader->start_boottime :
			      BPF_CORE_READ(task, group_leader, start_boottime);
}

#if defined(__TARGET_ARCH_x86)

#define TS_COMPAT 2	/* arch/x86/include/asm/thread_info.h: in a 32-bit call */
#define X32_BIT 0x40000000
#define SYS_ABI_NATIVE SYS_ABI_X86_64

static __always_inline __u32 task_abi(struct task_struct *task)
{
	__u32 status = typed_task() ? task->thread_info.status : BPF_CORE_READ(task, thread_info.status);

	return status & TS_COMPAT ? SYS_ABI_I386 : SYS_ABI_X86_64;
}

static __always_inline long regs_nr(struct pt_regs *regs)
{
	return (long)regs->orig_ax;
}

/* i386 passes its arguments in other registers. */
static __always_inline void regs_args(struct pt_regs *regs, __u32 abi, __u64 *args)
{
	if (abi == SYS_ABI_I386) {
		args[0] = (__u32)regs->bx;
		args[1] = (__u32)regs->cx;
		args[2] = (__u32)regs->dx;
		args[3] = (__u32)regs->si;
		args[4] = (__u32)regs->di;
		args[5] = (__u32)regs->bp;
		return;
	}
	args[0] = regs->di;
	args[1] = regs->si;
	args[2] = regs->dx;
	args[3] = regs->r10;
	args[4] = regs->r8;
	args[5] = regs->r9;
}

#elif defined(__TARGET_ARCH_arm64)

#define TIF_32BIT 22	/* arch/arm64/include/asm/thread_info.h */
#define X32_BIT 0
#define SYS_ABI_NATIVE SYS_ABI_ARM64

static __always_inline __u32 task_abi(struct task_struct *task)
{
	__u64 flags = typed_task() ? task->thread_info.flags : BPF_CORE_READ(task, thread_info.flags);

	return flags & (1ull << TIF_32BIT) ? SYS_ABI_ARM : SYS_ABI_ARM64;
}

static __always_inline long regs_nr(struct pt_regs *regs)
{
	return regs->syscallno;
}

/* The first argument's register is the result's when the call is left. */
static __always_inline void regs_args(struct pt_regs *regs, __u32 abi, __u64 *args)
{
	args[0] = regs->orig_x0;
	args[1] = regs->regs[1];
	args[2] = regs->regs[2];
	args[3] = regs->regs[3];
	args[4] = regs->regs[4];
	args[5] = regs->regs[5];
}

#endif

/* Where a call stands in sys_want and sys_plans: the native ABI first, then i386. -1: unknown to the tables. */
static __always_inline int call_slot(__u32 *abi, long *nr)
{
	if (X32_BIT && *nr & X32_BIT) {
		*abi = SYS_ABI_X32;
		*nr &= ~(long)X32_BIT;
	}
	if (*nr < 0 || *nr >= SYS_NR_MAX || *abi == SYS_ABI_ARM || *abi == SYS_ABI_X32)
		return -1;
	return *nr + (*abi == SYS_ABI_I386 ? SYS_NR_MAX : 0);
}

#endif
