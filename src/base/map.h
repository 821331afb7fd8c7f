/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash table with keys and values of fixed sizes, by open addressing. Values live in the table; a pointer to a
 * value is valid until the next add or remove.
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

/* The pointer of @key in a table of pointers, or NULL. */
void *map_find_ptr(const struct map *m, const void *key);

/* The value of @key, zeroed if the key is new (*ret_new is true then). NULL without memory. */
void *map_add(struct map *m, const void *key, bool *ret_new);

/* Sets the value of @key, known or new, to a copy of @val. -ENOMEM. */
int map_put(struct map *m, const void *key, const void *val);

/* 1: the key is new; 0: it was there; -ENOMEM. */
int map_note(struct map *m, const void *key);

/* In a table of pointers, a zeroed object of @size bytes for a new key. The caller's; NULL without memory. */
void *map_add_new(struct map *m, const void *key, size_t size);

/* Returns true if the key was there. */
bool map_remove(struct map *m, const void *key);

/* Iterates: *pos starts at 0; false at the end. The table must not change during the iteration. */
bool map_next(const struct map *m, size_t *pos, void **ret_key, void **ret_val);

uint64_t map_hash(const void *data, size_t len);

#endif
