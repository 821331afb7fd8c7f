/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The checksum of recordings: CRC-32 as in ISO 3309 and zlib.
 */
#ifndef BASE_CRC32_H
#define BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* The sum of the bytes that gave @crc (0: none) and of @len bytes at @data after them. */
uint32_t crc32_add(uint32_t crc, const void *data, size_t len);

/* The sum of @number and of the bytes after it: a record follows its length, often that of the one before. */
struct crc32_prefix { uint32_t number, sum; };

static inline uint32_t crc32_prefixed(struct crc32_prefix *p, uint32_t number, const void *data, size_t len)
{
	if (p->number != number || !p->sum)
		*p = (struct crc32_prefix){ number, crc32_add(0, &number, sizeof(number)) };
	return crc32_add(p->sum, data, len);
}

#endif
