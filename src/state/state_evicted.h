/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last keys that a table evicted, by a part of their hash: tells "evicted" from "never seen". Older keys are
 * overwritten.
 */
#ifndef STATE_EVICTED_H
#define STATE_EVICTED_H

#include <stdbool.h>
#include <stdint.h>

#define STATE_EVICTED_KEYS 4096

struct state_evicted {
	uint64_t count;
	uint32_t mark[STATE_EVICTED_KEYS]; /* by the low bits of the hash; 0 = none */
};

static inline void state_evicted_add(struct state_evicted *e, uint64_t hash)
{
	e->count++;
	e->mark[hash % STATE_EVICTED_KEYS] = (uint32_t)(hash >> 32) | 1;
}

static inline bool state_evicted_has(const struct state_evicted *e, uint64_t hash)
{
	return e->mark[hash % STATE_EVICTED_KEYS] == ((uint32_t)(hash >> 32) | 1);
}

#endif
