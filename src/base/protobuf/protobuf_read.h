/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protocol buffer reader (https://protobuf.dev/programming-guides/encoding/): a message field by field, over
 * untrusted bytes.
 */
#ifndef BASE_PROTOBUF_READ_H
#define BASE_PROTOBUF_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"

enum protobuf_wire {
	PROTOBUF_VARINT, PROTOBUF_FIXED64, PROTOBUF_LEN, PROTOBUF_FIXED32 = 5, PROTOBUF_WIRE__MAX,
};

struct protobuf_field {
	uint64_t number;	/* of the field */
	uint64_t value;		/* of a varint; 0 for other types */
	bool has_bytes;		/* it is a string, a message or a packed list */
	struct cursor bytes;	/* of it; empty for other types */
};

static inline uint64_t protobuf_read_varint(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t b = cur_u8(c);

		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

/* The next field; false at the end, and if the message is malformed (then cur_ok() is false). */
static inline bool protobuf_read(struct cursor *c, struct protobuf_field *ret)
{
	uint64_t tag;

	*ret = (struct protobuf_field){ .bytes = cur_init("", 0) };
	if (!cur_left(c))
		return false;
	tag = protobuf_read_varint(c);
	ret->number = tag >> 3;
	switch (tag & 7) {
	case PROTOBUF_VARINT:
		ret->value = protobuf_read_varint(c);
		break;
	case PROTOBUF_FIXED64:
		cur_skip(c, 8);
		break;
	case PROTOBUF_LEN:
		ret->has_bytes = true;
		ret->bytes = cur_sub(c, protobuf_read_varint(c));
		break;
	case PROTOBUF_FIXED32:
		cur_skip(c, 4);
		break;
	default:
		c->bad = true;
	}
	c->bad |= !ret->number;
	return cur_ok(c);
}

#endif
