/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A step of a walk over a user stack: from a frame to its caller, by a rule of an unwind table or by frame pointers.
 * Compiled for the kernel side and for user space, which walks on where the kernel side could not; knows neither
 * tables nor mappings. walk_read() (0, or not) and walk_word() get at memory: in the kernel at that of the task at
 * hand, in user space at a copy of the stack.
 */
#ifndef CPU_WALK_WIRE_H
#define CPU_WALK_WIRE_H

#ifdef __bpf__
#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#endif

#include "probes/cpu/cpu_unwind_wire.h"
#include "sonde/stack_wire.h"
#include "sonde/unwind_wire.h"

#ifdef __bpf__

static __always_inline int walk_read(struct cpu_walk *w, void *to, __u32 size, __u64 addr)
{
	return bpf_probe_read_user(to, size, (void *)addr);
}

static __always_inline bool walk_word(struct cpu_walk *w, __u64 *ret, __u64 addr)
{
	return !bpf_probe_read_user(ret, sizeof(*ret), (void *)addr);
}

#else

struct cpu_walk_copy {
	struct cpu_walk w;	/* first: what is walked is known by it */
	__u64 base;		/* address of the first byte */
	const void *bytes;
	size_t len;
};

static inline int walk_read(struct cpu_walk *w, void *to, __u32 size, __u64 addr)
{
	const struct cpu_walk_copy *c = (const struct cpu_walk_copy *)w;
	const __u64 off = addr - c->base;

	if (off > c->len || size > c->len - off)	/* below: the difference is huge */
		return -1;
	memcpy(to, (const char *)c->bytes + off, size);
	return 0;
}

static inline bool walk_word(struct cpu_walk *w, __u64 *ret, __u64 addr)
{
	return walk_read(w, ret, sizeof(*ret), addr) == 0;
}

#endif

static __always_inline int returned(struct cpu_walk *w, __u64 ip, __u64 sp, __u64 fp)
{
#if defined(CPU_WALK_ARM64)
	ip &= 0x0000ffffffffffffull;	/* without the signature of pointer authentication */
#endif
	w->ip = ip;
	w->sp = sp;
	w->fp = fp;
	w->all_regs = 0;
	w->exact = 0;
	return w->ip ? 0 : SONDE_STACK_BOTTOM;
}

#if defined(CPU_WALK_X86)

#define REG_FP 6
#define REG_SP 7

/* From the saved sp in struct rt_sigframe: the registers lie in front of it, the address behind. */
#define SIGNAL_SP 160	/* from the stack pointer, when the code of sigreturn is about to run */

static __always_inline int step_signal(struct cpu_walk *w, __s32 off)
{
	enum { R8 = 8, DI = 16, SI, BP, BX, DX, AX, CX, SP, IP, N_SAVED = IP - R8 + 1 };	/* in its order */
	__u64 *regs = w->regs;

	if (walk_read(w, regs + R8, N_SAVED * sizeof(*regs), w->sp + (__u64)(__s64)off - 15 * sizeof(__u64)))
		return SONDE_STACK_MEMORY;
	regs[5] = regs[DI];
	regs[4] = regs[SI];
	regs[3] = regs[BX];
	regs[1] = regs[DX];
	regs[0] = regs[AX];
	regs[2] = regs[CX];
	returned(w, regs[IP], regs[SP], regs[BP]);
	w->all_regs = w->exact = 1;
	return w->ip ? 0 : SONDE_STACK_BOTTOM;
}

/* mov $15, %rax or %eax; syscall: libraries that have no call frame information for it. */
static __always_inline bool is_sigreturn(__u64 code)
{
	return code == 0x0f0000000fc0c748ull || (code & 0x00ffffffffffffffull) == 0x00050f0000000fb8ull;
}

#elif defined(CPU_WALK_ARM64)

#define REG_FP 29
#define REG_SP 31

#define SIGNAL_SP 0
#define SIGNAL_REGS 312	/* struct rt_sigframe: siginfo 128, ucontext up to its machine context 176, fault address 8 */

static __always_inline int step_signal(struct cpu_walk *w, __s32 off)
{
	enum { SP = 31, PC, N_SAVED };	/* behind x0 to x30 */

	if (walk_read(w, w->regs, N_SAVED * sizeof(w->regs[0]), w->sp + SIGNAL_REGS))
		return SONDE_STACK_MEMORY;
	returned(w, w->regs[PC], w->regs[SP], w->regs[REG_FP]);
	w->link = w->regs[30];
	w->all_regs = w->exact = 1;
	return w->ip ? 0 : SONDE_STACK_BOTTOM;
}

/* mov x8, #139; svc #0 */
static __always_inline bool is_sigreturn(__u64 code)
{
	return code == 0xd4000001d2801168ull;
}

#endif

static __always_inline int step_compat(struct cpu_walk *w, int broken)
{
	__u32 pair[2];

	if (!w->fp || w->fp < w->sp || walk_read(w, pair, sizeof(pair), w->fp))
		return broken;
	return returned(w, pair[1], w->fp + sizeof(pair), pair[0]) ? broken : 0;
}

/* The pair of frame pointer and return address that the frame pointer points to; @broken when there is none. */
static __always_inline int step_pair(struct cpu_walk *w, int broken)
{
	__u64 pair[2];

	if (w->fp & 7 || walk_read(w, pair, sizeof(pair), w->fp))
		return broken;
	return returned(w, pair[1], w->fp + sizeof(pair), pair[0]) ? broken : 0;
}

#define WALK_NO_SIGNAL 1	/* register of a gap where no file is mapped: no code of sigreturn either */

/*
 * Code without rows: where the convention holds, the caller's frame pointer and return address are a pair. A zero is
 * not the bottom of the stack: code that keeps no frame pointer uses the register for data.
 */
static __always_inline int step_fp(struct cpu_walk *w, int broken)
{
	__u64 code;

	w->by_fp = 1;
	if (w->compat)
		return step_compat(w, broken);
	if (w->n > 1 && w->rule.reg != WALK_NO_SIGNAL && !walk_read(w, &code, sizeof(code), w->ip) &&
	    is_sigreturn(code))
		return step_signal(w, SIGNAL_SP);
	return !w->fp || w->fp < w->sp ? broken : step_pair(w, broken);
}

/* Canonical frame address by w->rule. */
static __always_inline int rule_cfa(struct cpu_walk *w, __u64 *ret)
{
	__u32 reg = w->rule.reg;
	__u64 base;

	if (reg == REG_SP)
		base = w->sp;
	else if (reg == REG_FP)
		base = w->fp;
	else if (w->all_regs)
		base = w->regs[reg & 31];
	else
		return SONDE_STACK_RULE;
	base += (__u64)(__s64)w->rule.cfa_off;
	if (w->rule.cfa == SONDE_CFA_DEREF) {
		if (!walk_word(w, &base, base))
			return SONDE_STACK_MEMORY;
		base += (__u64)(__s64)w->rule.aux;
	} else if (w->rule.cfa == SONDE_CFA_PLT && (__s64)(w->ip & 15) >= w->rule.aux) {
		base += 8;
	}
	*ret = base;
	return 0;
}

/*
 * The usual case in one reading, which costs no more than that of a word: the return address in front of the CFA, the
 * frame pointer some registers below. False: not that case, or memory that cannot be read.
 */
#define PUSHED_WORDS 8		/* a power of two */

static __always_inline bool rule_pushed(struct cpu_walk *w, __u64 cfa, __u64 *ret_ip, __u64 *ret_fp)
{
	__u64 *words = w->regs;	/* not needed any more: those of the caller are unknown */
	const __u32 bytes = PUSHED_WORDS * sizeof(*words);
	__u64 at = ((__u64)(__s64)w->rule.fp_off + bytes) / sizeof(*words);

	if (w->rule.ra != SONDE_RA_CFA8 || w->rule.fp != SONDE_FP_AT_CFA || w->rule.fp_off & 7 ||
	    at >= PUSHED_WORDS - 1 || walk_read(w, words, bytes, cfa - bytes))
		return false;
	*ret_ip = words[PUSHED_WORDS - 1];
	*ret_fp = words[at & (PUSHED_WORDS - 1)];
	return true;
}

/* Return address and frame pointer of the caller by w->rule. */
static __always_inline int rule_caller(struct cpu_walk *w, __u64 cfa)
{
	__u64 ip = w->link, fp = w->fp, at = 0;
	__u8 where = w->rule.fp;

	if (rule_pushed(w, cfa, &ip, &fp))
		return returned(w, ip, cfa, fp);
	if (w->rule.ra == SONDE_RA_LINK || w->rule.ra == SONDE_RA_REG) {
		if (!w->all_regs)	/* only the innermost function has not stored it */
			return SONDE_STACK_RULE;
		if (w->rule.ra == SONDE_RA_REG)
			ip = w->regs[w->rule.aux & 31];
	} else if (!walk_word(w, &ip, cfa + (__u64)(__s64)(w->rule.ra == SONDE_RA_CFA8 ? -8 : w->rule.aux))) {
		return SONDE_STACK_MEMORY;
	}
	if (where == SONDE_FP_AT_CFA)
		at = cfa + (__u64)(__s64)w->rule.fp_off;
	else if (where == SONDE_FP_AT_FP)
		at = w->fp + (__u64)(__s64)w->rule.fp_off;
	else if (where == SONDE_FP_AT_SP)
		at = w->sp + (__u64)(__s64)w->rule.fp_off;
	if (at && !walk_word(w, &fp, at))
		return SONDE_STACK_MEMORY;
	if (where == SONDE_FP_LOST)
		fp = 0;
	return returned(w, ip, cfa, fp);
}

/* The caller is on another stack, which only the frame pointer tells. */
static __always_inline int step_switch(struct cpu_walk *w)
{
	return w->fp ? step_pair(w, SONDE_STACK_FP) : SONDE_STACK_FP;
}

/* To the caller by w->rule. 0, or why the walk ends (SONDE_STACK_*). */
static __always_inline int step_rule(struct cpu_walk *w)
{
	__u64 cfa;
	int r;

	w->by_fp = 0;
	if (w->rule.ra == SONDE_RA_NONE)
		return SONDE_STACK_BOTTOM;
	if (w->rule.cfa == SONDE_CFA_SIGNAL)
		return step_signal(w, w->rule.cfa_off);
	if (w->rule.cfa == SONDE_CFA_OTHER)
		return SONDE_STACK_RULE;
	if (w->rule.cfa == SONDE_CFA_SWITCH)
		return step_switch(w);
	r = rule_cfa(w, &cfa);
	if (r)
		return r;
	/* a caller's frame is further up, but where nothing was pushed */
	if (cfa < w->sp || (cfa == w->sp && w->rule.ra != SONDE_RA_LINK && w->rule.ra != SONDE_RA_REG))
		return SONDE_STACK_RULE;
	return rule_caller(w, cfa);
}

#endif
