/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash table with keys of one fixed size and values of one fixed size, open addressing.
 * Values are found, added and removed in place; a pointer to a value is good until the next add.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map {
	uint32_t key_size, val_size;	/* bytes, set by map_init() */
	uint32_t stride;
	size_t len;			/* entries */
	size_t cap;			/* slots, a power of two */
	char *slots;			/* owned; per slot: u8 state, padding, key, value */
};

void map_init(struct map *m, uint32_t key_size, uint32_t val_size);
void map_fini(struct map *m);
void map_clear(struct map *m);

/* The value of @key, or NULL. */
void *map_find(const struct map *m, const void *key);

/* The value of @key, zeroed if it was not there (then *ret_new is true). NULL if memory ran out. */
void *map_add(struct map *m, const void *key, bool *ret_new);

/* Returns true if the key was there. */
bool map_remove(struct map *m, const void *key);

/* Walks the entries: *pos starts at 0; returns false at the end. The table must not change meanwhile. */
bool map_next(const struct map *m, size_t *pos, void **ret_key, void **ret_val);

uint64_t map_hash(const void *data, size_t len);

#endif
