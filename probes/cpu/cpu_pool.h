/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pool that unwind tables lie in, in the kernel: units of 4 KB in segments of 1 MB (cpu_unwind_wire.h). Knows
 * nothing of what the words mean.
 */
#ifndef CPU_POOL_H
#define CPU_POOL_H

#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct cpu_pool;

uint32_t cpu_pool_segments(uint64_t budget_bytes);	/* that a budget is worth, at least 1 */

/* @obj is loaded and outlives the pool. -ENOENT when it has no such maps. */
int cpu_pool_new(struct bpf_object *obj, uint64_t budget_bytes, struct cpu_pool **ret);
void cpu_pool_free(struct cpu_pool *p);	/* NULL is fine */

/*
 * Takes consecutive units; the pool grows within the budget. -EAGAIN: not before a grace period has passed; -ENOSPC:
 * the caller has to retire some first; -EFBIG: more than the budget; or -errno of the kernel.
 */
int cpu_pool_take(struct cpu_pool *p, uint32_t n_units, uint32_t *ret_first);
void cpu_pool_give(struct cpu_pool *p, uint32_t first, uint32_t n_units); /* never published */

/* Gives back units that running programs may still read: they become free after a grace period. */
void cpu_pool_retire(struct cpu_pool *p, uint32_t first, uint32_t n_units);

/* 0: programs can read these units; -EAGAIN: not yet; or -errno. */
int cpu_pool_ready(struct cpu_pool *p, uint32_t first, uint32_t n_units);

/* After -EAGAIN and once a second: notices grace periods that have passed. Never sleeps. */
void cpu_pool_poll(struct cpu_pool *p);

/* Fills units with @len bytes; the rest of the last is zeroed. 0 or -errno. */
int cpu_pool_write(struct cpu_pool *p, uint32_t first, const void *data, size_t len);

/* A word that was written. 0 or -errno. */
int cpu_pool_word(struct cpu_pool *p, uint32_t word, uint32_t *ret);

uint64_t cpu_pool_bytes(const struct cpu_pool *p);	/* kernel memory taken */

#endif
