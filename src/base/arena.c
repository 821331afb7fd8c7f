// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

#define CHUNK_BYTES 16384

struct arena_chunk {
	struct arena_chunk *next;
	size_t used, cap;
	alignas(max_align_t) char data[];
};

static void free_chunks(struct arena_chunk *c)
{
	while (c) {
		struct arena_chunk *next = c->next;

		free(c);
		c = next;
	}
}

void arena_fini(struct arena *a)
{
	free_chunks(a->head);
	*a = (struct arena){ .limit_bytes = a->limit_bytes };
}

void arena_reset(struct arena *a)
{
	if (a->head) {
		free_chunks(a->head->next);
		a->head->next = NULL;
		a->head->used = 0;
	}
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
		size_t cap = MAX(need, (size_t)CHUNK_BYTES);

		c = malloc(sizeof(*c) + cap);
		if (!c)
			return NULL;
		*c = (struct arena_chunk){ .next = a->head, .cap = cap };
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
