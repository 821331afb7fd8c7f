/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A token bucket shared by all CPUs: `rate` tokens per interval, at most `burst` tokens.
 *
 * Without locks, which tracing programs may not take, and without compare-and-exchange, which 5.10 lacks. So two CPUs
 * can take the last token at once: the bucket goes into debt, which the next interval repays. The long-term rate is
 * exact, and a burst exceeds its limit by a token per CPU at most. The caller counts refusals.
 */
#ifndef SONDE_RATELIMIT_BPF_H
#define SONDE_RATELIMIT_BPF_H

#if !defined(__VMLINUX_H__) && !defined(BPF_KERNEL_H)	/* the includer may have the kernel's types already */
#include <linux/bpf.h>
#include <linux/types.h>
#endif

#include <bpf/bpf_helpers.h>

struct ratelimit_conf {
	__u64 interval_ns;
	__u64 rate;	/* tokens per interval; 0 = no limit */
	__u64 burst;
};

struct ratelimit {
	__u64 refilled_ns;	/* start of the current interval; 0 = never used */
	__s64 tokens;
};

/* Adds the tokens of all full intervals since the last refill. */
static __always_inline void ratelimit_refill(struct ratelimit *b, const struct ratelimit_conf *c, __u64 now_ns)
{
	__u64 last = b->refilled_ns, n;
	__s64 tokens = b->tokens;

	if (!last) {
		b->tokens = c->burst;
		b->refilled_ns = now_ns;
		return;
	}
	if (now_ns < last || now_ns - last < c->interval_ns)
		return;
	n = (now_ns - last) / c->interval_ns;
	b->refilled_ns = last + n * c->interval_ns;
	/* enough intervals to fill the bucket: avoids an overflow of the product */
	if (n > c->burst / c->rate + 1)
		n = c->burst / c->rate + 1;
	tokens += n * c->rate;
	b->tokens = tokens > (__s64)c->burst ? (__s64)c->burst : tokens;
}

/* Takes a token: 1, or 0 if there is none. */
static __always_inline int ratelimit_pass(struct ratelimit *b, const struct ratelimit_conf *c, __u64 now_ns)
{
	if (!c->rate)
		return 1;
	ratelimit_refill(b, c, now_ns);
	if (b->tokens <= 0)
		return 0;
	__sync_fetch_and_add(&b->tokens, -1);
	return 1;
}

#endif
