/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Strings: the escape layer and strict number parsing.
 *
 * Everything that came from outside (a comm, a path, a header, a packet) passes str_escape() on its
 * way to a terminal or a log: no raw control byte, no bidirectional override and no invalid UTF-8
 * ever gets through.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/*
 * Writes @len bytes of @src to @dst as printable UTF-8, NUL-terminated and cut to @cap at a
 * character boundary. C0, C1, DEL, line and paragraph separators, bidi controls and bytes that are
 * not valid UTF-8 become \n, \t, \r, \e, \\ or \xNN per byte. Returns the length written.
 */
size_t str_escape(char *dst, size_t cap, const char *src, size_t len);

/* The same, appended to @b. Returns 0 or -ENOMEM. */
int str_escape_buf(struct buf *b, const char *src, size_t len);

/* True if every byte of the string is printable as it is, that is if str_escape() would copy it. */
bool str_is_plain(const char *src, size_t len);

/*
 * The whole of @s as a number; base 0 takes 0x and 0. Leading blanks, signs and trailing text are
 * refused. Returns 0, -EINVAL or -ERANGE.
 */
int str_to_u64(const char *s, int base, uint64_t *ret);
int str_to_u32(const char *s, int base, uint32_t *ret);

/* "10ms", "2s", "5m", "1h", "500us", "100ns"; a bare number is seconds (fractions allowed). */
int str_to_duration_ns(const char *s, uint64_t *ret);

/* "4096", "64k", "8M", "1G" (powers of 1024). */
int str_to_bytes(const char *s, uint64_t *ret);

/*
 * How many typing slips (a letter too many, missing, wrong, two swapped) lie between two short words; for
 * suggestions. UINT_MAX when either is longer than 64 bytes.
 */
unsigned str_distance(const char *a, const char *b);

/*
 * The word of a list that is nearest to @word, a word of the command line: what it begins, or at most two slips away
 * (one in short words). Set word, then offer the list; best stays NULL when nothing is near.
 */
struct str_near {
	const char *word;
	const char *best;
	unsigned slips;		/* of best */
};
void str_near_offer(struct str_near *n, const char *candidate);

/* Number of bytes of the UTF-8 character at @s (1..4), or 0 if it is not valid. */
size_t str_utf8_len(const char *s, size_t len);

#endif
