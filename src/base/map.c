// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"

enum { SLOT_EMPTY, SLOT_USED };

#define KEY_OFF 8 /* keeps keys and values aligned for 64-bit members */

/* FNV-1a by words with a final mix. Not keyed: an attacker who chooses keys can make them collide. */
static inline __attribute__((always_inline)) uint64_t hash(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t h = 0xcbf29ce484222325ULL ^ len, w;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 29;
	}
	if (len) {
		w = 0;
		memcpy(&w, p, len);
		h = (h ^ w) * 0x9e3779b97f4a7c15ULL;
	}
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93ULL;
	return h ^ h >> 32;
}

uint64_t map_hash(const void *data, size_t len)
{
	return hash(data, len);
}

/* Numbers and pairs of numbers, the usual keys, by constant lengths: both compile to a few instructions. */
static inline uint64_t hash_key(const struct map *m, const void *key)
{
	switch (m->key_size) {
	case 4: return hash(key, 4);
	case 8: return hash(key, 8);
	case 16: return hash(key, 16);
	default: return hash(key, m->key_size);
	}
}

static inline bool is_key(const struct map *m, const void *a, const void *b)
{
	switch (m->key_size) {
	case 4: return !memcmp(a, b, 4);
	case 8: return !memcmp(a, b, 8);
	case 16: return !memcmp(a, b, 16);
	default: return !memcmp(a, b, m->key_size);
	}
}

static char *slot_at(const struct map *m, size_t i)
{
	return m->slots + i * m->stride;
}

static char *slot_key(char *slot)
{
	return slot + KEY_OFF;
}

static void *slot_val(const struct map *m, char *slot)
{
	return slot + KEY_OFF + ROUND_UP(m->key_size, 8);
}

void map_init(struct map *m, uint32_t key_size, uint32_t val_size)
{
	*m = (struct map){
		.key_size = key_size,
		.val_size = val_size,
		.stride = (uint32_t)(KEY_OFF + ROUND_UP(key_size, 8) + ROUND_UP(val_size, 8)),
	};
}

void map_fini(struct map *m)
{
	free(m->slots);
	map_init(m, m->key_size, m->val_size);
}

void map_clear(struct map *m)
{
	if (m->slots)
		memset(m->slots, 0, m->cap * m->stride);
	m->len = 0;
}

/* The slot of @key, or the empty slot to insert it. The table is never full. */
static size_t find_slot(const struct map *m, const void *key)
{
	size_t i = hash_key(m, key) & (m->cap - 1);

	while (slot_at(m, i)[0] == SLOT_USED && !is_key(m, slot_key(slot_at(m, i)), key))
		i = (i + 1) & (m->cap - 1);
	return i;
}

void *map_find(const struct map *m, const void *key)
{
	char *slot;

	if (!m->len)
		return NULL;
	slot = slot_at(m, find_slot(m, key));
	return slot[0] == SLOT_USED ? slot_val(m, slot) : NULL;
}

void *map_find_ptr(const struct map *m, const void *key)
{
	const void *slot = map_find(m, key);
	void *p = NULL;

	if (slot)
		memcpy(&p, slot, sizeof(p));
	return p;
}

static bool resize(struct map *m, size_t cap)
{
	struct map old = *m;
	char *slots = calloc(cap, m->stride);

	if (!slots)
		return false;
	m->slots = slots;
	m->cap = cap;
	for (size_t i = 0; i < old.cap; i++) {
		char *slot = slot_at(&old, i);

		if (slot[0] == SLOT_USED)
			memcpy(slot_at(m, find_slot(m, slot_key(slot))), slot, m->stride);
	}
	free(old.slots);
	return true;
}

void *map_add(struct map *m, const void *key, bool *ret_new)
{
	char *slot;

	if ((m->len + 1) * 4 > m->cap * 3 && !resize(m, m->cap ? m->cap * 2 : 16))
		return NULL;
	slot = slot_at(m, find_slot(m, key));
	if (ret_new)
		*ret_new = slot[0] != SLOT_USED;
	if (slot[0] != SLOT_USED) {
		memset(slot, 0, m->stride);
		slot[0] = SLOT_USED;
		memcpy(slot_key(slot), key, m->key_size);
		m->len++;
	}
	return slot_val(m, slot);
}

int map_put(struct map *m, const void *key, const void *val)
{
	void *slot = map_add(m, key, NULL);

	if (!slot)
		return -ENOMEM;
	memcpy(slot, val, m->val_size);
	return 0;
}

int map_note(struct map *m, const void *key)
{
	bool is_new;

	return map_add(m, key, &is_new) ? is_new : -ENOMEM;
}

void *map_add_new(struct map *m, const void *key, size_t size)
{
	_cleanup_free_ void *p = calloc(1, size);

	return p && map_put(m, key, &p) >= 0 ? TAKE_PTR(p) : NULL;
}

/* Backward-shift deletion: without tombstones, look-ups stay fast in a table that churns. */
bool map_remove(struct map *m, const void *key)
{
	size_t i, j;

	if (!m->len)
		return false;
	i = find_slot(m, key);
	if (slot_at(m, i)[0] != SLOT_USED)
		return false;
	for (j = (i + 1) & (m->cap - 1); slot_at(m, j)[0] == SLOT_USED; j = (j + 1) & (m->cap - 1)) {
		size_t home = hash_key(m, slot_key(slot_at(m, j))) & (m->cap - 1);

		if (((j - home) & (m->cap - 1)) < ((j - i) & (m->cap - 1)))
			continue;
		memcpy(slot_at(m, i), slot_at(m, j), m->stride);
		i = j;
	}
	memset(slot_at(m, i), 0, m->stride);
	m->len--;
	return true;
}

bool map_next(const struct map *m, size_t *pos, void **ret_key, void **ret_val)
{
	while (*pos < m->cap) {
		char *slot = slot_at(m, (*pos)++);

		if (slot[0] != SLOT_USED)
			continue;
		*ret_key = slot_key(slot);
		*ret_val = slot_val(m, slot);
		return true;
	}
	return false;
}
