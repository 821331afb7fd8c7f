// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/sys/stats/sys_stats.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/macros.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/sys/sys_plan_wire.h"
#include "probes/sys/sys_wire.h"

_Static_assert(ARRAY_SIZE(((struct sys_stats_cell *)0)->steps) == SYS_STEPS, "both sides count in the same steps");

static void add(struct sys_stats_cell *sum, const struct sys_stats_cell *s, struct sys_stats_rec *ret)
{
	sum->calls += s->calls;
	sum->errors += s->errors;
	sum->sure += s->sure;
	sum->sure_ns += s->sure_ns;
	sum->sampled += s->sampled;
	sum->sampled_ns += s->sampled_ns;
	sum->unknown += s->unknown;
	sum->max_ns = MAX(sum->max_ns, s->max_ns);
	for (unsigned k = 0; k < SYS_STEPS; k++)
		ret->steps[k] += s->steps[k];
}

/* Scales @ns of @n calls to @calls. */
static uint64_t scaled(uint64_t ns, uint64_t n, uint64_t calls)
{
	return n ? (uint64_t)((__uint128_t)ns * calls / n) : 0;
}

/*
 * The exact times, and for the other calls the average of the sampled ones. The number of calls is exact, so only the
 * average is an estimate. Without a sample, the first calls supply the average.
 */
static uint64_t estimate(const struct sys_stats_cell *s)
{
	uint64_t rest = s->calls - MIN(s->sure + s->unknown, s->calls);

	if (!s->sampled)
		return s->sure_ns + scaled(s->sure_ns, s->sure, rest);
	return s->sure_ns + scaled(s->sampled_ns, s->sampled, rest);
}

static void fill(const struct sys_stats_cell *sum, struct sys_stats_rec *ret)
{
	ret->calls = sum->calls;
	ret->errors = sum->errors;
	ret->total_ns = estimate(sum);
	ret->max_ns = sum->max_ns;
	ret->timed = sum->sure + sum->sampled;
}

/* Sums a call over all CPUs. False if it was never made. */
static bool read_sum(int fd, uint32_t slot, struct sys_stats_cell *cpus, unsigned n_cpus, struct sys_stats_rec *ret)
{
	struct sys_stats_cell sum = { 0 };

	if (bpf_map_lookup_elem(fd, &slot, cpus) < 0)
		return false;
	*ret = (struct sys_stats_rec){ .hdr = { .type = SYS_REC_SUM } };
	for (unsigned i = 0; i < n_cpus; i++)
		add(&sum, &cpus[i], ret);
	fill(&sum, ret);
	return ret->calls > 0;
}

static void name_call(struct sys_stats_rec *r, const unsigned *abis, uint32_t slot)
{
	r->nr = (uint16_t)(slot % SYS_NR_MAX);
	r->abi = (uint8_t)abis[slot / SYS_NR_MAX];
}

/* Appends the rows by process or name to the @n rows in @ret. Returns the new number of rows. */
static size_t read_by(int fd, const unsigned *abis, unsigned n_abis, struct sys_stats_rec *sums, size_t n)
{
	struct sys_stats_key key, *before = NULL;
	struct sys_stats_cell sum;

	for (unsigned i = 0; i < SYS_BY_MOST && bpf_map_get_next_key(fd, before, &key) == 0; i++) {
		struct sys_stats_rec *r = &sums[n];

		before = &key;
		if (bpf_map_lookup_elem(fd, &key, &sum) < 0 || !sum.calls || key.slot >= n_abis * SYS_NR_MAX)
			continue;
		*r = (struct sys_stats_rec){ .hdr = { .type = SYS_REC_SUM }, .by_pid = key.tgid };
		memcpy(r->by_name, key.name, sizeof(r->by_name));
		for (unsigned k = 0; k < SYS_STEPS; k++)
			r->steps[k] = sum.steps[k];
		fill(&sum, r);
		name_call(r, abis, key.slot);
		n++;
	}
	return n;
}

static int by_whose(const void *a, const void *b)
{
	const struct sys_stats_rec *x = a, *y = b;

	if (x->by_pid != y->by_pid)
		return x->by_pid < y->by_pid ? -1 : 1;
	return memcmp(x->by_name, y->by_name, sizeof(x->by_name));
}

/* Most time first: by the total of the process, then of the call. */
static int by_time(const void *a, const void *b)
{
	const struct sys_stats_rec *x = a, *y = b;

	if (x->all_ns != y->all_ns)
		return x->all_ns < y->all_ns ? 1 : -1;
	if (by_whose(x, y))
		return by_whose(x, y);
	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return (y->calls > x->calls) - (y->calls < x->calls);
}

/* Sets rank and total of the rows, which are grouped by process. */
static void arrange(struct sys_stats_rec *sums, size_t n)
{
	qsort(sums, n, sizeof(*sums), by_whose);
	for (size_t i = 0, end; i < n; i = end) {
		uint64_t all_ns = 0;

		for (end = i; end < n && !by_whose(&sums[i], &sums[end]); end++)
			all_ns += sums[end].total_ns;
		for (size_t k = i; k < end; k++)
			sums[k].all_ns = all_ns;
	}
	qsort(sums, n, sizeof(*sums), by_time);
	for (size_t i = 1; i < n; i++)
		sums[i].rank = by_whose(&sums[i - 1], &sums[i]) ? 0 : sums[i - 1].rank + 1;
}

int sys_stats_report(struct probe *p, struct bpf_object *obj, const unsigned *abis, unsigned n_abis, unsigned by,
		   bool sampled)
{
	int fd = bpf_object__find_map_fd_by_name(obj, "sys_stats_rows"), r = 0;
	int by_fd = by ? bpf_object__find_map_fd_by_name(obj, "sys_stats_rows_by") : -1;
	unsigned n_cpus = probe_env_n_cpus(p->env);
	size_t n = 0, most = (size_t)n_abis * SYS_NR_MAX + (by ? SYS_BY_MOST : 0);
	_cleanup_free_ struct sys_stats_cell *cpus = calloc(n_cpus, sizeof(*cpus));
	_cleanup_free_ struct sys_stats_rec *sums = calloc(most, sizeof(*sums));

	if (fd < 0 || !cpus || !sums)
		return fd < 0 ? fd : -ENOMEM;
	for (uint32_t slot = 0; slot < n_abis * SYS_NR_MAX; slot++)
		if (read_sum(fd, slot, cpus, n_cpus, &sums[n]))
			name_call(&sums[n++], abis, slot);
	if (by_fd >= 0)
		n = read_by(by_fd, abis, n_abis, sums, n);
	arrange(sums, n);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		sums[i].hdr.instance = p->instance;
		sums[i].by = by;
		sums[i].one_in = sampled ? SYS_SAMPLING_ONE_IN : 1;
		sums[i].first = sampled ? SYS_SAMPLING_AFTER : 0;
		sums[i].long_ns = sampled ? SYS_SAMPLING_LONG_TICKS * clock_tick_ns() : 0;
		r = probe_env_inject(p->env, &sums[i].hdr, sizeof(sums[i]));
	}
	return r;
}
