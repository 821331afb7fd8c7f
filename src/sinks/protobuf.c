// SPDX-License-Identifier: GPL-2.0-or-later
#include "sinks/protobuf.h"

#include "base/buf.h"

#define WIRE_VARINT 0
#define WIRE_LEN 2

void pb_varint(struct buf *out, uint64_t v)
{
	char bytes[10];
	size_t n = 0;

	do {
		bytes[n] = (char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		v >>= 7;
		n++;
	} while (v);
	buf_add(out, bytes, n);
}

static void tag(struct buf *out, uint32_t field, unsigned wire_type)
{
	pb_varint(out, (uint64_t)field << 3 | wire_type);
}

void pb_uint(struct buf *out, uint32_t field, uint64_t v)
{
	if (!v)
		return;
	tag(out, field, WIRE_VARINT);
	pb_varint(out, v);
}

void pb_bytes(struct buf *out, uint32_t field, const void *data, size_t len)
{
	tag(out, field, WIRE_LEN);
	pb_varint(out, len);
	buf_add(out, data, len);
}
