// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/macros.h"

#define CHUNK_BYTES 16384
#define MAPPED_BYTES (256u << 10)	/* a multiple of every page size */

struct arena_chunk {
	struct arena_chunk *next;
	size_t used, cap;
	size_t mapped_bytes;	/* size of the chunk's own mapping; 0 = on the heap */
	alignas(max_align_t) char data[];
};

static void free_chunks(struct arena_chunk *c)
{
	while (c) {
		struct arena_chunk *next = c->next;

		if (c->mapped_bytes)
			munmap(c, c->mapped_bytes);
		else
			free(c);
		c = next;
	}
}

static struct arena_chunk *new_chunk(const struct arena *a, size_t need)
{
	size_t cap = MAX(need, (size_t)CHUNK_BYTES), bytes;
	struct arena_chunk *c;

	if (cap > SIZE_MAX / 2)
		return NULL;
	if (!a->not_forked) {
		c = malloc(sizeof(*c) + cap);
		if (c)
			*c = (struct arena_chunk){ .next = a->head, .cap = cap };
		return c;
	}
	bytes = ROUND_UP(sizeof(*c) + need, (size_t)MAPPED_BYTES);
	c = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c == MAP_FAILED)
		return NULL;
	madvise(c, bytes, MADV_DONTFORK);
	*c = (struct arena_chunk){ .next = a->head, .cap = bytes - sizeof(*c), .mapped_bytes = bytes };
	return c;
}

void arena_fini(struct arena *a)
{
	free_chunks(a->head);
	*a = (struct arena){ .limit_bytes = a->limit_bytes, .not_forked = a->not_forked };
}

void arena_reset_used(struct arena *a)
{
	if (a->head->next) {
		free_chunks(a->head->next);
		a->head->next = NULL;
	}
	a->head->used = 0;
	a->used_bytes = 0;
}

void *arena_alloc(struct arena *a, size_t len)
{
	size_t need = ROUND_UP(MAX(len, (size_t)1), alignof(max_align_t));
	struct arena_chunk *c = a->head;
	void *p;

	if (need < len || (a->limit_bytes && need > a->limit_bytes - MIN(a->used_bytes, a->limit_bytes)))
		return NULL;
	if (!c || c->cap - c->used < need) {
		c = new_chunk(a, need);
		if (!c)
			return NULL;
		a->head = c;
	}
	p = c->data + c->used;
	c->used += need;
	a->used_bytes += need;
	return memset(p, 0, need);
}

void *arena_copy(struct arena *a, const void *data, size_t len)
{
	char *p = arena_alloc(a, len + 1);

	if (p && len)
		memcpy(p, data, len);
	return p;
}
