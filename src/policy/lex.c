// SPDX-License-Identifier: GPL-2.0-or-later
#include "policy/lex.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

int policy_lex_error(const struct policy_token *t, struct err *err, const char *fmt, ...)
{
	char word[64] = "", message[320];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	if (t->kind == POLICY_WORD)
		str_escape(word, sizeof(word), t->text, t->len);
	return err_set(err, -EINVAL, "%u:%u: %s%s%s", t->line, t->column, word, *word ? ": " : "", message);
}

bool policy_lex_token_is(const struct policy_token *t, const char *word)
{
	return t->kind == POLICY_WORD && !t->quoted && t->len == strlen(word) && !memcmp(t->text, word, t->len);
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool ends_word(uint8_t c)
{
	return is_blank(c) || c == '\n' || c == ',' || c == '#' || c == '"';
}

static void skip_blanks(struct policy_lex *l)
{
	while (cur_left(&l->c) && is_blank(cur_peek(&l->c, 0)))
		cur_skip(&l->c, 1);
	if (cur_left(&l->c) && cur_peek(&l->c, 0) == '#')
		while (cur_left(&l->c) && cur_peek(&l->c, 0) != '\n')
			cur_skip(&l->c, 1);
}

static int check_bytes(const struct policy_token *t, struct err *err)
{
	for (size_t i = 0; i < t->len; i++)
		if ((uint8_t)t->text[i] < ' ' || t->text[i] == 0x7f)
			return policy_lex_error(t, err, "a control character cannot be part of a word");
	return 0;
}

static int read_word(struct policy_lex *l, struct err *err)
{
	struct policy_token *t = &l->token;

	t->kind = POLICY_WORD;
	t->quoted = cur_peek(&l->c, 0) == '"';
	if (t->quoted)
		cur_skip(&l->c, 1);
	t->text = (const char *)l->c.pos;
	while (cur_left(&l->c)) {
		uint8_t c = cur_peek(&l->c, 0);

		if (t->quoted ? c == '"' || c == '\n' : ends_word(c))
			break;
		cur_skip(&l->c, 1);
	}
	t->len = (size_t)((const char *)l->c.pos - t->text);
	if (t->quoted && (!cur_left(&l->c) || cur_peek(&l->c, 0) != '"'))
		return policy_lex_error(t, err, "the quotation mark is not closed on this line");
	if (t->quoted)
		cur_skip(&l->c, 1);
	return check_bytes(t, err);
}

int policy_lex_next(struct policy_lex *l, struct err *err)
{
	if (l->token.kind == POLICY_WORD)
		l->end = (const char *)l->c.pos;
	if (l->token.kind == POLICY_EOL) {
		l->line++;
		l->line_start = l->c.pos;
	}
	skip_blanks(l);
	l->token = (struct policy_token){
		.kind = POLICY_EOF, .line = l->line, .column = (uint32_t)(l->c.pos - l->line_start) + 1,
	};
	if (!cur_left(&l->c))
		return 0;
	switch (cur_peek(&l->c, 0)) {
	case '\n':
		l->token.kind = POLICY_EOL;
		cur_skip(&l->c, 1);
		return 0;
	case ',':
		l->token.kind = POLICY_COMMA;
		cur_skip(&l->c, 1);
		return 0;
	default:
		return read_word(l, err);
	}
}

int policy_lex_init(struct policy_lex *l, const char *text, size_t len, struct err *err)
{
	*l = (struct policy_lex){ .c = cur_init(text, len), .line = 1, .token.kind = POLICY_EOF };
	l->line_start = l->c.pos;
	return policy_lex_next(l, err);
}
