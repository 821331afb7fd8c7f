// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/sys/stats/sys_lost.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "event/core.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/sys/sys_conf.h"
#include "probes/sys/sys_table.h"
#include "probes/sys/sys_wire.h"

struct losses {
	const unsigned *abis;
	unsigned n_slots, n_cpus;
	uint64_t changes;	/* sys_lost_changes at the last report */
	uint64_t *now;		/* owned; counts of one slot by CPU */
	uint64_t *told;		/* owned; reported so far, by slot, then CPU */
};

void sys_lost_free(struct losses *l)
{
	if (!l)
		return;
	free(l->now);
	free(l->told);
	free(l);
}

struct losses *sys_lost_new(const unsigned *abis, unsigned n_abis, unsigned n_cpus)
{
	struct losses *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->abis = abis;
	l->n_slots = n_abis * SYS_NR_MAX;
	l->n_cpus = n_cpus;
	l->now = calloc(n_cpus, sizeof(*l->now));
	l->told = calloc(((size_t)l->n_slots + 1) * n_cpus, sizeof(*l->told));
	if (l->now && l->told)
		return l;
	sys_lost_free(l);
	return NULL;
}

unsigned sys_lost_most(const struct losses *l, struct sys_stats_lost *ret, unsigned n)
{
	unsigned found = 0;

	for (unsigned slot = 0; slot <= l->n_slots; slot++) {
		bool known = slot < l->n_slots;
		struct sys_stats_lost one = {
			.abi = l->abis[known ? slot / SYS_NR_MAX : 0], .nr = known ? slot % SYS_NR_MAX : SYS_NR_MAX,
		};
		unsigned at = found;

		for (unsigned cpu = 0; cpu < l->n_cpus; cpu++)
			one.count += l->told[(size_t)slot * l->n_cpus + cpu];
		while (at > 0 && ret[at - 1].count < one.count)
			at--;
		if (!one.count || at == n)
			continue;
		found += found < n;
		memmove(&ret[at + 1], &ret[at], (found - at - 1) * sizeof(*ret));
		ret[at] = one;
	}
	return found;
}

static void say_cpus(const struct losses *l, uint32_t slot, struct buf *out)
{
	const char *before = " (";

	for (unsigned cpu = 0; cpu < l->n_cpus; cpu++) {
		uint64_t count = l->told[(size_t)slot * l->n_cpus + cpu];

		if (!count)
			continue;
		buf_printf(out, "%scpu %u: %" PRIu64, before, cpu, count);
		before = ", ";
	}
	buf_add_str(out, ")\n");
}

void sys_lost_print(const struct losses *l, struct buf *out)
{
	struct sys_stats_lost most[16];
	unsigned n = l ? sys_lost_most(l, most, ARRAY_SIZE(most)) : 0;

	for (unsigned i = 0; i < n; i++) {
		const char *cause = xlat_name(&lost_cause_xlat, SONDE_LOST_RING_FULL);
		uint32_t slot = most[i].nr == SYS_NR_MAX ? l->n_slots : most[i].nr;
		char name[24];

		if (most[i].nr != SYS_NR_MAX && most[i].abi != l->abis[0])
			slot += SYS_NR_MAX;
		buf_printf(out, "  lost of %s, %s: %" PRIu64,
			   most[i].nr == SYS_NR_MAX ? "other calls"
						    : sys_table_call_name(most[i].abi, most[i].nr, name),
			   cause, most[i].count);
		say_cpus(l, slot, out);
	}
}

static int emit(const struct losses *l, struct probe *p, uint32_t slot, unsigned cpu, uint64_t count)
{
	struct sys_lost_rec r = { .hdr = { .type = SYS_REC_LOST, .cpu = (uint16_t)cpu, .flags = SONDE_RF_SUM } };
	bool known = slot < l->n_slots;

	r.hdr.instance = p->instance;
	r.cause = SONDE_LOST_RING_FULL;
	r.nr = known ? (uint16_t)(slot % SYS_NR_MAX) : SYS_NR_MAX;
	r.abi = (uint8_t)l->abis[known ? slot / SYS_NR_MAX : 0];
	r.count = count;
	return probe_env_inject(p->env, &r.hdr, sizeof(r));
}

int sys_lost_report(struct losses *l, struct probe *p, struct bpf_object *obj)
{
	int fd = bpf_object__find_map_fd_by_name(obj, "sys_lost"), r = 0;
	const uint64_t *changes = probe_rodata_var(obj, "sys_lost_changes", sizeof(*changes));

	if (fd < 0 || !changes || *changes == l->changes)
		return 0;
	l->changes = *changes;
	for (uint32_t slot = 0; slot <= l->n_slots; slot++) {
		uint64_t *told = l->told + (size_t)slot * l->n_cpus;

		if (bpf_map_lookup_elem(fd, &slot, l->now) < 0)
			return -errno;
		for (unsigned cpu = 0; r >= 0 && cpu < l->n_cpus; cpu++) {
			if (l->now[cpu] == told[cpu])
				continue;
			r = emit(l, p, slot, cpu, l->now[cpu] - told[cpu]);
			told[cpu] = l->now[cpu];
		}
	}
	return r;
}
