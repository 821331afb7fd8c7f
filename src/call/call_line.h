/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of text protocols.
 */
#ifndef CALL_CALL_LINE_H
#define CALL_CALL_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"

/* Part of a line; not terminated. */
struct call_line {
	const char *at;
	size_t len;
};

/* Takes a line that ends with LF or CRLF, which is left out. False if the end is missing; @c stays. */
bool call_line_take(struct cursor *c, struct call_line *ret);

/* Takes a word up to @end from the line, and the @end behind it; the whole line if there is none. */
struct call_line call_line_word(struct call_line *l, char end);

struct call_line call_line_trim(struct call_line l);	/* of blanks and tabs */

bool call_line_is(const struct call_line *l, const char *word);		/* case of ASCII letters ignored */
bool call_line_begins(const struct call_line *l, const char *word);	/* same */
bool call_line_has_token(struct call_line list, const char *word);	/* "a, b"; same */

/* Digits only, at most 18 of base 10 or 15 of base 16. */
bool call_line_number(const struct call_line *l, unsigned base, uint64_t *ret);

#endif
