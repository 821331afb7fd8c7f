// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/sys/sys_sums.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/macros.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/sys/sys_plan_wire.h"
#include "probes/sys/sys_wire.h"

_Static_assert(ARRAY_SIZE(((struct sys_sum *)0)->steps) == SYS_STEPS, "both sides count in the same steps");

static void add(struct sys_sum *sum, const struct sys_sum *s, struct sys_sum_rec *ret)
{
	sum->calls += s->calls;
	sum->errors += s->errors;
	sum->sure += s->sure;
	sum->sure_ns += s->sure_ns;
	sum->drawn += s->drawn;
	sum->drawn_ns += s->drawn_ns;
	sum->unknown += s->unknown;
	sum->max_ns = MAX(sum->max_ns, s->max_ns);
	for (unsigned k = 0; k < SYS_STEPS; k++)
		ret->steps[k] += s->steps[k];
}

/* @ns of @n calls, for @calls of their kind. */
static uint64_t scaled(uint64_t ns, uint64_t n, uint64_t calls)
{
	return n ? (uint64_t)((__uint128_t)ns * calls / n) : 0;
}

/*
 * What is sure, and for the rest the average of those that were drawn. How many there are is known exactly, so only
 * the average is left to chance. Where none was drawn, the first ones speak for the rest.
 */
static uint64_t estimate(const struct sys_sum *s)
{
	uint64_t rest = s->calls - MIN(s->sure + s->unknown, s->calls);

	if (!s->drawn)
		return s->sure_ns + scaled(s->sure_ns, s->sure, rest);
	return s->sure_ns + scaled(s->drawn_ns, s->drawn, rest);
}

/* All CPUs of one call. False: it was never made. */
static bool read_sum(int fd, uint32_t slot, struct sys_sum *cpus, unsigned n_cpus, struct sys_sum_rec *ret)
{
	struct sys_sum sum = { 0 };

	if (bpf_map_lookup_elem(fd, &slot, cpus) < 0)
		return false;
	*ret = (struct sys_sum_rec){ .hdr = { .type = SYS_REC_SUM }, .nr = (uint16_t)(slot % SYS_NR_MAX) };
	for (unsigned i = 0; i < n_cpus; i++)
		add(&sum, &cpus[i], ret);
	ret->calls = sum.calls;
	ret->errors = sum.errors;
	ret->total_ns = estimate(&sum);
	ret->max_ns = sum.max_ns;
	ret->timed = sum.sure + sum.drawn;
	return ret->calls > 0;
}

static int by_time(const void *a, const void *b)
{
	const struct sys_sum_rec *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return (y->calls > x->calls) - (y->calls < x->calls);
}

int sums_tell(struct probe *p, struct bpf_object *obj, const unsigned *abis, unsigned n_abis, bool drawn)
{
	int fd = bpf_object__find_map_fd_by_name(obj, "sys_sums"), r = 0;
	unsigned n_cpus = probe_env_n_cpus(p->env), n = 0;
	_cleanup_free_ struct sys_sum *cpus = calloc(n_cpus, sizeof(*cpus));
	_cleanup_free_ struct sys_sum_rec *sums = calloc((size_t)n_abis * SYS_NR_MAX, sizeof(*sums));
	uint64_t all_ns = 0;

	if (fd < 0 || !cpus || !sums)
		return fd < 0 ? fd : -ENOMEM;
	for (uint32_t slot = 0; slot < n_abis * SYS_NR_MAX; slot++) {
		if (!read_sum(fd, slot, cpus, n_cpus, &sums[n]))
			continue;
		sums[n].abi = (uint8_t)abis[slot / SYS_NR_MAX];
		all_ns += sums[n++].total_ns;
	}
	qsort(sums, n, sizeof(*sums), by_time);
	for (unsigned i = 0; r >= 0 && i < n; i++) {
		sums[i].hdr.instance = p->instance;
		sums[i].rank = i;
		sums[i].all_ns = all_ns;
		sums[i].one_in = drawn ? SYS_DRAW_ONE_IN : 1;
		sums[i].first = drawn ? SYS_DRAW_AFTER : 0;
		sums[i].long_ns = drawn ? SYS_DRAW_LONG_TICKS * clock_tick_ns() : 0;
		r = probe_inject(p->env, &sums[i].hdr, sizeof(sums[i]));
	}
	return r;
}
