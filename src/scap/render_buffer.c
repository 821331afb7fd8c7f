// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Payload as text.
 */

#include "base/buf.h"
#include "base/macros.h"
#include "scap/render.h"
#include "scap/state/view.h"

static bool printable(uint8_t c)
{
	return c >= 0x20 && c < 0x7f;
}

static void dots(const uint8_t *p, size_t len, size_t cut, struct buf *out)
{
	bool cuts = cut && len > cut;

	if (cuts)
		len = cut > 3 ? cut - 3 : cut;
	for (size_t i = 0; i < len; i++)
		buf_add_char(out, printable(p[i]) ? (char)p[i] : '.');
	if (cuts && cut > 3)
		buf_add_str(out, "...");
}

static void ascii(const uint8_t *p, size_t len, struct buf *out)
{
	buf_add_char(out, '\n');
	for (size_t i = 0; i < len; i++) {
		if (printable(p[i]))
			buf_add_char(out, (char)p[i]);
		else if (p[i] == '\r' || (p[i] == '\n' && i && p[i - 1] != '\r'))
			buf_add_char(out, '\n');
	}
}

#define ROW 16

static void hex_row(const uint8_t *p, size_t at, size_t n, bool text, struct buf *out)
{
	buf_printf(out, "\n        0x%.4zx:", at);
	for (size_t i = 0; i < n; i += 2) {
		if (i + 1 < n)
			buf_printf(out, " %02x%02x", p[i], p[i + 1]);
		else
			buf_printf(out, " %02x", p[i]);
	}
	if (!text)
		return;
	for (size_t i = (n + 1) / 2; i < ROW / 2; i++)
		buf_add_str(out, "     ");
	buf_add_str(out, "  ");
	for (size_t i = 0; i < n; i++)
		buf_add_char(out, printable(p[i]) ? (char)p[i] : '.');
}

static void hex(const uint8_t *p, size_t len, bool text, struct buf *out)
{
	for (size_t at = 0; at < len; at += ROW)
		hex_row(p + at, at, MIN(len - at, (size_t)ROW), text, out);
	buf_add_char(out, '\n');
}

static void base64(const uint8_t *p, size_t len, struct buf *out)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		size_t n = MIN(len - i, (size_t)3);
		uint32_t v = (uint32_t)p[i] << 16 | (n > 1 ? (uint32_t)p[i + 1] << 8 : 0) | (n > 2 ? p[i + 2] : 0);

		buf_add_char(out, digits[v >> 18]);
		buf_add_char(out, digits[v >> 12 & 63]);
		buf_add_char(out, n > 1 ? digits[v >> 6 & 63] : '=');
		buf_add_char(out, n > 2 ? digits[v & 63] : '=');
	}
}

void scap_render_buffer(const void *data, size_t len, const struct scap_render_opts *o, struct buf *out)
{
	if (!len)
		return;
	switch (o->form) {
	case SCAP_BUFFER_DOTS: dots(data, len, o->cut, out); break;
	case SCAP_BUFFER_ASCII: ascii(data, len, out); break;
	case SCAP_BUFFER_HEX: hex(data, len, false, out); break;
	case SCAP_BUFFER_HEX_ASCII: hex(data, len, true, out); break;
	case SCAP_BUFFER_BASE64: base64(data, len, out); break;
	case SCAP_BUFFER__MAX: break;
	}
}
