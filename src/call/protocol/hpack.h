/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HPACK (RFC 7541) that tolerates a late start.
 *
 * Entries of the dynamic table from before the first block that was seen are unknown, but keep their identity: each
 * is numbered by its age at that time, so equal fields have equal numbers.
 */
#ifndef CALL_PROTOCOL_HPACK_H
#define CALL_PROTOCOL_HPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"

struct call_pool;

#define HPACK_TABLE_MAX 16384	/* bytes of a table; larger ones forget entries */
#define HPACK_STRING_MAX 1024	/* bytes of a decoded name or value; longer ones are cut */

/* A zeroed struct is an empty table. */
struct hpack {
	struct hpack_entry *entries;	/* owned, youngest last */
	size_t len, cap, bytes;		/* bytes: as RFC 7541, 4.1 counts */
	uint64_t inserted;		/* since the start */
	uint32_t limit;			/* + 1; 0 = 4,096 */
};

struct hpack_field {
	char name[HPACK_STRING_MAX], value[HPACK_STRING_MAX];
	size_t name_len, value_len;
	bool unknown;		/* the whole field is an entry from before the start */
	bool cut;
	uint64_t old;		/* its number */
};

void hpack_fini(struct hpack *h, struct call_pool *pool);

/* Decodes the next field of a block. 1; 0 at the end of the block; -EBADMSG. */
int hpack_next(struct hpack *h, struct call_pool *pool, struct cursor *block, struct hpack_field *ret);

#endif
