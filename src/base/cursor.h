/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading untrusted bytes.
 *
 * A cursor never reads past its end. The first short read makes it bad: from then on reads return zero or NULL and
 * cur_ok() is false, so a parser may read a whole structure and check once.
 */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *pos;
	const uint8_t *end;
	bool bad;
};

static inline struct cursor cur_init(const void *data, size_t len)
{
	return (struct cursor){ .pos = data, .end = (const uint8_t *)data + len };
}

static inline bool cur_ok(const struct cursor *c)
{
	return !c->bad;
}

static inline size_t cur_left(const struct cursor *c)
{
	return c->bad ? 0 : (size_t)(c->end - c->pos);
}

/* The next @len bytes in place, or NULL. Valid as long as the underlying data. */
static inline const void *cur_bytes(struct cursor *c, size_t len)
{
	const uint8_t *p = c->pos;

	if (c->bad || (size_t)(c->end - c->pos) < len) {
		c->bad = true;
		return NULL;
	}
	c->pos += len;
	return p;
}

static inline void cur_skip(struct cursor *c, size_t len)
{
	(void)cur_bytes(c, len);
}

/* A cursor over the next @len bytes, which @c skips; bad if fewer are left. */
static inline struct cursor cur_sub(struct cursor *c, size_t len)
{
	const void *p = cur_bytes(c, len);

	return p ? cur_init(p, len) : (struct cursor){ .bad = true };
}

/* Copies @len bytes to @dst, or zeroes it if fewer are left. */
static inline bool cur_copy(struct cursor *c, void *dst, size_t len)
{
	const void *p = cur_bytes(c, len);

	if (p)
		memcpy(dst, p, len);
	else
		memset(dst, 0, len);
	return p != NULL;
}

#define CUR_DEFINE(name, type, conv) \
	static inline type cur_##name(struct cursor *c) \
	{ \
		type v; \
\
		cur_copy(c, &v, sizeof(v)); \
		return (type)conv(v); \
	}

CUR_DEFINE(u8, uint8_t, )
CUR_DEFINE(u16, uint16_t, )			/* host order */
CUR_DEFINE(u32, uint32_t, )
CUR_DEFINE(u64, uint64_t, )
CUR_DEFINE(u16be, uint16_t, __builtin_bswap16)	/* network order; both targets are little endian */
CUR_DEFINE(u32be, uint32_t, __builtin_bswap32)
CUR_DEFINE(u64be, uint64_t, __builtin_bswap64)
#undef CUR_DEFINE

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "cursor.h swaps unconditionally");

/* The byte at @off from the position, without moving; 0 beyond the end (the cursor stays good). */
static inline uint8_t cur_peek(const struct cursor *c, size_t off)
{
	return cur_left(c) > off ? c->pos[off] : 0;
}

#endif
