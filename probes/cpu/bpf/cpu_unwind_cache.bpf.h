/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Frames whose rules the thread's last walk had, of the kinds that nearly all are: read out of a window of the stack
 * by a function that is short. To read a word of user memory costs as much as to read 512 bytes, so the words of
 * several frames come with one reading; and after other programs ran, the code that is not touched is the code that
 * need not be fetched. What is not simple is left to cpu_unwind_step(), which does the same with everything that can
 * be. One frame a call: a verifier walks the function once, however often it is called.
 */
#ifndef CPU_UNWIND_CACHE_BPF_H
#define CPU_UNWIND_CACHE_BPF_H

#include "probes/cpu/bpf/cpu_unwind_trace.bpf.h"
#include "probes/cpu/cpu_walk_wire.h"

#define KNOWN_AHEAD 3		/* spans that may have gone */
#define KNOWN_NOT (-1)

#define PACK_KIND (PACK_FITS | PACK_CFA(7) | PACK_RA(7))
#define PACK_USUAL (PACK_FITS | PACK_CFA(SONDE_CFA_REG) | PACK_RA(SONDE_RA_CFA8))
#define PACK_ALL 0xffff
#define PACK_NO_FILE (PACK_FITS | PACK_CFA(SONDE_CFA_GAP) | PACK_REG(WALK_NO_SIGNAL))

/* Makes u.span that of the frame at hand, if it is the last one or one of the next. False: it is another. */
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

/* Where the caller's words are: return address at @ra, frame pointer at @fp, 0 = it is as it was. */
struct known_frame {
	__u64 cfa, ra, fp;
};

/* By u.span. False: not that simple. */
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

/* Both words of @f are in the desk's window, or it is moved there. False: they cannot be had so. */
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
	d->u.no_window = 1;	/* the end of the stack is near, mostly */
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
 * Notes the frame at hand and leaves it for its caller. 0, why the walk ends (SONDE_STACK_*), or KNOWN_NOT: the frame
 * is unknown or not that simple; at most its span was found.
 */
__noinline int cpu_unwind_known(__u32 class)
{
	struct cpu_scratch *d = desk_of(class);
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

#endif
