// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Error messages of the filter language: a sentence, an excerpt with a caret, and the nearest known name. The text
 * comes from the user and is escaped for the terminal.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/filter/filter_error.h"
#include "event/filter/filter_lex.h"

#define EXCERPT_BEFORE 60	/* bytes of text shown on each side of the caret */
#define EXCERPT_AFTER 60

/* One character per column; control and unprintable characters become "?". */
static void add_excerpt(struct buf *out, const char *s, size_t from, size_t to)
{
	while (from < to) {
		size_t n = str_utf8_len(s + from, to - from);

		if (n && str_is_plain(s + from, n))
			buf_add(out, s + from, n);
		else
			buf_add_char(out, s[from] == '\\' ? '\\' : strchr("\t\r\n", s[from]) ? ' ' : '?');
		from += n ? n : 1;
	}
}

static size_t columns(const char *s, size_t from, size_t to)
{
	size_t n = 0, len;

	for (; from < to; from += len ? len : 1, n++)
		len = str_utf8_len(s + from, to - from);
	return n;
}

/* Moves back to the start of a character. */
static size_t char_start(const char *s, size_t pos)
{
	while (pos && ((unsigned char)s[pos] & 0xc0) == 0x80)
		pos--;
	return pos;
}

/* Excerpt around [@pos, @pos + @len) and a line with carets under it. */
static void add_caret(struct buf *out, const char *s, size_t pos, size_t len)
{
	size_t from = pos > EXCERPT_BEFORE ? char_start(s, pos - EXCERPT_BEFORE) : 0, end = strlen(s);
	size_t to = end - pos > EXCERPT_AFTER ? char_start(s, pos + EXCERPT_AFTER) : end;
	size_t indent = columns(s, from, pos) + (from ? 3 : 0), tail;

	buf_add_str(out, from ? "\n..." : "\n");
	add_excerpt(out, s, from, to);
	buf_add_str(out, to < end ? "...\n" : "\n");
	while (indent--)
		buf_add_char(out, ' ');
	buf_add_char(out, '^');
	tail = columns(s, pos, MIN(pos + len, to));
	while (tail-- > 1)
		buf_add_char(out, '~');
}

int filter_error_fail(struct err *err, const char *text, const struct token *at, struct buf *message)
{
	add_caret(message, text, at->pos, at->len);
	if (buf_error(message))
		return err_set(err, -ENOMEM, "not enough memory for the filter");
	return err_set(err, -EINVAL, "%s", buf_str(message));
}

void filter_error_add_quoted(struct buf *out, const char *s, size_t len)
{
	char text[64];

	str_escape(text, sizeof(text), s, MIN(len, (size_t)48));
	buf_printf(out, "\"%s%s\"", text, len > 48 ? "..." : "");
}

struct filter_suggestion filter_error_suggestion(const char *name, size_t len)
{
	struct filter_suggestion s = { .len = len };

	if (len < sizeof(s.name))
		memcpy(s.name, name, len);
	return s;
}

void filter_error_suggest(struct filter_suggestion *s, const char *candidate)
{
	unsigned limit = s->len < 4 ? 1 : s->len < 8 ? 2 : 3, d = str_distance(s->name, candidate);
	const char *dot = strchr(candidate, '.');

	if (dot && !strcmp(dot + 1, s->name))
		d = 1; /* only the prefix before the dot is missing */
	if (!s->name[0] || d > limit || (s->best && d >= s->distance))
		return;
	s->best = candidate;
	s->distance = d;
}

void filter_error_add_suggestion(struct buf *out, const struct filter_suggestion *s)
{
	if (s->best)
		buf_printf(out, "; did you mean %s?", s->best);
}
