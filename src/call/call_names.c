// SPDX-License-Identifier: GPL-2.0-or-later
#include "call/call_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/vec.h"

static const enum call_text kept[] = { CALL_TEXT_OPERATION, CALL_TEXT_RESOURCE, CALL_TEXT_STATEMENT };

struct call_name {
	uint64_t key, statement_id, used;
	uint16_t lens[ARRAY_SIZE(kept)];
	uint8_t incomplete;
	char *texts;	/* owned: one behind the other */
};

static size_t texts_len(const struct call_name *one)
{
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		len += one->lens[i];
	return len;
}

static void remove_at(struct call_names *n, struct call_pool *pool, size_t at)
{
	size_t bytes = sizeof(*n->items) + texts_len(&n->items[at]);

	free(n->items[at].texts);
	n->items[at] = n->items[--n->len];
	n->bytes -= bytes;
	call_pool_give(pool, bytes);
}

void call_names_fini(struct call_names *n, struct call_pool *pool)
{
	while (n->len)
		remove_at(n, pool, n->len - 1);
	vec_fini(n);
}

static struct call_name *find(const struct call_names *n, uint64_t key)
{
	for (size_t i = 0; i < n->len; i++)
		if (n->items[i].key == key)
			return &n->items[i];
	return NULL;
}

void call_names_remove(struct call_names *n, struct call_pool *pool, uint64_t key)
{
	struct call_name *one = find(n, key);

	if (one)
		remove_at(n, pool, (size_t)(one - n->items));
}

static void make_room(struct call_names *n, struct call_pool *pool, size_t bytes)
{
	while (n->len && (n->len == CALL_NAMES_MAX || n->bytes + bytes > CALL_NAMES_BYTES)) {
		size_t oldest = 0;

		for (size_t i = 1; i < n->len; i++)
			if (n->items[i].used < n->items[oldest].used)
				oldest = i;
		remove_at(n, pool, oldest);
	}
}

void call_names_set(struct call_names *n, struct call_pool *pool, uint64_t key, const struct call *c)
{
	struct call_name one = { .key = key, .statement_id = c->statement_id, .used = ++n->uses,
				 .incomplete = c->incomplete };
	const char *texts[ARRAY_SIZE(kept)];
	size_t len, at = 0;

	call_names_remove(n, pool, key);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		texts[i] = call_entry_text(c, kept[i], &len);
		one.lens[i] = (uint16_t)len;
	}
	len = texts_len(&one);
	make_room(n, pool, sizeof(one) + len);
	if (!call_pool_take(pool, sizeof(one) + len))
		return;
	one.texts = malloc(len ? len : 1);
	if (!one.texts || vec_grow(n) < 0) {
		free(one.texts);
		call_pool_give(pool, sizeof(one) + len);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(kept); at += one.lens[i++])
		if (texts[i])
			memcpy(one.texts + at, texts[i], one.lens[i]);
	n->items[n->len++] = one;
	n->bytes += sizeof(one) + len;
}

bool call_names_get(struct call_names *n, uint64_t key, struct call *c)
{
	struct call_name *one = find(n, key);
	size_t at = 0;

	if (!one)
		return false;
	one->used = ++n->uses;
	for (size_t i = 0; i < ARRAY_SIZE(kept); at += one->lens[i++])
		call_entry_set(c, kept[i], one->texts + at, one->lens[i]);
	c->statement_id = one->statement_id;
	c->incomplete |= one->incomplete;
	return true;
}
