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

#include "probes/cpu/bpf/cpu_unwind_cache.bpf.h"

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

#define USER32_CS 0x23

/* What each frame has; the others (regs_rest) are needed where the innermost frame is none of the usual. */
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

/*
 * Registers of the current task when it entered the kernel lie at the top of its kernel stack. They pass through the
 * desk: the program's stack has no room for both them and the steps.
 */
static __always_inline bool regs_words(struct cpu_scratch *d)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u64 *pt = d->words;
	void *at;

	_Static_assert(PT_WORDS <= DESK_WORDS, "registers fit");
	if (bpf_core_enum_value_exists(enum bpf_func_id___unwind, BPF_FUNC_task_pt_regs___unwind))
		at = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	else
		at = BPF_CORE_READ((struct task_struct___stack *)task, stack) + cpu_thread_bytes -
		     bpf_core_type_size(struct pt_regs___size);
	return !bpf_probe_read_kernel(pt, PT_WORDS * sizeof(*pt), at);
}

static __always_inline bool regs_read(struct cpu_scratch *d)
{
	d->u.regs_left = REGS_WORDS;
	return regs_words(d) && regs_take(&d->u.w, d->words);
}

/* All registers of the innermost frame. */
static __always_inline void regs_complete(struct cpu_scratch *d)
{
	__u32 left = d->u.regs_left;

	d->u.regs_left = REGS_NONE;
	if (left == REGS_WORDS || (left == REGS_TASK && regs_words(d)))
		regs_rest(&d->u.w, d->words);
}

/* ---- steps ---- */

/* Code without a table goes by frame pointers wherever it is. */
static __always_inline void span_of_mapping(struct cpu_unwind *u, const struct cpu_mapping *m)
{
	__u64 start = u->w.pc & ~(SPAN_LEN >> 1), end = start + (SPAN_LEN >> 1);

	if (start < m->start)
		start = m->start;
	if (end > m->end)
		end = m->end;
	u->span.at = start << 16 | (end - start);
}

/* The rule for the address that is looked up, to w.rule: 0, or why there is none (SONDE_STACK_*). */
__noinline int cpu_unwind_rule(__u32 class)
{
	struct cpu_scratch *d = desk_of(class);
	struct cpu_mapping *m;
	int r;

	if (!d)
		return SONDE_STACK_BUSY;
	r = mapping_find(&d->u, class);
	if (r)
		return r;
	m = &d->u.mappings[d->u.mapping & (UNWIND_MAPPINGS - 1)];
	if (!m->id)
		return SONDE_STACK_NO_TABLE;
	d->u.span.at = d->u.w.pc << 16 | 1;
	d->u.w.rule.cfa = SONDE_CFA_GAP;
	d->u.w.rule.reg = m->no_file ? WALK_NO_SIGNAL : 0;
	if (m->n_pages)
		cpu_rule_find(class);
	else
		span_of_mapping(&d->u, m);
	if (d->u.w.rule.cfa == SONDE_CFA_GAP)
		d->u.w.rule.aux = m->n_pages ? SONDE_STACK_NO_RULE : SONDE_STACK_FP;
	d->u.span.rule = rule_pack(&d->u.w.rule);
	trace_add(d);
	return 0;
}

/* The frame at hand: noted, then left for its caller. 0, or why the walk ends (SONDE_STACK_*). */
__noinline int cpu_unwind_step(__u32 class)
{
	struct cpu_scratch *d = desk_of(class);
	struct cpu_walk *w;
	bool same;
	int r = 0;

	if (!d)
		return SONDE_STACK_BUSY;
	w = &d->u.w;
	if (d->u.regs_left)
		regs_complete(d);
	w->pc = w->ip - (w->exact ? 0 : 1);	/* a call may be the last instruction of a function */
	same = span_has(d->u.span.at, w->pc);
	if (!same && !trace_take(d))
		r = cpu_unwind_rule(class);
	else if (d->u.span.rule)
		rule_unpack(d->u.span.rule, &w->rule);
	if (r && r != SONDE_STACK_NO_TABLE && w->n)
		return r == SONDE_STACK_NO_MAPPING && w->by_fp ? SONDE_STACK_FP : r;
	if (w->n >= d->u.cap)
		return SONDE_STACK_DEPTH;
	d->ips[(d->u.at + w->n++) & (SCRATCH_IPS - 1)] = w->ip;
	if (r)
		return r;
	if (!same)
		trace_note(d);
	return w->rule.cfa == SONDE_CFA_GAP ? step_fp(w, w->rule.aux) : step_rule(w);
}

/* ---- the whole ---- */

#define UNWIND_TURN 32	/* steps */

/* Some steps: two loops of some turns each cost the verifier a fraction of one of many. 0, or why the walk ends. */
__noinline int cpu_unwind_some(__u32 class)
{
	int r = 0;

	for (int i = 0; i < UNWIND_TURN && !r; i++) {
		r = cpu_unwind_known(class);
		if (r == KNOWN_NOT)
			r = cpu_unwind_step(class);
	}
	return r;
}

static __always_inline void unwind_begin(struct cpu_unwind *u, __u32 at)
{
	u->n_mappings = u->mapping = 0;
	u->at = at;
	u->cap = cpu_user_depth < CPU_USER_MAX ? cpu_user_depth : CPU_USER_MAX;
	u->w.n = 0;
	u->w.all_regs = u->w.exact = 1;
	u->w.by_fp = 0;
	u->window = WINDOW_NONE;
	u->no_window = 0;
}

/*
 * In the middle of an exec a thread has no user stack: its memory is the new program's already, its registers are the
 * old one's still. What they name is in no mapping, or its stack cannot be read.
 */
static __always_inline bool between_programs(const struct cpu_scratch *d, int end)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	return d->u.w.n == 1 && (end == SONDE_STACK_NO_MAPPING || end == SONDE_STACK_MEMORY) &&
	       bpf_core_field_exists(task->in_execve) && BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
}

/*
 * Walks the user stack of the current task, innermost first, at most cpu_user_depth addresses into the record of
 * @class, behind @at others. Returns how many; *ret_end says why there are no more. @class: whose desk may be used
 * (CPU_CLASS_*): programs of two classes may interrupt one another, those of one may not. @has_regs: what each frame
 * has of the registers is on the desk.
 */
static __always_inline __u32 unwind_user(__u32 class, __u32 at, bool has_regs, __u8 *ret_end)
{
	struct cpu_scratch *d = desk_of(class);
	int r = 0;

	*ret_end = SONDE_STACK_NONE;
	if (!d)
		return 0;
	cpu_proc_maps_begin(class);
	unwind_begin(&d->u, at);
	if (!d->u.mm || (!has_regs && !regs_read(d)))
		return 0;
	trace_begin(d, class, (__u32)bpf_get_current_pid_tgid());
	for (int i = 0; i <= CPU_USER_MAX / UNWIND_TURN && !r; i++)
		r = cpu_unwind_some(class);
	if (between_programs(d, r))
		return 0;
	*ret_end = r;
	trace_keep(d);
	return d->u.w.n;
}

#endif
