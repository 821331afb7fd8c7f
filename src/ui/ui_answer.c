// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/ui_answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"

void ui_answer_fini(struct ui_answer *a)
{
	buf_fini(&a->body);
}

void ui_answer_put_string(struct json *j, const char *s, size_t len)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	if (str_plain_span(s, len, '"') == len) {
		json_str(j, s, len);
		return;
	}
	str_escape_buf(&b, s, len);
	json_str(j, buf_error(&b) ? "" : b.data, buf_error(&b) ? 0 : b.len);
}

void ui_answer_put_text(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	ui_answer_put_string(j, s, strlen(s));
}

void ui_answer_put_time(struct json *j, const char *key, uint64_t ns)
{
	char text[24];

	if (key)
		json_key(j, key);
	json_str(j, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, ns));
}

void ui_answer_error(struct ui_answer *a, unsigned status, const char *text)
{
	struct json j = { .out = &a->body };

	buf_reset(&a->body);
	a->status = status;
	a->columns = false;
	json_open(&j, '{');
	json_key(&j, "error");
	ui_answer_put_string(&j, text, strcspn(text, "\n"));
	json_close(&j, '}');
}

void ui_answer_fail(struct ui_answer *a, int error, const struct err *err, const char *q)
{
	const char *text = err && err->code ? err->msg : strerror(-error);
	unsigned status = error == -EINVAL ? 400 : error == -ENOENT ? 404 : error == -E2BIG ? 414 : 503;

	if (error == -ENOMEM)
		text = "the request needs more than 64 MB: narrow the range";
	ui_answer_error(a, status, text);
	if (error == -EINVAL && q && a->body.len && ui_answer_offset(q, text) != SIZE_MAX) {
		a->body.len--; /* the bracket */
		buf_printf(&a->body, ",\"offset\":%zu}", ui_answer_offset(q, text));
	}
}

/* The message shows a part of the text, then a line with the caret. */
size_t ui_answer_offset(const char *q, const char *msg)
{
	const char *excerpt = strchr(msg, '\n'), *caret = excerpt ? strchr(excerpt + 1, '\n') : NULL;
	size_t column, from = 0;

	if (!caret)
		return SIZE_MAX;
	column = strspn(caret + 1, " ");
	if (!strncmp(++excerpt, "...", 3) && strncmp(q, "...", 3) != 0) {
		size_t len = MIN((size_t)(caret - excerpt) - 3, (size_t)20);

		for (const char *p = q; *p; p++)
			if (!strncmp(p, excerpt + 3, len)) {
				from = (size_t)(p - q);
				break;
			}
		column -= MIN(column, (size_t)3);
	}
	return MIN(from + column, strlen(q));
}

/* Bytes of a bidirectional control at @s: U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069; else 0. */
static size_t bidi_len(const unsigned char *s, size_t len)
{
	if (len >= 2 && s[0] == 0xd8 && s[1] == 0x9c)
		return 2;
	if (len < 3 || s[0] != 0xe2)
		return 0;
	if (s[1] == 0x80 && (s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xaa && s[2] <= 0xae)))
		return 3;
	return s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9 ? 3 : 0;
}

int ui_answer_plain(struct buf *b, size_t from)
{
	_cleanup_(buf_fini) struct buf out = { 0 };
	const unsigned char *s = (const unsigned char *)b->data;
	size_t n = 0;

	for (size_t i = from; i < b->len; i++)
		n += bidi_len(s + i, b->len - i) > 0;
	if (!n || buf_error(b))
		return buf_error(b);
	for (size_t i = from; i < b->len;) {
		size_t len = bidi_len(s + i, b->len - i);

		for (size_t k = 0; k < len; k++)
			buf_printf(&out, "\\\\x%02x", s[i + k]);
		if (!len)
			buf_add_char(&out, b->data[i]);
		i += len ? len : 1;
	}
	b->len = from;
	return buf_add(b, out.data, out.len) < 0 ? -ENOMEM : buf_error(&out);
}
