/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sizes of rings and tables by the memory that is left: smaller rings first, then smaller tables. Internal to
 * src/probe.
 */
#ifndef PROBE_MEMORY_PLAN_H
#define PROBE_MEMORY_PLAN_H

#include <stddef.h>
#include <stdint.h>

struct bpf_object;

struct memory_plan {
	size_t bulk_bytes, life_bytes;	/* per CPU; powers of two, whole pages */
	unsigned lru_shift;		/* LRU tables shrink by this power of two */
	uint64_t scarce_bytes;		/* memory left if below 64 MiB, else 0 */
	char note[160];			/* sentence on the reduced sizes; "" = all have their default */
};

/* @bulk_bytes, @life_bytes: requested sizes of rings per CPU, 0 = default. */
void memory_plan_init(struct memory_plan *p, unsigned n_cpus, size_t bulk_bytes, size_t life_bytes);

/* Before load: shrinks the LRU tables of @obj and, if memory is scarce, hash tables that are not preallocated. */
void memory_plan_shrink(const struct memory_plan *p, struct bpf_object *obj);

#endif
