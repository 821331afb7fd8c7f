/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scratch memory that is released all at once: what a decoder or enricher builds for one event lives
 * here and is gone with arena_reset(). A zeroed struct is an empty arena.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena_chunk;

struct arena {
	struct arena_chunk *head;	/* owned */
	size_t limit_bytes;		/* 0 = none; allocations beyond it fail */
	size_t used_bytes;
	bool not_forked;		/* set while it is empty: forked processes do not have what is in it */
};

void arena_fini(struct arena *a);

/* Everything allocated so far becomes invalid; the first chunk is kept for reuse. */
void arena_reset(struct arena *a);

/* Zeroed memory aligned for any type, or NULL. */
void *arena_alloc(struct arena *a, size_t len);

/* A copy of @len bytes with a NUL behind them, or NULL. */
void *arena_copy(struct arena *a, const void *data, size_t len);

#endif
