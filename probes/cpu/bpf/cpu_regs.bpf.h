/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * User registers of the current task: from the interrupted context, or from the top of its kernel stack.
 */
#ifndef CPU_REGS_BPF_H
#define CPU_REGS_BPF_H

#include "probes/cpu/bpf/cpu_state.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Size of a kernel stack, for kernels without bpf_task_pt_regs(). */
UNIT_SHARED const volatile __u32 cpu_thread_bytes = 16384;

enum bpf_func_id___unwind { BPF_FUNC_task_pt_regs___unwind };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct___stack {
	void *stack;
};

/* Only for its size: the kernel's struct is longer than that of user space. */
struct pt_regs___size {
	int any;
};

#pragma clang attribute pop

#if defined(__TARGET_ARCH_x86)

/* struct pt_regs of user space (arch/x86/include/uapi/asm/ptrace.h), as words. */
enum { PT_R15, PT_R14, PT_R13, PT_R12, PT_BP, PT_BX, PT_R11, PT_R10, PT_R9, PT_R8, PT_AX, PT_CX, PT_DX, PT_SI, PT_DI,
       PT_ORIG_AX, PT_IP, PT_CS, PT_FLAGS, PT_SP, PT_SS, PT_WORDS };

#define USER32_CS 0x23

/* Registers that every frame needs. regs_rest() reads the others, for unusual innermost frames. */
static __always_inline bool regs_take(struct cpu_walk *w, const __u64 *pt)
{
	if ((pt[PT_CS] & 3) != 3)
		return false;
	w->ip = pt[PT_IP];
	w->sp = pt[PT_SP];
	w->fp = pt[PT_BP];
	w->compat = (pt[PT_CS] & 0xffff) == USER32_CS;
	return true;
}

static __always_inline void regs_rest(struct cpu_walk *w, const __u64 *pt)
{
	w->regs[0] = pt[PT_AX];
	w->regs[1] = pt[PT_DX];
	w->regs[2] = pt[PT_CX];
	w->regs[3] = pt[PT_BX];
	w->regs[4] = pt[PT_SI];
	w->regs[5] = pt[PT_DI];
	w->regs[8] = pt[PT_R8];
	w->regs[9] = pt[PT_R9];
	w->regs[10] = pt[PT_R10];
	w->regs[11] = pt[PT_R11];
	w->regs[12] = pt[PT_R12];
	w->regs[13] = pt[PT_R13];
	w->regs[14] = pt[PT_R14];
	w->regs[15] = pt[PT_R15];
}

#elif defined(__TARGET_ARCH_arm64)

/* struct user_pt_regs: regs[31], sp, pc, pstate. */
enum { PT_SP = 31, PT_PC, PT_PSTATE, PT_WORDS };

#define PSTATE_MODE32 0x10

static __always_inline bool regs_take(struct cpu_walk *w, const __u64 *pt)
{
	if (pt[PT_PSTATE] & 0xf)
		return false;
	w->ip = pt[PT_PC];
	w->sp = pt[PT_SP];
	w->fp = pt[29];
	w->link = pt[30];
	w->compat = !!(pt[PT_PSTATE] & PSTATE_MODE32);
	return true;
}

static __always_inline void regs_rest(struct cpu_walk *w, const __u64 *pt)
{
	for (int i = 0; i < 31; i++)
		w->regs[i] = pt[i];
}

#endif

/* Address of the registers of the current task at kernel entry: the top of its kernel stack. */
static __always_inline struct pt_regs *regs_at(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	if (bpf_core_enum_value_exists(enum bpf_func_id___unwind, BPF_FUNC_task_pt_regs___unwind))
		return (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	return (void *)(BPF_CORE_READ((struct task_struct___stack *)task, stack) + cpu_thread_bytes -
			bpf_core_type_size(struct pt_regs___size));
}

/* The registers pass through the scratch area: the program's stack has no room for both them and the steps. */
static __always_inline bool regs_words(struct cpu_scratch *d)
{
	__u64 *pt = d->words;

	_Static_assert(PT_WORDS <= SCRATCH_WORDS, "registers fit");
	return !bpf_probe_read_kernel(pt, PT_WORDS * sizeof(*pt), regs_at());
}

#endif
