// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/sys/sys_sums.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/sys/sys_plan_wire.h"
#include "probes/sys/sys_wire.h"

_Static_assert(ARRAY_SIZE(((struct sys_sum *)0)->steps) == SYS_STEPS, "both sides count in the same steps");

/* All CPUs of one call. False: it was never made. */
static bool read_sum(int fd, uint32_t slot, struct sys_sum *cpus, unsigned n_cpus, struct sys_sum_rec *ret)
{
	if (bpf_map_lookup_elem(fd, &slot, cpus) < 0)
		return false;
	*ret = (struct sys_sum_rec){ .hdr = { .type = SYS_REC_SUM }, .nr = (uint16_t)(slot % SYS_NR_MAX) };
	for (unsigned i = 0; i < n_cpus; i++) {
		ret->calls += cpus[i].calls;
		ret->errors += cpus[i].errors;
		ret->total_ns += cpus[i].total_ns;
		for (unsigned k = 0; k < SYS_STEPS; k++)
			ret->steps[k] += cpus[i].steps[k];
	}
	return ret->calls > 0;
}

static int by_time(const void *a, const void *b)
{
	const struct sys_sum_rec *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return (y->calls > x->calls) - (y->calls < x->calls);
}

int sums_tell(struct probe *p, struct bpf_object *obj, const unsigned *abis, unsigned n_abis)
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
		r = probe_inject(p->env, &sums[i].hdr, sizeof(sums[i]));
	}
	return r;
}
