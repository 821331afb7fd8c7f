/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words of a rule file, with their places. A word is what stands between blanks, commas and ends of lines; one in
 * quotation marks may hold blanks, commas and #. What follows # is a comment.
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
	const char *text;		/* of a word: in the file's memory, quotation marks left out */
	size_t len;
	bool quoted;
};

struct policy_lex {
	struct cursor c;
	const uint8_t *line_start;
	uint32_t line;
	struct policy_token at;		/* the token at hand */
	const char *end;		/* behind the word before it */
};

/* Reads the first token. */
int policy_lex_init(struct policy_lex *l, const char *text, size_t len, struct err *err);
/* Goes on to the next; -EINVAL with "LINE:COLUMN: sentence". */
int policy_lex_next(struct policy_lex *l, struct err *err);

bool policy_token_is(const struct policy_token *t, const char *word);

/* "LINE:COLUMN: " and the sentence, with @t in front as it can be shown. Returns -EINVAL. */
int policy_wrong(const struct policy_token *t, struct err *err, const char *fmt, ...) _printf_(3, 4);

#endif
