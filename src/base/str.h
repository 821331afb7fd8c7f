/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Strings: escaping, strict number parsing, suggestions.
 *
 * Untrusted text (a comm, a path, a header, a packet) passes str_escape() on its way to a terminal or a log, so that
 * control bytes, bidirectional overrides and invalid UTF-8 are never printed.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buf;

/*
 * Writes @len bytes of @src to @dst as printable UTF-8, NUL-terminated, truncated to @cap at a character boundary.
 * C0, C1, DEL, line and paragraph separators, bidi controls and invalid UTF-8 become \n, \t, \r, \e, \\ or \xNN per
 * byte. Returns the length written.
 */
size_t str_escape(char *dst, size_t cap, const char *src, size_t len);

/* Appends the escaped text to @b. 0 or -ENOMEM. */
int str_escape_buf(struct buf *b, const char *src, size_t len);

/* @len bytes of @src as a C string in @dst; false if they and the NUL do not fit in @cap. */
static inline bool str_copy(char *dst, size_t cap, const char *src, size_t len)
{
	if (len >= cap)
		return false;
	memcpy(dst, src, len);
	dst[len] = '\0';
	return true;
}

/* Is the text of @len bytes the word? NULL is none. */
static inline bool str_is(const char *text, size_t len, const char *word)
{
	return text && len == strlen(word) && !memcmp(text, word, len);
}

/* Value of a hex digit; -1 if it is none. */
static inline int str_hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* Appends the text with each %XX as its byte, NUL included; a % without two hex digits stays. 0 or -ENOMEM. */
int str_percent_decode(struct buf *b, const char *src, size_t len);

/* Are all eight bytes of @word printable ASCII and none @but? */
static inline bool str_word_is_plain(uint64_t word, char but)
{
	const uint64_t ones = 0x0101010101010101, high = ones << 7, other = word ^ ones * (unsigned char)but;

	return !(((word - ones * 0x20) | word | (word + ones) | ((other - ones) & ~other)) & high);
}

/* Number of leading bytes that are printable ASCII, but the backslash and @but. Usually all of them. */
size_t str_plain_span(const char *s, size_t len, char but);

/* True if str_escape() would copy the string unchanged. */
bool str_is_plain(const char *src, size_t len);

/*
 * Converts all of @s; base 0 accepts the prefixes 0x and 0. Refuses leading blanks, signs and trailing text. 0,
 * -EINVAL or -ERANGE.
 */
int str_to_u64(const char *s, int base, uint64_t *ret);
int str_to_u32(const char *s, int base, uint32_t *ret);

/* "10ms", "2s", "5m", "1h", "500us", "100ns"; a bare number is seconds (fractions allowed). */
int str_to_duration_ns(const char *s, uint64_t *ret);

/* "4096", "64k", "8M", "1G" (powers of 1024). */
int str_to_bytes(const char *s, uint64_t *ret);

/* The next word of a comma-separated list, which *list moves past; *ret_len its length. NULL at the end. */
const char *str_next_word(const char **list, size_t *ret_len);

/*
 * Edit distance of two short words: letters inserted, deleted or replaced, neighbours swapped. UINT_MAX if a word is
 * longer than 64 bytes.
 */
unsigned str_distance(const char *a, const char *b);

/*
 * Finds the candidate nearest to a misspelt word of the command line: a word that it abbreviates, or a word at a
 * distance of at most two (one for short words). Set word, then offer the candidates; best stays NULL if none is
 * near.
 */
struct str_near {
	const char *word;
	const char *best;
	unsigned distance;	/* str_distance() of best */
};
void str_near_offer(struct str_near *n, const char *candidate);

/* Bytes of the UTF-8 character at @s (1..4), or 0 if it is invalid. */
size_t str_utf8_len(const char *s, size_t len);

#endif
