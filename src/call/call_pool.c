// SPDX-License-Identifier: GPL-2.0-or-later
#include "call/call_pool.h"

#include <stdlib.h>

#include "base/macros.h"

#define TEXT_UNIT 64	/* bytes of texts */

/* The chunk that malloc() takes for @bytes. */
static size_t chunk_of(size_t bytes)
{
	return bytes ? MAX(ROUND_UP(bytes + sizeof(size_t), 2 * sizeof(size_t)), 4 * sizeof(size_t)) : 0;
}

void call_pool_init(struct call_pool *p, const struct call_pool_ops *ops, void *ctx)
{
	*p = (struct call_pool){ .ops = ops, .ctx = ctx, .bytes_max = CALL_POOL_BYTES };
}

static void free_call(struct call *c)
{
	buf_fini(&c->bytes);
	free(c);
}

void call_pool_fini(struct call_pool *p)
{
	while (p->n_spare)
		free_call(p->spare[--p->n_spare]);
}

struct call *call_pool_get(struct call_pool *p, enum call_kind kind)
{
	struct call *c;

	if (!call_pool_take(p, sizeof(*c)))
		return NULL;
	c = p->n_spare ? p->spare[--p->n_spare] : calloc(1, sizeof(*c));
	if (!c) {
		call_pool_give(p, sizeof(*c));
		return NULL;
	}
	if (!c->bytes.data && (c->bytes.data = malloc(TEXT_UNIT)))	/* less than a buffer has at first */
		c->bytes.cap = TEXT_UNIT;
	call_entry_reset(c, kind);
	call_pool_settle(p, c);
	return c;
}

void call_pool_settle(struct call_pool *p, struct call *c)
{
	uint16_t units = (uint16_t)(c->bytes.cap / TEXT_UNIT);

	p->bytes += (size_t)units * TEXT_UNIT;
	p->bytes -= (size_t)c->text_units * TEXT_UNIT;
	c->text_units = units;
}

void call_pool_put(struct call_pool *p, struct call *c)
{
	call_pool_give(p, sizeof(*c));
	p->bytes -= (size_t)c->text_units * TEXT_UNIT;
	if (p->n_spare < ARRAY_SIZE(p->spare))
		p->spare[p->n_spare++] = c;
	else
		free_call(c);
}

bool call_pool_take(struct call_pool *p, size_t bytes)
{
	bytes = chunk_of(bytes);
	if (bytes > p->bytes_max - MIN(p->bytes, p->bytes_max))
		return false;
	p->bytes += bytes;
	return true;
}

void call_pool_give(struct call_pool *p, size_t bytes)
{
	p->bytes -= chunk_of(bytes);
}
