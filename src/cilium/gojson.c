// SPDX-License-Identifier: GPL-2.0-or-later
#include "cilium/gojson.h"

#include "base/buf.h"
#include "base/str.h"

void gojson_string(struct buf *out, const char *s, size_t len)
{
	buf_add_char(out, '"');
	for (size_t i = 0, n; i < len; i += n) {
		unsigned char c = (unsigned char)s[i];

		n = str_utf8_len(s + i, len - i);
		if (!n) {
			buf_add_str(out, "\\ufffd");
			n = 1;
		} else if (c == '"' || c == '\\') {
			buf_printf(out, "\\%c", c);
		} else if (c == '\n' || c == '\r' || c == '\t') {
			buf_add_str(out, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
		} else if (c < 0x20 || c == '<' || c == '>' || c == '&') {
			buf_printf(out, "\\u%04x", c);
		} else {
			buf_add(out, s + i, n);
		}
	}
	buf_add_char(out, '"');
}
