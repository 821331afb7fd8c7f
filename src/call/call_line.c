// SPDX-License-Identifier: GPL-2.0-or-later
#include "call/call_line.h"

#include <string.h>
#include <strings.h>

bool call_line_take(struct cursor *c, struct call_line *ret)
{
	size_t left = cur_left(c);
	const uint8_t *end = left ? memchr(c->pos, '\n', left) : NULL;
	size_t len;

	if (!end)
		return false;
	len = (size_t)(end - c->pos);
	*ret = (struct call_line){ .at = cur_bytes(c, len + 1), .len = len };
	if (len && ret->at[len - 1] == '\r')
		ret->len--;
	return true;
}

struct call_line call_line_word(struct call_line *l, char end)
{
	const char *stop = l->len ? memchr(l->at, end, l->len) : NULL;
	struct call_line word = { .at = l->at, .len = stop ? (size_t)(stop - l->at) : l->len };
	size_t taken = word.len + (stop ? 1 : 0);

	l->at += taken;
	l->len -= taken;
	return word;
}

struct call_line call_line_trim(struct call_line l)
{
	for (; l.len && (l.at[0] == ' ' || l.at[0] == '\t'); l.at++)
		l.len--;
	for (; l.len && (l.at[l.len - 1] == ' ' || l.at[l.len - 1] == '\t');)
		l.len--;
	return l;
}

bool call_line_begins(const struct call_line *l, const char *word)
{
	size_t len = strlen(word);

	return l->len >= len && strncasecmp(l->at, word, len) == 0;
}

bool call_line_is(const struct call_line *l, const char *word)
{
	return l->len == strlen(word) && call_line_begins(l, word);
}

bool call_line_has_token(struct call_line list, const char *word)
{
	while (list.len) {
		struct call_line one = call_line_trim(call_line_word(&list, ','));

		if (call_line_is(&one, word))
			return true;
	}
	return false;
}

static unsigned digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : UINT32_MAX;
}

bool call_line_number(const struct call_line *l, unsigned base, uint64_t *ret)
{
	uint64_t v = 0;

	if (!l->len || l->len > (base == 16 ? 15 : 18))
		return false;
	for (size_t i = 0; i < l->len; i++) {
		if (digit(l->at[i]) >= base)
			return false;
		v = v * base + digit(l->at[i]);
	}
	*ret = v;
	return true;
}
