/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The user stack of the current task, walked by unwind tables and, where code has none, by frame pointers.
 *
 * A step is a global function: the verifier checks it once, and the loops around it cost it a dozen instructions per
 * turn. So the same program walks 1024 frames on every kernel, without bpf_loop() (5.17) or tail calls. Global
 * functions take numbers only before 5.13, hence the state in a map.
 */
#ifndef CPU_UNWIND_BPF_H
#define CPU_UNWIND_BPF_H

#include "probes/cpu/cpu_mapping.bpf.h"

#include <bpf/bpf_tracing.h>

const volatile __u32 cpu_thread_bytes = 16384;	/* of a kernel stack; used where bpf_task_pt_regs() is missing */

enum bpf_func_id___unwind { BPF_FUNC_task_pt_regs___unwind };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct___stack {
	void *stack;
};

/* For its size: the kernel keeps more behind it than user space sees. */
struct pt_regs___size {
	int any;
};

#pragma clang attribute pop

/* ---- registers ---- */

#if defined(__TARGET_ARCH_x86)

/* struct pt_regs of user space (arch/x86/include/uapi/asm/ptrace.h), as words. */
enum { PT_R15, PT_R14, PT_R13, PT_R12, PT_BP, PT_BX, PT_R11, PT_R10, PT_R9, PT_R8, PT_AX, PT_CX, PT_DX, PT_SI, PT_DI,
       PT_ORIG_AX, PT_IP, PT_CS, PT_FLAGS, PT_SP, PT_SS, PT_WORDS };

#define REG_FP 6
#define REG_SP 7
#define USER32_CS 0x23

static __always_inline bool regs_take(struct cpu_unwind *u, const __u64 *pt)
{
	if ((pt[PT_CS] & 3) != 3)
		return false;
	u->ip = pt[PT_IP];
	u->sp = pt[PT_SP];
	u->fp = pt[PT_BP];
	u->regs[0] = pt[PT_AX];
	u->regs[1] = pt[PT_DX];
	u->regs[2] = pt[PT_CX];
	u->regs[3] = pt[PT_BX];
	u->regs[4] = pt[PT_SI];
	u->regs[5] = pt[PT_DI];
	u->regs[8] = pt[PT_R8];
	u->regs[9] = pt[PT_R9];
	u->regs[10] = pt[PT_R10];
	u->regs[11] = pt[PT_R11];
	u->regs[12] = pt[PT_R12];
	u->regs[13] = pt[PT_R13];
	u->regs[14] = pt[PT_R14];
	u->regs[15] = pt[PT_R15];
	u->compat = (pt[PT_CS] & 0xffff) == USER32_CS;
	return true;
}

static __always_inline __u64 code_address(__u64 v)
{
	return v;
}

#elif defined(__TARGET_ARCH_arm64)

/* struct user_pt_regs: regs[31], sp, pc, pstate. */
enum { PT_SP = 31, PT_PC, PT_PSTATE, PT_WORDS };

#define REG_FP 29
#define REG_SP 31
#define PSTATE_MODE32 0x10

static __always_inline bool regs_take(struct cpu_unwind *u, const __u64 *pt)
{
	if (pt[PT_PSTATE] & 0xf)
		return false;
	u->ip = pt[PT_PC];
	u->sp = pt[PT_SP];
	u->fp = pt[REG_FP];
	u->link = pt[30];
	for (int i = 0; i < 31; i++)
		u->regs[i] = pt[i];
	u->compat = !!(pt[PT_PSTATE] & PSTATE_MODE32);
	return true;
}

/* Without the signature of pointer authentication. */
static __always_inline __u64 code_address(__u64 v)
{
	return v & 0x0000ffffffffffffull;
}

#endif

/*
 * Registers of the current task when it entered the kernel lie at the top of its kernel stack. They pass through the
 * room of the frames, which come later: the program's stack has no room for both them and the steps.
 */
static __always_inline bool regs_read(struct cpu_unwind *u, struct task_struct *task)
{
	__u64 *pt = u->ips;
	void *at;

	if (bpf_core_enum_value_exists(enum bpf_func_id___unwind, BPF_FUNC_task_pt_regs___unwind))
		at = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	else
		at = BPF_CORE_READ((struct task_struct___stack *)task, stack) + cpu_thread_bytes -
		     bpf_core_type_size(struct pt_regs___size);
	return !bpf_probe_read_kernel(pt, PT_WORDS * sizeof(*pt), at) && regs_take(u, pt);
}

/* ---- steps; each returns 0, or why the walk ends (SONDE_STACK_*) ---- */

static __always_inline bool user_word(__u64 *ret, __u64 addr)
{
	return !bpf_probe_read_user(ret, sizeof(*ret), (void *)addr);
}

static __always_inline int returned(struct cpu_unwind *u, __u64 ip, __u64 sp, __u64 fp)
{
	u->ip = code_address(ip);
	u->sp = sp;
	u->fp = fp;
	u->all_regs = 0;
	u->exact = 0;
	return u->ip ? 0 : SONDE_STACK_BOTTOM;
}

#if defined(__TARGET_ARCH_x86)

/* From the saved sp in struct rt_sigframe: the registers lie in front of it, the address behind. */
#define SIGNAL_SP 160	/* from the stack pointer, when the code of sigreturn is about to run */

static __always_inline int step_signal(struct cpu_unwind *u, __s32 off)
{
	__u64 saved[17];	/* r8-r15 di si bp bx dx ax cx sp ip */
	__u64 at = u->sp + off - 15 * sizeof(__u64);

	if (bpf_probe_read_user(saved, sizeof(saved), (void *)at))
		return SONDE_STACK_MEMORY;
	for (int i = 0; i < 8; i++)
		u->regs[8 + i] = saved[i];
	u->regs[5] = saved[8];
	u->regs[4] = saved[9];
	u->regs[3] = saved[11];
	u->regs[1] = saved[12];
	u->regs[0] = saved[13];
	u->regs[2] = saved[14];
	returned(u, saved[16], saved[15], saved[10]);
	u->all_regs = u->exact = 1;
	return u->ip ? 0 : SONDE_STACK_BOTTOM;
}

/* mov $15, %rax or %eax; syscall: libraries that have no call frame information for it. */
static __always_inline bool is_sigreturn(__u64 code)
{
	return code == 0x0f0000000fc0c748ull || (code & 0x00ffffffffffffffull) == 0x00050f0000000fb8ull;
}

#elif defined(__TARGET_ARCH_arm64)

#define SIGNAL_SP 0
#define SIGNAL_REGS 312	/* struct rt_sigframe: siginfo 128, ucontext up to its machine context 176, fault address 8 */

static __always_inline int step_signal(struct cpu_unwind *u, __s32 off)
{
	__u64 saved[PT_WORDS];

	if (bpf_probe_read_user(saved, sizeof(saved), (void *)(u->sp + SIGNAL_REGS)))
		return SONDE_STACK_MEMORY;
	for (int i = 0; i < 31; i++)
		u->regs[i] = saved[i];
	returned(u, saved[PT_PC], saved[PT_SP], saved[REG_FP]);
	u->link = saved[30];
	u->all_regs = u->exact = 1;
	return u->ip ? 0 : SONDE_STACK_BOTTOM;
}

/* mov x8, #139; svc #0 */
static __always_inline bool is_sigreturn(__u64 code)
{
	return code == 0xd4000001d2801168ull;
}

#endif

static __always_inline int step_compat(struct cpu_unwind *u)
{
	__u32 pair[2];

	if (!u->fp)
		return SONDE_STACK_BOTTOM;
	if (u->fp < u->sp || bpf_probe_read_user(pair, sizeof(pair), (void *)u->fp))
		return SONDE_STACK_FP;
	return returned(u, pair[1], u->fp + sizeof(pair), pair[0]);
}

/* Code without rows: where the convention holds, the caller's frame pointer and return address are a pair. */
static __always_inline int step_fp(struct cpu_unwind *u, __u8 broken)
{
	__u64 pair[2], code;

	u->by_fp = 1;
	if (u->compat)
		return step_compat(u);
	if (u->n > 1 && user_word(&code, u->ip) && is_sigreturn(code))
		return step_signal(u, SIGNAL_SP);
	if (!u->fp)
		return SONDE_STACK_BOTTOM;
	if (u->fp < u->sp || u->fp & 7 || bpf_probe_read_user(pair, sizeof(pair), (void *)u->fp))
		return broken;
	return returned(u, pair[1], u->fp + sizeof(pair), pair[0]);
}

/* Canonical frame address by u->rule. */
static __always_inline int rule_cfa(struct cpu_unwind *u, __u64 *ret)
{
	__u32 reg = u->rule.reg;
	__u64 base;

	if (reg == REG_SP)
		base = u->sp;
	else if (reg == REG_FP)
		base = u->fp;
	else if (u->all_regs)
		base = u->regs[reg & 31];
	else
		return SONDE_STACK_RULE;
	base += u->rule.cfa_off;
	if (u->rule.cfa == SONDE_CFA_DEREF) {
		if (!user_word(&base, base))
			return SONDE_STACK_MEMORY;
		base += u->rule.aux;
	} else if (u->rule.cfa == SONDE_CFA_PLT && (u->ip & 15) >= u->rule.aux) {
		base += 8;
	}
	*ret = base;
	return 0;
}

/* Return address and frame pointer of the caller by u->rule. */
static __always_inline int rule_caller(struct cpu_unwind *u, __u64 cfa)
{
	__u64 ip = u->link, fp = u->fp, at = 0;
	__u8 where = u->rule.fp;

	if (u->rule.ra == SONDE_RA_LINK || u->rule.ra == SONDE_RA_REG) {
		if (!u->all_regs)	/* only the innermost function has not stored it */
			return SONDE_STACK_RULE;
		if (u->rule.ra == SONDE_RA_REG)
			ip = u->regs[u->rule.aux & 31];
	} else if (!user_word(&ip, cfa + (u->rule.ra == SONDE_RA_CFA8 ? -8 : u->rule.aux))) {
		return SONDE_STACK_MEMORY;
	}
	if (where == SONDE_FP_AT_CFA)
		at = cfa + u->rule.fp_off;
	else if (where == SONDE_FP_AT_FP)
		at = u->fp + u->rule.fp_off;
	else if (where == SONDE_FP_AT_SP)
		at = u->sp + u->rule.fp_off;
	if (at && !user_word(&fp, at))
		return SONDE_STACK_MEMORY;
	if (where == SONDE_FP_LOST)
		fp = 0;
	return returned(u, ip, cfa, fp);
}

/* The caller is on another stack, which only the frame pointer tells. */
static __always_inline int step_switch(struct cpu_unwind *u)
{
	__u64 pair[2];

	if (!u->fp || u->fp & 7 || bpf_probe_read_user(pair, sizeof(pair), (void *)u->fp))
		return SONDE_STACK_FP;
	return returned(u, pair[1], u->fp + sizeof(pair), pair[0]);
}

static __always_inline int step_rule(struct cpu_unwind *u)
{
	__u64 cfa;
	int r;

	u->by_fp = 0;
	if (u->rule.ra == SONDE_RA_NONE)
		return SONDE_STACK_BOTTOM;
	if (u->rule.cfa == SONDE_CFA_SIGNAL)
		return step_signal(u, u->rule.cfa_off);
	if (u->rule.cfa == SONDE_CFA_OTHER)
		return SONDE_STACK_RULE;
	if (u->rule.cfa == SONDE_CFA_SWITCH)
		return step_switch(u);
	r = rule_cfa(u, &cfa);
	if (r)
		return r;
	/* a caller's frame is further up, but where nothing was pushed */
	if (cfa < u->sp || (cfa == u->sp && u->rule.ra != SONDE_RA_LINK && u->rule.ra != SONDE_RA_REG))
		return SONDE_STACK_RULE;
	return rule_caller(u, cfa);
}

/* The frame at hand: noted, then left for its caller. 0, or why the walk ends. */
__noinline int cpu_unwind_step(__u32 class)
{
	struct cpu_unwind *u = unwind_state(class);
	struct cpu_mapping *m;
	int r;

	if (!u)
		return SONDE_STACK_BUSY;
	u->pc = u->ip - (u->exact ? 0 : 1);	/* a call may be the last instruction of a function */
	r = mapping_find(u, class);
	if (r && u->n)
		return r == SONDE_STACK_NO_MAPPING && u->by_fp ? SONDE_STACK_FP : r;
	if (u->n >= u->cap)
		return SONDE_STACK_DEPTH;
	u->ips[u->n++ & (CPU_UNWIND_FRAMES - 1)] = u->ip;
	if (r)
		return r;
	m = &u->mappings[u->mapping & (UNWIND_MAPPINGS - 1)];
	if (!m->known)
		return SONDE_STACK_NO_TABLE;
	if (!m->n_pages)
		return step_fp(u, SONDE_STACK_FP);
	cpu_rule_find(class);
	if (u->rule.cfa == SONDE_CFA_GAP)
		return step_fp(u, SONDE_STACK_NO_RULE);
	return step_rule(u);
}

/* ---- the whole ---- */

#define UNWIND_TURN 32	/* steps */

/* Some steps: two loops of some turns each cost the verifier a fraction of one of many. 0, or why the walk ends. */
__noinline int cpu_unwind_some(__u32 class)
{
	int r = 0;

	for (int i = 0; i < UNWIND_TURN && !r; i++)
		r = cpu_unwind_step(class);
	return r;
}

static __always_inline void unwind_begin(struct cpu_unwind *u, struct task_struct *task, __u32 cap)
{
	u->mm = BPF_CORE_READ(task, mm);
	places_begin(u);
	u->n = u->n_mappings = u->mapping = 0;
	u->cap = cap < CPU_UNWIND_FRAMES ? cap : CPU_UNWIND_FRAMES;
	u->end = SONDE_STACK_NONE;
	u->all_regs = u->exact = 1;
	u->by_fp = 0;
	for (int i = 0; i < UNWIND_MAPPINGS; i++)
		u->mappings[i].end = 0;
}

/*
 * Walks the user stack of the current task, innermost first, at most @cap addresses to @out, which has room for
 * CPU_UNWIND_FRAMES. Returns how many; *ret_end says why there are no more. @class: whose state may be used
 * (CPU_CLASS_*): programs of two classes may interrupt one another, those of one may not.
 */
static __always_inline __u32 unwind_user(__u32 class, __u64 *out, __u32 cap, __u8 *ret_end)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct cpu_unwind *u = unwind_state(class);
	__u64 bytes;
	int r = 0;

	*ret_end = SONDE_STACK_NONE;
	if (!u)
		return 0;
	unwind_begin(u, task, cap);
	if (!u->mm || !regs_read(u, task))
		return 0;
	for (int i = 0; i <= CPU_UNWIND_FRAMES / UNWIND_TURN && !r; i++)
		r = cpu_unwind_some(class);
	*ret_end = r;
	bytes = (__u64)u->n * sizeof(__u64);
	barrier_var(bytes); /* what is checked is what is used, also to old verifiers */
	if (!bytes || bytes > sizeof(u->ips) || bpf_probe_read_kernel(out, bytes, u->ips))
		return 0;
	return u->n;
}

#endif
