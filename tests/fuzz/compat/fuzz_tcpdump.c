// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packets in tcpdump's lines. Input: options (u8: -e, -q, -S, -K and without -n, -v twice, -x, -X), LINKTYPE (u16,
 * little endian), then packets, each a length (u16, little endian) and that many bytes.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "compat/tcpdump/tcpdump_print.h"

static void check_text(const struct buf *b)
{
	for (size_t i = 0; i < b->len; i++) {
		unsigned char c = (unsigned char)b->data[i];

		if ((c < 0x20 && c != '\n' && c != '\t') || c >= 0x7f)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor c = cur_init(data, size);
	uint8_t bits = cur_u8(&c);
	struct tcpdump_opts o = {
		.ether = bits & 1,
		.quick = bits & 2,
		.absolute = bits & 4,
		.unchecked = bits & 8,
		.verbose = bits >> 4 & 3,
		.hex = bits >> 6 & 1,
		.hex_ascii = bits >> 7,
		.numeric = !(bits & 8),
	};
	uint16_t link = cur_u16(&c);
	struct tcpdump_state state;
	struct buf out = { 0 };

	tcpdump_print_init(&state);
	for (unsigned n = 0; n < 64 && cur_left(&c) > 2; n++) {
		size_t len = cur_u16(&c);
		struct tcpdump_packet p = { .link = link };

		p.cap_len = (uint32_t)(len < cur_left(&c) ? len : cur_left(&c));
		p.orig_len = (uint32_t)len;
		p.data = cur_bytes(&c, p.cap_len);
		buf_reset(&out);
		tcpdump_print_packet(&o, &state, &p, &out);
		tcpdump_hex_print(&o, &p, &out);
		check_text(&out);
	}
	tcpdump_print_fini(&state);
	buf_fini(&out);
	return 0;
}
