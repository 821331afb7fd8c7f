/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LEB128, integers of variable length (DWARF 5, 7.6). Bits beyond 64 are dropped.
 */
#ifndef ELF_LEB_H
#define ELF_LEB_H

#include "base/cursor.h"

/* The value, its number of bits (at most 64) and its last byte. */
static inline uint64_t cur_leb_bits(struct cursor *c, unsigned *ret_bits, uint8_t *ret_last)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;

	do {
		b = cur_u8(c);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift = shift < 64 ? shift + 7 : shift;
	} while (b & 0x80);
	*ret_bits = shift;
	*ret_last = b;
	return v;
}

static inline uint64_t cur_uleb(struct cursor *c)
{
	unsigned bits;
	uint8_t last;

	return cur_leb_bits(c, &bits, &last);
}

static inline int64_t cur_sleb(struct cursor *c)
{
	unsigned shift;
	uint8_t last;
	uint64_t v = cur_leb_bits(c, &shift, &last);

	if (shift < 64 && last & 0x40)
		v |= UINT64_MAX << shift;
	return (int64_t)v;
}

#endif
