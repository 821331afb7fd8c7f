/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The user stack of the current task: the part of the walk that each program inlines.
 *
 * The thread's last walk (struct cpu_unwind_trace) holds the rules of most frames. They lie in one row, so the CPU
 * prefetches them, and no mapping is looked up.
 */
#ifndef CPU_USER_BPF_H
#define CPU_USER_BPF_H

#include "probes/cpu/bpf/cpu_copy.bpf.h"
#include "probes/cpu/bpf/cpu_mapping.bpf.h"
#include "probes/cpu/bpf/cpu_regs.bpf.h"

/* Are all mappings of the last walk's spans unchanged? 1 or 0. */
int cpu_unwind_trace_renew(__u32 class);

/* Walks up to UNWIND_TURN frames. 0, or SONDE_STACK_*. */
int cpu_unwind_some(__u32 class);

#define TRACE_MISSES 3		/* misses from which the new walk replaces the old */

static __always_inline __u32 trace_index(__u32 tid)
{
	return tid * 0x9e3779b1u >> (32 - TRACE_SLOTS_SHIFT);
}

/* Starts to use the last walk of @tid, if it is still valid. */
static __always_inline void trace_begin(struct cpu_scratch *d, __u32 class, __u32 tid)
{
	const struct cpu_unwind *u = &d->u;
	const struct cpu_unwind_trace *t;

	d->u.tid = tid;
	d->u.trace = trace_index(tid);
	d->u.trace_at = d->u.trace_end = d->u.trace_missed = d->u.trace_others = d->fresh.n = 0;
	d->u.span.at = 0;
	d->fresh.n_places = 0;
	t = trace_of(d);
	if (!u->mm_id || t->mm_id != u->mm_id || t->tid != tid || t->tables != u->tables || u->now_s >= t->until_s)
		return;
	if (t->mm_seq != u->mm_seq && !cpu_unwind_trace_renew(class))
		return;
	d->u.trace_end = t->n;
	d->u.trace_others = t->n_others;
}

/* Keeps the trace of a walk that has ended. */
static __always_inline void trace_keep(struct cpu_scratch *d)
{
	struct cpu_unwind_trace *t = trace_of(d);
	__u64 n = d->fresh.n, bytes = n * sizeof(t->spans[0]);
	__u32 seq;

	if (!d->u.mm_id || d->u.w.compat || d->u.trace_missed < TRACE_MISSES || !mm_sequence(d->u.mm, &seq) ||
	    seq != d->u.mm_seq)
		return;
	barrier_var(bytes);	/* keep the check and the use in one register for old verifiers */
	if (!bytes || bytes > sizeof(t->spans) || bpf_probe_read_kernel(t->spans, bytes, d->fresh.spans))
		return;
	if (!d->u.trace_end) {
		t->n_others = 0;
		t->n_places = d->fresh.n_places;
		__builtin_memcpy(t->places, d->fresh.places, sizeof(t->places));
	}
	t->mm_id = d->u.mm_id;
	t->mm_seq = d->u.mm_seq;
	t->tables = d->u.tables;
	t->tid = d->u.tid;
	t->until_s = d->u.now_s + PLACE_UNITS;
	t->n = n;
}

static __always_inline bool regs_read(struct cpu_scratch *d)
{
	d->u.regs_left = REGS_WORDS;
	return regs_words(d) && regs_take(&d->u.w, d->words);
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
 * During an exec a thread has no user stack: its memory is the new program's, its registers are the old one's.
 * Their addresses have no mapping, or the stack is unreadable.
 */
static __always_inline bool between_programs(const struct cpu_scratch *d, int end)
{
	struct task_struct *task;

	if (d->u.w.n != 1 || (end != SONDE_STACK_NO_MAPPING && end != SONDE_STACK_MEMORY))
		return false;
	task = (struct task_struct *)bpf_get_current_task();
	return bpf_core_field_exists(task->in_execve) && BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
}

/*
 * Walks the user stack of the current task, innermost frame first: at most cpu_user_depth addresses into the record
 * of @class, after @at others. Returns their number; *ret_end: SONDE_STACK_*. @class (CPU_CLASS_*) selects the
 * scratch area: programs of two classes may interrupt each other, those of one class may not. @has_regs: the
 * scratch area has the registers that every frame needs. The header of the record of @class has time and thread.
 */
static __always_inline __u32 unwind_user(__u32 class, __u32 at, bool has_regs, __u8 *ret_end)
{
	struct cpu_scratch *d = get_scratch(class);
	const struct sonde_rec *rec;
	int r = 0;

	*ret_end = SONDE_STACK_NONE;
	if (!d)
		return 0;
	barrier_var(d); /* as in record_of() */
	rec = (void *)d->rec;
	d->u.now_s = rec->ts_ns >> 30;
	cpu_proc_maps_begin(class);
	unwind_begin(&d->u, at);
	if (!d->u.mm || (!has_regs && !regs_read(d)))
		return 0;
	trace_begin(d, class, rec->tid);
	for (int i = 0; i <= CPU_USER_MAX / UNWIND_TURN && !r; i++)
		r = cpu_unwind_some(class);
	if (between_programs(d, r))
		return 0;
	*ret_end = r;
	trace_keep(d);
	return d->u.w.n;
}

#endif
