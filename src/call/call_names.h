/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prepared statements of a connection: what a name or number of the protocol stands for. Bounded: the statement that
 * was not used for longest gives way.
 */
#ifndef CALL_CALL_NAMES_H
#define CALL_CALL_NAMES_H

#include "call/call_pool.h"

#define CALL_NAMES_MAX 256
#define CALL_NAMES_BYTES (24u << 10)	/* of their texts */

/* A zeroed struct is empty. */
struct call_names {
	struct call_name *items;	/* owned */
	size_t len, cap, bytes;
	uint64_t uses;
};

void call_names_fini(struct call_names *n, struct call_pool *pool);

/* Remembers operation, resource, statement and its id of @c. */
void call_names_set(struct call_names *n, struct call_pool *pool, uint64_t key, const struct call *c);

/* Gives @c what was remembered. False if the key is unknown. */
bool call_names_get(struct call_names *n, uint64_t key, struct call *c);

void call_names_remove(struct call_names *n, struct call_pool *pool, uint64_t key);

#endif
