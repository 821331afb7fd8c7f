/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tokens of the filter language.
 */
#ifndef EVENT_FILTER_LEX_H
#define EVENT_FILTER_LEX_H

#include <stdbool.h>
#include <stddef.h>

#include "event/filter/filter.h"

struct arena;

enum token_kind {
	TOKEN_END, TOKEN_WORD, TOKEN_STRING, TOKEN_OPEN, TOKEN_CLOSE, TOKEN_COMMA, TOKEN_OP, TOKEN_BAD,
	TOKEN__MAX,
};

struct token {
	enum token_kind kind;
	size_t pos, len;	/* bytes in the text, quotes included */
	enum filter_op op;	/* TOKEN_OP */
	const char *problem;	/* TOKEN_BAD: start of the message */
};

#define FILTER_TEXT_MAX (64u << 10)

/* First token at or after @pos. */
struct token filter_lex(const char *text, size_t pos);

/* Value of a TOKEN_WORD or TOKEN_STRING with escapes resolved, in @a. NULL on -ENOMEM. */
const char *filter_lex_value(const char *text, const struct token *t, struct arena *a, size_t *ret_len);

/* Does @s need no quotes? */
bool filter_lex_is_bare(const char *s, size_t len);

#endif
