// SPDX-License-Identifier: GPL-2.0-or-later
#include "call/call_pool.h"

#include <stdlib.h>

#include "base/macros.h"

#define CALL_BYTES (sizeof(struct call) + 512)	/* of a call with usual texts */

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

	if (!call_pool_take(p, CALL_BYTES))
		return NULL;
	c = p->n_spare ? p->spare[--p->n_spare] : calloc(1, sizeof(*c));
	if (c)
		call_entry_reset(c, kind);
	else
		call_pool_give(p, CALL_BYTES);
	return c;
}

void call_pool_put(struct call_pool *p, struct call *c)
{
	call_pool_give(p, CALL_BYTES);
	if (p->n_spare < ARRAY_SIZE(p->spare))
		p->spare[p->n_spare++] = c;
	else
		free_call(c);
}

bool call_pool_take(struct call_pool *p, size_t bytes)
{
	if (bytes > p->bytes_max - MIN(p->bytes, p->bytes_max)) {
		p->missed[CALL_MISS_MEMORY]++;
		return false;
	}
	p->bytes += bytes;
	return true;
}

void call_pool_give(struct call_pool *p, size_t bytes)
{
	p->bytes -= bytes;
}
