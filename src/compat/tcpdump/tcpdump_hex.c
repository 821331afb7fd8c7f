// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bytes behind a line.
 */
#include "base/buf.h"
#include "compat/tcpdump/tcpdump_print.h"

static void add_ascii(const uint8_t *data, size_t len, struct buf *out)
{
	buf_add_char(out, '\n');
	for (size_t i = 0; i < len; i++) {
		bool shown = (data[i] >= 0x20 && data[i] < 0x7f) || data[i] == '\n' || data[i] == '\t';

		if (data[i] != '\r' || (i + 1 < len && data[i + 1] != '\n'))
			buf_add_char(out, shown ? (char)data[i] : '.');
	}
}

void tcpdump_hex_print(const struct tcpdump_opts *o, const struct tcpdump_packet *p, struct buf *out)
{
	bool whole = o->hex > 1 || o->hex_ascii > 1;
	uint32_t skip = whole ? 0 : tcpdump_print_link_len(p);

	if (skip > p->cap_len)
		skip = p->cap_len;
	if (o->hex_ascii || o->hex)
		tcpdump_base_dump(out, "\n\t", p->data + skip, p->cap_len - skip, o->hex_ascii);
	else if (o->ascii)
		add_ascii(p->data + skip, p->cap_len - skip, out);
}
