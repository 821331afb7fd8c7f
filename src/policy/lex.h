/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Splits a rule file into tokens with their line and column. Blanks, commas and ends of lines separate words; a word
 * in quotation marks may contain blanks, commas and #. A comment reaches from # to the end of the line.
 */
#ifndef POLICY_LEX_H
#define POLICY_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/macros.h"

struct err;

enum policy_token_kind { POLICY_WORD, POLICY_COMMA, POLICY_EOL, POLICY_EOF, POLICY_TOKEN__MAX };

struct policy_token {
	enum policy_token_kind kind;
	uint32_t line, column;		/* from 1; columns are bytes */
	const char *text;		/* of a word: points into the file, without quotation marks */
	size_t len;
	bool quoted;
};

struct policy_lex {
	struct cursor c;
	const uint8_t *line_start;
	uint32_t line;
	struct policy_token token;	/* current */
	const char *end;		/* of the previous word */
};

/* Reads the first token. */
int policy_lex_init(struct policy_lex *l, const char *text, size_t len, struct err *err);
/* Reads the next token; -EINVAL with "LINE:COLUMN: message". */
int policy_lex_next(struct policy_lex *l, struct err *err);

bool policy_lex_token_is(const struct policy_token *t, const char *word);

/* Sets @err to "LINE:COLUMN: WORD: message", with the word of @t escaped. Returns -EINVAL. */
int policy_lex_error(const struct policy_token *t, struct err *err, const char *fmt, ...) _printf_(3, 4);

#endif
