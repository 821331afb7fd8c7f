/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing byte buffer. A zeroed struct is an empty buffer; buf_fini() releases it.
 *
 * Errors are sticky: after a failed add all later adds fail, so a writer may check buf_error() once at the end.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"

struct buf {
	char *data;	/* owned; not terminated unless buf_str() was called */
	size_t len;
	size_t cap;
	int error;	/* first failure, negative errno */
	bool borrowed;	/* data is the caller's; replaced when it is too small */
};

/* Begins in the caller's memory, as long as it suffices. */
static inline struct buf buf_in(char *memory, size_t bytes)
{
	return (struct buf){ .data = memory, .cap = bytes, .borrowed = true };
}

void buf_fini(struct buf *b);

/* Empties the buffer and clears its error; keeps the memory. */
void buf_reset(struct buf *b);

/* Makes room for @len bytes and returns their address, or NULL. buf_commit() then adds them to the content. */
void *buf_reserve_slow(struct buf *b, size_t len);
static inline void *buf_reserve(struct buf *b, size_t len)
{
	/* allocates for @len 0, too: the result must be a valid address */
	if (unlikely(b->error || !b->data || b->cap - b->len < len))
		return buf_reserve_slow(b, len);
	return b->data + b->len;
}

/* Adds the first @len bytes of what buf_reserve() returned. */
static inline void buf_commit(struct buf *b, size_t len)
{
	b->len += len;
}

int buf_add_slow(struct buf *b, const void *data, size_t len);	/* buf_add() that grows or fails */

/*
 * memcpy() of few bytes: two moves that may overlap take less than the call. A smaller source gets no branch for 16
 * bytes, which gcc would warn about.
 */
static inline void buf_copy(char *to, const char *from, size_t len)
{
	if (len > 16 || __builtin_constant_p(len) || __builtin_object_size(from, 0) < 16) {
		memcpy(to, from, len);
	} else if (len >= 8) {
		uint64_t first, last;

		memcpy(&first, from, 8);
		memcpy(&last, from + len - 8, 8);
		memcpy(to, &first, 8);
		memcpy(to + len - 8, &last, 8);
	} else if (len >= 4) {
		uint32_t first, last;

		memcpy(&first, from, 4);
		memcpy(&last, from + len - 4, 4);
		memcpy(to, &first, 4);
		memcpy(to + len - 4, &last, 4);
	} else {
		for (size_t i = 0; i < len; i++)
			to[i] = from[i];
	}
}

/* Inline, like the next two: printing an event takes a hundred calls, most of them with a few bytes. */
static inline int buf_add(struct buf *b, const void *data, size_t len)
{
	if (unlikely(!len || b->error || b->cap - b->len < len))
		return buf_add_slow(b, data, len);
	buf_copy(b->data + b->len, data, len);
	b->len += len;
	return 0;
}

static inline int buf_add_str(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

static inline int buf_add_char(struct buf *b, char c)
{
	return buf_add(b, &c, 1);
}

/* Numbers of binary formats, in the byte order of this machine. */
static inline void buf_put_u8(struct buf *b, uint8_t v)
{
	buf_add(b, &v, sizeof(v));
}

static inline void buf_put_u16(struct buf *b, uint16_t v)
{
	buf_add(b, &v, sizeof(v));
}

static inline void buf_put_u32(struct buf *b, uint32_t v)
{
	buf_add(b, &v, sizeof(v));
}

static inline void buf_put_u64(struct buf *b, uint64_t v)
{
	buf_add(b, &v, sizeof(v));
}

int buf_add_u64(struct buf *b, uint64_t v);	/* decimal digits */
int buf_add_i64(struct buf *b, int64_t v);	/* the same, with a sign if negative */
int buf_add_hex(struct buf *b, uint64_t v);	/* 0x1f; 0 without prefix */
/* The last @n decimal digits of @v, at most 10, with zeros in front. */
int buf_add_digits(struct buf *b, uint32_t v, unsigned n);
int buf_printf(struct buf *b, const char *fmt, ...) _printf_(2, 3);
int buf_add_mac(struct buf *b, const uint8_t *mac);	/* 02:42:ac:11:00:02 */
/* Lines in the format of hexdump -C. */
int buf_add_hexdump(struct buf *b, const void *data, size_t len);

/* Appends zero bytes until the length is a multiple of @align. */
int buf_align(struct buf *b, size_t align);

/* Removes the first @len bytes. */
void buf_consume(struct buf *b, size_t len);

/* The content as a C string, valid until the next change; "" if memory ran out. */
const char *buf_str(struct buf *b);

static inline int buf_error(const struct buf *b)
{
	return b->error;
}

#endif
