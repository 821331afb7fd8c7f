// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/protobuf/protobuf.h"

#include "base/buf.h"
#include "base/str.h"

#define WIRE_VARINT 0
#define WIRE_FIXED64 1
#define WIRE_LEN 2

void protobuf_varint(struct buf *out, uint64_t v)
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
	protobuf_varint(out, (uint64_t)field << 3 | wire_type);
}

void protobuf_uint(struct buf *out, uint32_t field, uint64_t v)
{
	if (!v)
		return;
	tag(out, field, WIRE_VARINT);
	protobuf_varint(out, v);
}

void protobuf_bytes(struct buf *out, uint32_t field, const void *data, size_t len)
{
	tag(out, field, WIRE_LEN);
	protobuf_varint(out, len);
	buf_add(out, data, len);
}

void protobuf_fixed64(struct buf *out, uint32_t field, uint64_t v)
{
	char bytes[8];

	if (!v)
		return;
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(v >> 8 * i);
	tag(out, field, WIRE_FIXED64);
	buf_add(out, bytes, sizeof(bytes));
}

void protobuf_text(struct buf *out, uint32_t field, const char *text, size_t len)
{
	static const char replacement[] = "\xef\xbf\xbd";
	size_t grown = 0;

	for (size_t i = 0, n; i < len; i += n ? n : 1) {
		n = str_utf8_len(text + i, len - i);
		grown += n ? n : sizeof(replacement) - 1;
	}
	tag(out, field, WIRE_LEN);
	protobuf_varint(out, grown);
	for (size_t i = 0, n; i < len; i += n ? n : 1) {
		n = str_utf8_len(text + i, len - i);
		buf_add(out, n ? text + i : replacement, n ? n : sizeof(replacement) - 1);
	}
}
