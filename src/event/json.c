// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/json.h"

#include "base/str.h"

void json_open(struct json *j, char bracket)
{
	json_element(j);
	buf_add_char(j->out, bracket);
	j->comma = false;
}

void json_close(struct json *j, char bracket)
{
	buf_add_char(j->out, bracket);
	j->comma = true;
}

void json_u64(struct json *j, uint64_t v)
{
	json_element(j);
	buf_add_u64(j->out, v);
}

void json_i64(struct json *j, int64_t v)
{
	json_element(j);
	buf_add_i64(j->out, v);
}

void json_bool(struct json *j, bool v)
{
	json_element(j);
	buf_add_str(j->out, v ? "true" : "false");
}

void json_str(struct json *j, const char *s, size_t len)
{
	json_element(j);
	json_string(j->out, s, len);
}

/* Escapes one byte below 0x80. */
static void escape_ascii(struct buf *out, char c)
{
	static const char short_form[] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\',
	};

	if ((size_t)c < sizeof(short_form) && short_form[(size_t)c]) {
		buf_add_char(out, '\\');
		buf_add_char(out, short_form[(size_t)c]);
	} else {
		buf_printf(out, "\\u%04x", (unsigned)c);
	}
}

int json_string(struct buf *out, const char *s, size_t len)
{
	buf_add_char(out, '"');
	while (len) {
		size_t n = str_plain_span(s, len, '"'), used = n;

		if (n) {
			buf_add(out, s, n);
		} else if ((unsigned char)s[0] < 0x80) {
			used = 1;
			escape_ascii(out, s[0]);
		} else if (str_is_plain(s, n = str_utf8_len(s, len)) && n) {
			used = n;
			buf_add(out, s, n);
		} else if (n == 2 || n == 3) {
			/* Valid UTF-8, but C1 and bidi characters control terminals: escape them. */
			unsigned c = n == 2 ? (unsigned)(s[0] & 0x1f) << 6 | (s[1] & 0x3f) :
				     (unsigned)(s[0] & 0x0f) << 12 | (unsigned)(s[1] & 0x3f) << 6 | (s[2] & 0x3f);

			used = n;
			buf_printf(out, "\\u%04x", c);
		} else {
			used = 1;
			buf_add_str(out, "\\ufffd");
		}
		s += used;
		len -= used;
	}
	return buf_add_char(out, '"');
}
