// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Dissection, summary, listing and dump of any bytes. Input: LINKTYPE (u16, little endian), then the packet.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "packet/packet.h"

static void check_layers(const struct packet *p)
{
	uint32_t end = 0;

	for (int i = 0; i < p->n_layers; i++) {
		if (p->layers[i].off != end || p->layers[i].len > p->cap_len - end)
			abort();
		end += p->layers[i].len;
	}
}

static void check_text(const struct buf *b)
{
	for (size_t i = 0; i < b->len; i++) {
		unsigned char c = (unsigned char)b->data[i];

		if ((c < 0x20 && c != '\n') || c == 0x7f)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf out = { 0 };
	struct packet p;

	if (size < 2 || size > 65536)
		return 0;
	packet_dissect(data[0] | (uint32_t)data[1] << 8, data + 2, (uint32_t)size - 2, (uint32_t)size, &p);
	check_layers(&p);
	packet_summary(&p, &out);
	packet_print(&p, &out);
	buf_add_hexdump(&out, p.data, p.cap_len);
	check_text(&out);
	buf_fini(&out);
	return 0;
}
