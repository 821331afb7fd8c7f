/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of JSON lines that repeat from event to event: the process, its keys and its file. The text of a part is kept
 * with the bytes that it was made of, and is used again only if all of them are equal.
 */
#ifndef SINKS_JSON_PARTS_H
#define SINKS_JSON_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

#define JSON_PARTS 32	/* of a kind; a power of two */

struct json_part {
	struct buf of;		/* bytes the text depends on; empty: no part */
	struct buf text;
};

struct json_parts { struct json_part slots[JSON_PARTS]; };	/* zeroed: none */

void json_parts_fini(struct json_parts *p);

/* The slot of a number, such as a thread id. */
static inline struct json_part *json_parts_slot(struct json_parts *p, uint64_t number)
{
	return &p->slots[number * 0x9e3779b97f4a7c15ull >> 59 & (JSON_PARTS - 1)];
}

/* Appends the text to @out if it was made of @fixed and @more. */
static inline bool json_parts_use(const struct json_part *p, const void *fixed, size_t fixed_len, const void *more,
				  size_t more_len, struct buf *out)
{
	if (p->of.len != fixed_len + more_len || memcmp(p->of.data, fixed, fixed_len) != 0 ||
	    (more_len && memcmp(p->of.data + fixed_len, more, more_len) != 0))
		return false;
	buf_add(out, p->text.data, p->text.len);
	return true;
}

/* Keeps the text that @out has from @from on. Without memory the slot becomes empty. */
void json_parts_keep(struct json_part *p, const void *fixed, size_t fixed_len, const void *more, size_t more_len,
		     const struct buf *out, size_t from);

#endif
