/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scratch memory that is released all at once by arena_reset(): decoders allocate the parts of an event here.
 * A zeroed struct is an empty arena.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena {
	struct arena_chunk *head;	/* owned */
	size_t limit_bytes;		/* 0 = none; allocations beyond it fail */
	size_t used_bytes;
	bool not_forked;		/* fork() does not copy the memory; set it while the arena is empty */
};

void arena_fini(struct arena *a);

/* Invalidates all allocations; keeps the first chunk for reuse. */
void arena_reset_used(struct arena *a);
static inline void arena_reset(struct arena *a)
{
	if (a->used_bytes)
		arena_reset_used(a);
}

/* Zeroed memory aligned for any type, or NULL. */
void *arena_alloc(struct arena *a, size_t len);

/* A copy of @len bytes and a terminating NUL, or NULL. */
void *arena_copy(struct arena *a, const void *data, size_t len);

#endif
