/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A token bucket for all CPUs: `rate` tokens come in each interval, at most `burst` gather.
 *
 * Neither locks nor compare-and-exchange, for tracing programs may not take the former and 5.10 lacks the
 * latter. Two CPUs can therefore take the last token together: the bucket goes into debt, which the next
 * interval pays first, so the rate holds in the long run and a burst is exceeded by a token per CPU at most.
 * What is refused is counted by the caller, exactly.
 */
#ifndef SONDE_RATELIMIT_BPF_H
#define SONDE_RATELIMIT_BPF_H

#if !defined(__VMLINUX_H__) && !defined(BPF_KERNEL_H)	/* whoever has the kernel's types already keeps them */
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

/* Full intervals since the last refill become tokens. */
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
	/* so many intervals fill it in any case: keeps the product small */
	if (n > c->burst / c->rate + 1)
		n = c->burst / c->rate + 1;
	tokens += n * c->rate;
	b->tokens = tokens > (__s64)c->burst ? (__s64)c->burst : tokens;
}

/* 1 if one more may pass now, else 0. */
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
