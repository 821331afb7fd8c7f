// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/map.h"
#include "event/value.h"

#define NAMES_BYTES_MAX (16u << 20)
/* Overhead of an entry besides its text: key, pointer and slot state at the table's lowest fill, doubled. */
#define ENTRY_COST 128

struct name_key {
	uint64_t key;
	uint32_t space;
	uint32_t pad;
};

struct names {
	struct map map;		/* struct name_key -> char *, owned */
	size_t bytes;
	uint64_t generation;
	uint32_t spaces; /* those that ever had a name, one bit each; the last bit: any of the others */
	char host[65];
	const struct names *below;	/* NULL = none */
};

struct names *event_names_new(void)
{
	struct names *n = calloc(1, sizeof(*n));

	if (n)
		map_init(&n->map, sizeof(struct name_key), sizeof(char *));
	return n;
}

void event_names_free(struct names *n)
{
	void *key, *val;
	size_t pos = 0;

	if (!n)
		return;
	while (map_next(&n->map, &pos, &key, &val))
		free(*(char **)val);
	map_fini(&n->map);
	free(n);
}

static uint32_t space_bit(uint32_t space)
{
	return 1u << MIN(space, 31u);
}

static void forget(struct names *n, const struct name_key *key)
{
	char **old = map_find(&n->map, key);

	if (!old)
		return;
	n->bytes -= strlen(*old) + 1 + ENTRY_COST;
	free(*old);
	map_remove(&n->map, key);
}

int event_names_set(struct names *n, uint32_t space, uint64_t key, const char *name, size_t len)
{
	struct name_key k = { .key = key, .space = space };
	_cleanup_free_ char *copy = NULL;

	len = strnlen(name, len);
	n->generation++;
	forget(n, &k);
	if (!len && !n->below)
		return 0;
	if (len > NAMES_BYTES_MAX || n->bytes + len + 1 + ENTRY_COST > NAMES_BYTES_MAX)
		return -ENOSPC;
	copy = strndup(name, len);
	if (!copy || map_put(&n->map, &k, &copy) < 0)
		return -ENOMEM;
	TAKE_PTR(copy);
	n->spaces |= space_bit(space);
	n->bytes += len + 1 + ENTRY_COST;
	return 0;
}

const char *event_names_get(const struct names *n, uint32_t space, uint64_t key)
{
	struct name_key k = { .key = key, .space = space };
	const char *name = n && n->spaces & space_bit(space) ? map_find_ptr(&n->map, &k) : NULL;

	if (name)
		return *name ? name : NULL;
	return n && n->below ? event_names_get(n->below, space, key) : NULL;
}

void event_names_set_host(struct names *n, const char *host)
{
	snprintf(n->host, sizeof(n->host), "%s", host);
}

const char *event_names_host(const struct names *n)
{
	return !n ? "" : *n->host || !n->below ? n->host : event_names_host(n->below);
}

void event_names_put_over(struct names *n, const struct names *below)
{
	n->below = below;
}

uint64_t event_names_generation(const struct names *n)
{
	return n ? n->generation + event_names_generation(n->below) : 0;
}

int event_names_walk(const struct names *n, names_fn fn, void *ctx)
{
	void *key, *val;
	size_t pos = 0;
	int r = 0;

	while (n && r >= 0 && map_next(&n->map, &pos, &key, &val)) {
		const struct name_key *k = key;

		r = fn(ctx, k->space, k->key, *(char **)val);
	}
	return r < 0 ? r : 0;
}

uint64_t event_names_host_key(const struct ipaddr *ip)
{
	uint64_t key = 0;

	if (ip->family == SONDE_IPV6)
		return map_hash(ip->addr, sizeof(ip->addr)) | 1ull << 63;
	for (int i = 0; i < 4; i++)
		key = key << 8 | ip->addr[i];
	return key;
}
