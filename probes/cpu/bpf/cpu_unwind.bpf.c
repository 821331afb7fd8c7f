// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Walks a user stack by unwind tables and, where code has none, by frame pointers.
 *
 * A step is a global function: the verifier checks it once, and each turn of the loops around it costs it a dozen
 * instructions. So one program walks 1024 frames on every kernel, without bpf_loop() (5.17) or tail calls. Before
 * 5.13 global functions take only numbers, hence the state in a map.
 */
#include "probes/cpu/bpf/cpu_mapping.bpf.h"
#include "probes/cpu/bpf/cpu_regs.bpf.h"
#include "probes/cpu/cpu_walk_wire.h"

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

/* ---- the thread's last walk ---- */

/*
 * Are all mappings of the last walk's spans unchanged, although the process's mappings changed? Many processes
 * change their heap all the time. 1 or 0.
 */
__noinline int cpu_unwind_trace_renew(__u32 class)
{
	struct cpu_scratch *d = get_scratch(class);
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

static __always_inline bool span_has(__u64 at, __u64 pc)
{
	return (pc << 16) - (at & ~SPAN_LEN) < (at & SPAN_LEN) << 16;
}

/* Sets u.span to the span of @pc, if it is among the next @ahead of the last walk. */
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

/* Sets u.span to the rule for u->w.pc, if the last walk or a later one had it. */
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

static __always_inline void trace_note(struct cpu_scratch *d)
{
	__u32 n = d->fresh.n;

	if (n >= TRACE_SPANS || !d->u.span.rule)
		return;
	d->fresh.spans[n & (TRACE_SPANS - 1)] = d->u.span;
	d->fresh.n = n + 1;
}

/* u.span was not in the last walk: keep it for later walks. */
static __always_inline void trace_add(struct cpu_scratch *d)
{
	struct cpu_unwind_trace *t = trace_of(d);

	if (!d->u.span.rule)
		return;
	d->u.trace_missed++;
	if (d->u.trace_end)
		t->others[t->n_others++ & (TRACE_OTHERS - 1)] = d->u.span;
}

/* ---- frames of the last walk ---- */

/*
 * Most frames had their rules in the thread's last walk. This short function handles the common kinds from a window
 * of the stack: reading 8 bytes of user memory costs as much as reading 512, and short code needs fewer cold cache
 * lines. cpu_unwind_step() handles everything else. One frame per call: the verifier checks the function once.
 */
#define KNOWN_AHEAD 3		/* spans to look ahead */
#define KNOWN_NOT (-1)

#define PACK_KIND (PACK_FITS | PACK_CFA(7) | PACK_RA(7))
#define PACK_USUAL (PACK_FITS | PACK_CFA(SONDE_CFA_REG) | PACK_RA(SONDE_RA_CFA8))
#define PACK_ALL 0xffff
#define PACK_NO_FILE (PACK_FITS | PACK_CFA(SONDE_CFA_GAP) | PACK_REG(WALK_NO_SIGNAL))

/* Sets u.span to that of the current frame, if it is the last one or among the next. False: it is not. */
static __always_inline bool known_span(struct cpu_scratch *d)
{
	__u64 pc = d->u.w.ip - (d->u.w.exact ? 0 : 1);

	if (span_has(d->u.span.at, pc))
		return true;
	if (!trace_next(d, pc, KNOWN_AHEAD))
		return false;
	trace_note(d);
	return true;
}

/* Addresses of the caller's words; fp 0 = unchanged. */
struct known_frame {
	__u64 cfa, ra, fp;
};

/* Computes it from u.span. False: not a simple frame. */
static __always_inline bool known_frame(const struct cpu_scratch *d, struct known_frame *ret)
{
	__u64 rule = d->u.span.rule, sp = d->u.w.sp, fp = d->u.w.fp;
	__u32 reg = rule >> 9 & 63, fp_kind = rule >> 3 & 7;

	if ((rule & PACK_KIND) == PACK_USUAL && (reg == REG_SP || reg == REG_FP) && fp_kind <= SONDE_FP_AT_CFA) {
		ret->cfa = (reg == REG_SP ? sp : fp) + (__u64)(__s64)(__s16)(rule >> 16);
		ret->fp = fp_kind ? ret->cfa + (__u64)(__s64)(__s16)(rule >> 32) : 0;
	} else if ((rule & PACK_ALL) == PACK_NO_FILE && fp >= sp) {
		ret->cfa = fp + 2 * sizeof(__u64);
		ret->fp = fp;
	} else {
		return false;
	}
	ret->ra = ret->cfa - sizeof(__u64);
	return ret->cfa > sp && !((ret->cfa | ret->fp) & 7);
}

/* Makes both words of @f readable in the window. False: impossible. */
static __always_inline bool known_window(struct cpu_scratch *d, const struct known_frame *f)
{
	const __u32 last = (WINDOW_WORDS - 1) * sizeof(__u64);
	__u64 low = f->ra, high = f->ra;

	if (f->fp && f->fp < low)
		low = f->fp;
	if (f->fp > high)
		high = f->fp;
	if (low >= d->u.window && high - d->u.window <= last)
		return true;
	if (high - low > last || d->u.no_window)
		return false;
	d->u.window = low;
	if (!bpf_probe_read_user(d->window, sizeof(d->window), (void *)low))
		return true;
	d->u.window = WINDOW_NONE;
	d->u.no_window = 1;	/* usually near the end of the stack */
	return false;
}

static __always_inline __u64 window_word(const struct cpu_scratch *d, __u64 addr)
{
	return d->window[(addr - d->u.window) / sizeof(__u64) & (WINDOW_WORDS - 1)];
}

static __always_inline void known_note(struct cpu_scratch *d)
{
	d->ips[(d->u.at + d->u.w.n) & (SCRATCH_IPS - 1)] = d->u.w.ip;
	d->u.w.n++;
}

/*
 * Records the current frame and steps to its caller. 0, SONDE_STACK_*, or KNOWN_NOT: the frame is unknown or not
 * simple; only u.span may have changed.
 */
__noinline int cpu_unwind_known(__u32 class)
{
	struct cpu_scratch *d = get_scratch(class);
	struct known_frame f;
	struct cpu_walk *w;
	int r;

	if (!d)
		return SONDE_STACK_BUSY;
	w = &d->u.w;
	if (w->compat || w->n >= d->u.cap || !known_span(d))
		return KNOWN_NOT;
	if ((d->u.span.rule & PACK_RA(7)) == PACK_RA(SONDE_RA_NONE) && d->u.span.rule & PACK_CFA(7)) {
		known_note(d);
		return SONDE_STACK_BOTTOM;
	}
	if (!known_frame(d, &f) || !known_window(d, &f))
		return KNOWN_NOT;
	known_note(d);
	w->by_fp = !(d->u.span.rule & PACK_CFA(7));
	r = returned(w, window_word(d, f.ra), f.cfa, f.fp ? window_word(d, f.fp) : w->fp);
	return r && w->by_fp ? SONDE_STACK_FP : r;
}

/* Reads the remaining registers of the innermost frame. */
static __always_inline void regs_complete(struct cpu_scratch *d)
{
	__u32 left = d->u.regs_left;

	d->u.regs_left = REGS_NONE;
	if (left == REGS_WORDS || (left == REGS_TASK && regs_words(d)))
		regs_rest(&d->u.w, d->words);
}

/* ---- steps ---- */

/* Sets u->mapping to the mapping of u->w.pc. 0, or SONDE_STACK_*. */
static __always_inline int mapping_find(struct cpu_unwind *u, __u32 class)
{
	for (__u32 i = 0; i < UNWIND_MAPPINGS; i++) {
		__u32 at = (u->mapping + i) & (UNWIND_MAPPINGS - 1);

		if (at >= u->n_mappings || u->w.pc < u->mappings[at].start || u->w.pc >= u->mappings[at].end)
			continue;
		u->mapping = at;
		return 0;
	}
	return cpu_mapping_read(class);
}

/* Code without a table uses frame pointers everywhere. */
static __always_inline void span_of_mapping(struct cpu_unwind *u, const struct cpu_mapping *m)
{
	__u64 start = u->w.pc & ~(SPAN_LEN >> 1), end = start + (SPAN_LEN >> 1);

	if (start < m->start)
		start = m->start;
	if (end > m->end)
		end = m->end;
	u->span.at = start << 16 | (end - start);
}

/* Writes the rule for u->w.pc to w.rule. 0, or SONDE_STACK_*. */
__noinline int cpu_unwind_rule(__u32 class)
{
	struct cpu_scratch *d = get_scratch(class);
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

/* Records the current frame and steps to its caller. 0, or SONDE_STACK_*. */
__noinline int cpu_unwind_step(__u32 class)
{
	struct cpu_scratch *d = get_scratch(class);
	struct cpu_walk *w;
	bool same;
	int r = 0;

	if (!d)
		return SONDE_STACK_BUSY;
	w = &d->u.w;
	if (d->u.regs_left)
		regs_complete(d);
	w->pc = w->ip - (w->exact ? 0 : 1);	/* a call may end its function */
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

/* Walks up to 32 frames; two nested short loops verify much faster than one long loop. */
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

char LICENSE[] SEC("license") = "Dual BSD/GPL";
