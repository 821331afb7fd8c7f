// SPDX-License-Identifier: GPL-2.0-or-later
#include "call/call_group.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"

#define HEX_MIN 8 /* bytes; shorter ones are words as often as ids */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_id(const char *s, size_t len)
{
	size_t digits = 0, hex = 0, dashes = 0;

	for (size_t i = 0; i < len; i++) {
		digits += is_digit(s[i]);
		hex += is_hex(s[i]);
		dashes += s[i] == '-';
	}
	return digits && (digits == len || (len >= HEX_MIN && hex + dashes == len));
}

static size_t segment_len(const char *text, size_t len, const char *separators)
{
	size_t n = 0;

	while (n < len && !(text[n] && strchr(separators, text[n])))
		n++;
	return n;
}

void call_group_add(struct buf *out, const char *text, size_t len, const char *separators)
{
	while (len) {
		size_t n = segment_len(text, len, separators);

		if (is_id(text, n))
			buf_add_char(out, '_');
		else
			buf_add(out, text, n);
		if (n < len)
			buf_add_char(out, text[n++]);
		text += n;
		len -= n;
	}
}
