// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lexer of the filter language: words, quoted strings, operators.
 */
#include <string.h>

#include "base/arena.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/filter/filter_lex.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool ends_word(char c)
{
	return !c || is_blank(c) || strchr("(),'\"=!<>", c);
}

static struct token lex_op(const char *s, size_t pos)
{
	static const struct { const char *text; enum filter_op op; } ops[] = {
		{ "==", FILTER_EQ }, { "=", FILTER_EQ }, { "!=", FILTER_NE }, { "<=", FILTER_LE }, { "<", FILTER_LT },
		{ ">=", FILTER_GE }, { ">", FILTER_GT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		size_t len = strlen(ops[i].text);

		if (!strncmp(s + pos, ops[i].text, len))
			return (struct token){ .kind = TOKEN_OP, .pos = pos, .len = len, .op = ops[i].op };
	}
	return (struct token){ .kind = TOKEN_BAD, .pos = pos, .len = 1,
			       .problem = "\"!\" is not an operator; use not" };
}

static struct token lex_string(const char *s, size_t pos)
{
	size_t end = pos + 1;

	while (s[end] && s[end] != s[pos])
		end += s[end] == '\\' && s[end + 1] ? 2 : 1;
	if (!s[end])
		return (struct token){ .kind = TOKEN_BAD, .pos = pos, .len = end - pos,
				       .problem = "unterminated quote" };
	return (struct token){ .kind = TOKEN_STRING, .pos = pos, .len = end + 1 - pos };
}

struct token filter_lex(const char *s, size_t pos)
{
	size_t end;

	while (is_blank(s[pos]))
		pos++;
	switch (s[pos]) {
	case '\0': return (struct token){ .kind = TOKEN_END, .pos = pos };
	case '(': return (struct token){ .kind = TOKEN_OPEN, .pos = pos, .len = 1 };
	case ')': return (struct token){ .kind = TOKEN_CLOSE, .pos = pos, .len = 1 };
	case ',': return (struct token){ .kind = TOKEN_COMMA, .pos = pos, .len = 1 };
	case '\'':
	case '"': return lex_string(s, pos);
	case '=':
	case '!':
	case '<':
	case '>': return lex_op(s, pos);
	}
	for (end = pos; !ends_word(s[end]); end++)
		;
	return (struct token){ .kind = TOKEN_WORD, .pos = pos, .len = end - pos };
}

/* Resolves one escape sequence; an unknown one stays literal, backslash included. */
static size_t unescape(const char *s, char *out, size_t *out_len)
{
	static const char from[] = "\\\"'ntre", to[] = "\\\"'\n\t\r\x1b";
	const char *known = s[1] ? strchr(from, s[1]) : NULL;

	if (known) {
		out[(*out_len)++] = to[known - from];
		return 2;
	}
	if (s[1] == 'x' && str_hex_digit(s[2]) >= 0 && str_hex_digit(s[3]) >= 0) {
		out[(*out_len)++] = (char)(str_hex_digit(s[2]) << 4 | str_hex_digit(s[3]));
		return 4;
	}
	out[(*out_len)++] = s[0];
	return 1;
}

const char *filter_lex_value(const char *text, const struct token *t, struct arena *a, size_t *ret_len)
{
	const char *s = text + t->pos + 1, *end = text + t->pos + t->len - 1;
	char *out;

	if (t->kind == TOKEN_WORD) {
		*ret_len = t->len;
		return arena_copy(a, text + t->pos, t->len);
	}
	out = arena_alloc(a, t->len);
	*ret_len = 0;
	while (out && s < end) {
		if (*s == '\\')
			s += unescape(s, out, ret_len);
		else
			out[(*ret_len)++] = *s++;
	}
	return out;
}

bool filter_lex_is_bare(const char *s, size_t len)
{
	static const char *const reserved[] = { "and", "or", "not", "in", "exists" };

	for (size_t i = 0; i < len; i++)
		if (ends_word(s[i]) || (unsigned char)s[i] <= 0x20 || (unsigned char)s[i] >= 0x7f || s[i] == '\\')
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
		if (strlen(reserved[i]) == len && !memcmp(reserved[i], s, len))
			return false;
	return len > 0;
}
