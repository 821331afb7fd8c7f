/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resources that an instance takes, by its options.
 */
#ifndef AGENT_AGENT_USE_H
#define AGENT_AGENT_USE_H

#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"

/* OPT_USE_INTERVAL: the shortest, 0 = none; OPT_USE_BYTES: the maximum. */
struct inst_use {
	uint64_t of[OPT_USE__MAX];
};

/* Sums the resources that the options of @sets take. */
void agent_use_measure(const struct opt_set *sets, size_t n_sets, unsigned n_cpus, struct inst_use *ret);

/* UINT64_MAX if the sum is larger. */
static inline uint64_t agent_use_plus(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

#endif
