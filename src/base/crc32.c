// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CRC-32 of ISO 3309. The checksum is linear, so a block of 16 bytes can be multiplied to the place of the next one
 * and added there ("folding", Intel's white paper 323102); PCLMULQDQ is that multiplication. A table does the rest,
 * and all on other machines. Records are short: zlib's tables need 210 ns for one of 152 bytes, folding 20.
 */
#include "base/crc32.h"

#define POLY 0xedb88320u	/* bits reversed, as the sum counts them */

/* The sum of byte @i is the XOR of those of its bits. */
#define ROW(i, bit, sum) ((i) & (1u << (bit)) ? (sum) : 0u)
#define SUM(i) \
	(ROW(i, 0, 0x77073096u) ^ ROW(i, 1, 0xee0e612cu) ^ ROW(i, 2, 0x076dc419u) ^ ROW(i, 3, 0x0edb8832u) ^ \
	 ROW(i, 4, 0x1db71064u) ^ ROW(i, 5, 0x3b6e20c8u) ^ ROW(i, 6, 0x76dc4190u) ^ ROW(i, 7, POLY))
#define SUMS4(i) SUM(i), SUM((i) + 1), SUM((i) + 2), SUM((i) + 3)
#define SUMS16(i) SUMS4(i), SUMS4((i) + 4), SUMS4((i) + 8), SUMS4((i) + 12)
#define SUMS64(i) SUMS16(i), SUMS16((i) + 16), SUMS16((i) + 32), SUMS16((i) + 48)

static const uint32_t sums[256] = { SUMS64(0), SUMS64(64), SUMS64(128), SUMS64(192) };

static uint32_t by_table(uint32_t crc, const uint8_t *p, size_t len)
{
	while (len--)
		crc = crc >> 8 ^ sums[(crc ^ *p++) & 0xff];
	return crc;
}

#if defined(__x86_64__)
#include <immintrin.h>

/* x^N mod P, bits reversed: N = 544, 480 (four blocks on), 160, 96 (the next block), 64; P and floor(x^64 / P) */
static const uint64_t fold_by_4[2] = { 0x154442bd4, 0x1c6e41596 }, fold_by[2] = { 0x1751997d0, 0x0ccaa009e };
static const uint64_t last_fold = 0x163cd6124, reduce_by[2] = { 0x1db710641, 0x1f7011641 };

/* A shuffle by the 16 bytes from [n] moves a block up by 16 - n bytes, with zeros below. */
static const uint8_t shift[32] = {
	[0 ... 15] = 0x80, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
};

__attribute__((target("pclmul,sse4.1")))
static uint32_t reduce(__m128i x)
{
	const __m128i low = _mm_set_epi32(0, 0, 0, -1), by = _mm_loadu_si128((const void *)reduce_by);
	__m128i t = _mm_clmulepi64_si128(x, _mm_loadu_si128((const void *)fold_by), 0x10);

	x = _mm_xor_si128(t, _mm_srli_si128(x, 8));
	t = _mm_clmulepi64_si128(_mm_and_si128(x, low), _mm_cvtsi64_si128((long long)last_fold), 0);
	x = _mm_xor_si128(t, _mm_srli_si128(x, 4));
	t = _mm_clmulepi64_si128(_mm_and_si128(x, low), by, 0x10);
	t = _mm_clmulepi64_si128(_mm_and_si128(t, low), by, 0x00);
	return (uint32_t)_mm_extract_epi32(_mm_xor_si128(x, t), 1);
}

/* @x at the place of @next, added. */
__attribute__((target("pclmul,sse4.1")))
static inline __m128i fold(__m128i x, __m128i by, __m128i next)
{
	return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(x, by, 0x00), next),
			     _mm_clmulepi64_si128(x, by, 0x11));
}

__attribute__((target("pclmul,sse4.1")))
static inline __m128i load(const uint8_t *p)
{
	return _mm_loadu_si128((const void *)p);
}

/* The block @x and 48 + 64 n bytes after it, four blocks at a time: their products do not wait for each other. */
__attribute__((target("pclmul,sse4.1")))
static inline __m128i by_4_folds(__m128i x, const uint8_t *p, size_t n)
{
	const __m128i by = load((const void *)fold_by), by_4 = load((const void *)fold_by_4);
	__m128i b = load(p), c = load(p + 16), d = load(p + 32);

	for (p += 48; n; n--, p += 64) {
		x = fold(x, by_4, load(p));
		b = fold(b, by_4, load(p + 16));
		c = fold(c, by_4, load(p + 32));
		d = fold(d, by_4, load(p + 48));
	}
	return fold(fold(fold(x, by, b), by, c), by, d);
}

/* @len >= 16. The bytes beyond whole blocks go first, in a block with zeros in front, which do not count. */
__attribute__((target("pclmul,sse4.1")))
static uint32_t by_folds(uint32_t crc, const uint8_t *p, size_t len)
{
	const __m128i by = load((const void *)fold_by);
	const size_t odd = len % 16, at = odd ? odd : 16;
	size_t turns;
	__m128i x = _mm_xor_si128(load(p), _mm_cvtsi32_si128((int)crc));

	len -= at;
	if (odd)
		x = _mm_shuffle_epi8(x, load(&shift[odd]));
	if (odd && odd < 4) {	/* the rest of @crc is in the next block */
		x = fold(x, by, _mm_xor_si128(load(p + at), _mm_cvtsi32_si128((int)(crc >> 8 * odd))));
		p += 16;
		len -= 16;
	}
	p += at;
	turns = len >= 48 ? (len - 48) / 64 : 0;
	if (turns) {
		x = by_4_folds(x, p, turns);
		p += 48 + 64 * turns;
		len -= 48 + 64 * turns;
	}
	for (; len; p += 16, len -= 16)
		x = fold(x, by, load(p));
	return reduce(x);
}

static uint32_t by_blocks(uint32_t crc, const uint8_t *p, size_t len)
{
	if (len >= 16 && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1"))
		return by_folds(crc, p, len);
	return by_table(crc, p, len);
}
#else
#define by_blocks by_table
#endif

uint32_t crc32_add(uint32_t crc, const void *data, size_t len)
{
	return ~by_blocks(~crc, data, len);
}
