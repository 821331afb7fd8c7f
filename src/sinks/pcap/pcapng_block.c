// SPDX-License-Identifier: GPL-2.0-or-later
#include "sinks/pcap/pcapng_block.h"

#include <string.h>

#include "packet/pcapng.h"

#define OPT_MAX_BYTES 65535u

void pcapng_block_begin(struct buf *b, uint32_t type)
{
	buf_reset(b);
	buf_put_u32(b, type);
	buf_put_u32(b, 0); /* length: set by pcapng_block_end() */
}

void pcapng_block_time(struct buf *b, uint64_t ns)
{
	buf_put_u32(b, (uint32_t)(ns >> 32));
	buf_put_u32(b, (uint32_t)ns);
}

void pcapng_block_bytes(struct buf *b, const void *data, size_t len)
{
	buf_add(b, data, len);
	buf_align(b, 4);
}

void pcapng_block_opt(struct buf *b, uint16_t code, const void *data, size_t len)
{
	const uint8_t *bytes = data;

	if (len > OPT_MAX_BYTES) {
		len = OPT_MAX_BYTES;
		while (len && (bytes[len] & 0xc0) == 0x80)
			len--;
	}
	buf_put_u16(b, code);
	buf_put_u16(b, (uint16_t)len);
	pcapng_block_bytes(b, data, len);
}

void pcapng_block_opt_str(struct buf *b, uint16_t code, const char *s)
{
	pcapng_block_opt(b, code, s, strlen(s));
}

void pcapng_block_opt_u32(struct buf *b, uint16_t code, uint32_t v)
{
	pcapng_block_opt(b, code, &v, sizeof(v));
}

void pcapng_block_opt_u64(struct buf *b, uint16_t code, uint64_t v)
{
	pcapng_block_opt(b, code, &v, sizeof(v));
}

void pcapng_block_opt_end(struct buf *b)
{
	buf_put_u32(b, PCAPNG_OPT_END);
}

int pcapng_block_end(struct buf *b)
{
	uint32_t len;

	pcapng_block_opt_end(b);
	len = (uint32_t)b->len + 4;
	buf_put_u32(b, len);
	if (buf_error(b) == 0)
		memcpy(b->data + 4, &len, sizeof(len));
	return buf_error(b);
}
