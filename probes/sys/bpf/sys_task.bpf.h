/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Current task, its registers and ABI, on kernels with typed tasks in tracing programs (since 5.11) and older ones.
 */
#ifndef SYS_TASK_BPF_H
#define SYS_TASK_BPF_H

#include "bpf/ident.bpf.h"
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
 * Field of this_task(); typed tasks need no helper call. The copy keeps @task out of the CO-RE relocation, which
 * would fail on kernels without the type.
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

static __always_inline __u32 task_netns(struct task_struct *task)
{
	struct nsproxy *ns;

	if (!typed_task())
		return ident_netns(task);
	ns = task->nsproxy;
	return ns ? ns->net_ns->ns.inum : 0; /* NULL: exiting */
}

/* Id of the cgroup of @task, the current one. */
static __always_inline __u64 task_cgroup(struct task_struct *task)
{
	return typed_task() ? task->cgroups->dfl_cgrp->kn->id : bpf_get_current_cgroup_id();
}

#if defined(__TARGET_ARCH_x86)

#define SYS_PLAN_ABIS 2	/* plan tables: native ABI, i386 */
#define TS_COMPAT 2	/* arch/x86/include/asm/thread_info.h: 32-bit system call */
#define X32_BIT 0x40000000
#define SYS_ABI_NATIVE SYS_ABI_X86_64
#define NR_RT_SIGRETURN 15

static __always_inline __u32 task_abi(struct task_struct *task)
{
	__u32 status = typed_task() ? task->thread_info.status : BPF_CORE_READ(task, thread_info.status);

	return status & TS_COMPAT ? SYS_ABI_I386 : SYS_ABI_X86_64;
}

static __always_inline long regs_nr(struct pt_regs *regs)
{
	return (long)regs->orig_ax;
}

/* The first @n arguments (a constant). i386 uses other registers. */
static __always_inline void regs_args(struct pt_regs *regs, __u32 abi, __u64 *args, __u32 n)
{
	bool compat = abi == SYS_ABI_I386;

	if (n > 0)
		args[0] = compat ? (__u32)regs->bx : regs->di;
	if (n > 1)
		args[1] = compat ? (__u32)regs->cx : regs->si;
	if (n > 2)
		args[2] = compat ? (__u32)regs->dx : regs->dx;
	if (n > 3)
		args[3] = compat ? (__u32)regs->si : regs->r10;
	if (n > 4)
		args[4] = compat ? (__u32)regs->di : regs->r8;
	if (n > 5)
		args[5] = compat ? (__u32)regs->bp : regs->r9;
}

/* At the entry of rt_sigreturn(): address of the signal mask in the frame's ucontext. */
static __always_inline __u64 regs_sigmask(struct pt_regs *regs)
{
	return regs->sp + 296;
}

#elif defined(__TARGET_ARCH_arm64)

#define SYS_PLAN_ABIS 1
#define TIF_32BIT 22	/* arch/arm64/include/asm/thread_info.h */
#define X32_BIT 0
#define SYS_ABI_NATIVE SYS_ABI_ARM64
#define NR_RT_SIGRETURN 139

static __always_inline __u32 task_abi(struct task_struct *task)
{
	__u64 flags = typed_task() ? task->thread_info.flags : BPF_CORE_READ(task, thread_info.flags);

	return flags & (1ull << TIF_32BIT) ? SYS_ABI_ARM : SYS_ABI_ARM64;
}

static __always_inline long regs_nr(struct pt_regs *regs)
{
	return regs->syscallno;
}

/* The first @n arguments (a constant). At exit x0 holds the result, orig_x0 the argument. */
static __always_inline void regs_args(struct pt_regs *regs, __u32 abi, __u64 *args, __u32 n)
{
	if (n > 0)
		args[0] = regs->orig_x0;
	if (n > 1)
		args[1] = regs->regs[1];
	if (n > 2)
		args[2] = regs->regs[2];
	if (n > 3)
		args[3] = regs->regs[3];
	if (n > 4)
		args[4] = regs->regs[4];
	if (n > 5)
		args[5] = regs->regs[5];
}

static __always_inline __u64 regs_sigmask(struct pt_regs *regs)
{
	return regs->sp + 128 + 40; /* after struct siginfo, uc_flags, uc_link and uc_stack */
}

#endif

#define NR_RT_SIGRETURN_I386 173

/* Index in sys_do and sys_plans: the native ABI first, then i386. -1: no table row. */
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
