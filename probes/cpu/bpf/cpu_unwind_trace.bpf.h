/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The thread's last walk. Most frames of a stack were there in it, or are in the same rows of the table as one that
 * was. Where that walk's rules lie one behind the other, the CPU has the next ones before they are asked for, and no
 * mapping has to be looked at.
 */
#ifndef CPU_UNWIND_TRACE_BPF_H
#define CPU_UNWIND_TRACE_BPF_H

#include "probes/cpu/bpf/cpu_common.bpf.h"
#include "probes/cpu/bpf/cpu_mapping.bpf.h"

#define TRACE_MISSES 3		/* from so many on, the new walk replaces the old */

/* ---- packed rules ---- */

/* kinds, then offsets of 16 bits: cfa_off, fp_off, aux */
#define PACK_CFA(x) (x)
#define PACK_FP(x) ((x) << 3)
#define PACK_RA(x) ((x) << 6)
#define PACK_REG(x) ((x) << 9)
#define PACK_FITS (1 << 15)	/* never 0 */

static __always_inline bool fits_16(__s32 n)
{
	return n == (__s16)n;
}

static __always_inline __u64 rule_pack(const struct sonde_unwind_rule *r)
{
	_Static_assert(SONDE_CFA__MAX <= 8 && SONDE_FP_LOST < 8 && SONDE_RA_REG < 8, "kinds fit");
	if (!fits_16(r->cfa_off) || !fits_16(r->fp_off) || !fits_16(r->aux) || r->reg >= 64)
		return 0;
	return (__u64)(PACK_CFA(r->cfa) | PACK_FP(r->fp) | PACK_RA(r->ra) | PACK_REG(r->reg) | PACK_FITS) |
	       (__u64)(__u16)r->cfa_off << 16 | (__u64)(__u16)r->fp_off << 32 | (__u64)(__u16)r->aux << 48;
}

static __always_inline void rule_unpack(__u64 packed, struct sonde_unwind_rule *ret)
{
	ret->cfa = packed & 7;
	ret->fp = packed >> 3 & 7;
	ret->ra = packed >> 6 & 7;
	ret->reg = packed >> 9 & 63;
	ret->cfa_off = (__s16)(packed >> 16);
	ret->fp_off = (__s16)(packed >> 32);
	ret->aux = (__s16)(packed >> 48);
}

/* ---- looking up ---- */

/*
 * Something changed in the process: is each mapping that the last walk's spans lie in as it was? Many change theirs
 * all the time, for the data of their heap. 1, or 0.
 */
__noinline int cpu_unwind_trace_renew(__u32 class)
{
	struct cpu_scratch *d = desk_of(class);
	struct cpu_unwind_trace *t;
	__u32 n;

	if (!d)
		return 0;
	t = trace_of(d);
	n = t->n_places;
	if (!n || n > TRACE_PLACES)
		return 0;
	for (__u32 i = 0; i < TRACE_PLACES && i < n; i++) {
		__u32 place = t->places[i];
		struct cpu_place_slot *s = place_slot(d, place);

		if (PLACE_VERSION(s, place & ((1 << PLACE_SLOTS_SHIFT) - 1)) != place || !place_holds(s, &d->u))
			return 0;
	}
	t->mm_seq = d->u.mm_seq;
	return 1;
}

static __always_inline __u32 trace_index(__u32 tid)
{
	return tid * 0x9e3779b1u >> (32 - TRACE_SLOTS_SHIFT);
}

/* Is the last walk of @tid of use? */
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

static __always_inline bool span_has(__u64 at, __u64 pc)
{
	return (pc << 16) - (at & ~SPAN_LEN) < (at & SPAN_LEN) << 16;
}

/* Makes u.span the one that has @pc, if it is one of the @ahead that come next in the last walk. */
static __always_inline bool trace_next(struct cpu_scratch *d, __u64 pc, __u32 ahead)
{
	const struct cpu_unwind_trace *t = trace_of(d);
	__u32 at = d->u.trace_at, end = d->u.trace_end;

	for (__u32 i = 0; i < ahead && at < end; i++, at++) {
		const struct cpu_span *s = &t->spans[at & (TRACE_SPANS - 1)];

		if (!span_has(s->at, pc))
			continue;
		d->u.span = *s;
		d->u.trace_at = at + 1;
		return true;
	}
	return false;
}

/* The rule for the address that is looked up, if the last walk or one since had it too: to u.span. */
static __always_inline bool trace_take(struct cpu_scratch *d)
{
	const struct cpu_unwind_trace *t = trace_of(d);
	__u32 n = d->u.trace_others;
	__u64 pc = d->u.w.pc;

	if (trace_next(d, pc, TRACE_SPANS))
		return true;
	for (__u32 i = 0; i < TRACE_OTHERS && i < n; i++) {
		const struct cpu_span *s = &t->others[i];

		if (!span_has(s->at, pc))
			continue;
		d->u.span = *s;
		return true;
	}
	return false;
}

/* ---- keeping ---- */

static __always_inline void trace_note(struct cpu_scratch *d)
{
	__u32 n = d->fresh.n;

	if (n >= TRACE_SPANS || !d->u.span.rule)
		return;
	d->fresh.spans[n & (TRACE_SPANS - 1)] = d->u.span;
	d->fresh.n = n + 1;
}

/* u.span was none of the last walk's: later ones may need it again. */
static __always_inline void trace_add(struct cpu_scratch *d)
{
	struct cpu_unwind_trace *t = trace_of(d);

	if (!d->u.span.rule)
		return;
	d->u.trace_missed++;
	if (d->u.trace_end)
		t->others[t->n_others++ & (TRACE_OTHERS - 1)] = d->u.span;
}

/* A walk has ended. */
static __always_inline void trace_keep(struct cpu_scratch *d)
{
	struct cpu_unwind_trace *t = trace_of(d);
	__u64 n = d->fresh.n, bytes = n * sizeof(t->spans[0]);
	__u32 seq;

	if (!d->u.mm_id || d->u.w.compat || d->u.trace_missed < TRACE_MISSES || !mm_sequence(d->u.mm, &seq) ||
	    seq != d->u.mm_seq)
		return;
	barrier_var(bytes);	/* what is checked is what is used, also to old verifiers */
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

#endif
