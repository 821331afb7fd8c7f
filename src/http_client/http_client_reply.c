// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parser of a server's answer: ExportTraceServiceResponse { partial_success = 1 { rejected_spans = 1,
 * error_message = 2 } } of opentelemetry/proto/collector/trace/v1/trace_service.proto. The messages for other signals
 * use the same numbers.
 */
#include "base/cursor.h"
#include "http_client/http_client_child.h"

#define WIRE_VARINT 0
#define WIRE_FIXED64 1
#define WIRE_LEN 2
#define WIRE_FIXED32 5

static uint64_t varint(struct cursor *c)
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

/* Next field: its number, 0 at the end; its value or bytes. */
static uint64_t next(struct cursor *c, uint64_t *ret_number, struct cursor *ret_bytes)
{
	uint64_t tag;

	*ret_number = 0;
	*ret_bytes = cur_init("", 0);
	if (!cur_left(c))
		return 0;
	tag = varint(c);
	switch (tag & 7) {
	case WIRE_VARINT:
		*ret_number = varint(c);
		break;
	case WIRE_FIXED64:
		cur_skip(c, 8);
		break;
	case WIRE_LEN:
		*ret_bytes = cur_sub(c, varint(c));
		break;
	case WIRE_FIXED32:
		cur_skip(c, 4);
		break;
	default:
		c->bad = true;
	}
	return cur_ok(c) ? tag >> 3 : 0;
}

/* Printable ASCII alone: it goes to a terminal. */
static void copy_text(struct cursor *text, char *to, size_t size)
{
	size_t n = 0;

	while (n + 1 < size && cur_left(text)) {
		uint8_t c = cur_u8(text);

		to[n++] = (char)(c >= ' ' && c < 0x7f ? c : '?');
	}
	to[n] = '\0';
}

uint64_t http_client_reply_rejected(const void *reply, size_t len, char *ret_why, size_t size)
{
	struct cursor c = cur_init(reply, len), partial, bytes;
	uint64_t field, inner, n, rejected = 0;

	*ret_why = '\0';
	while ((field = next(&c, &n, &partial))) {
		if (field != 1)
			continue;
		while ((inner = next(&partial, &n, &bytes))) {
			if (inner == 1)
				rejected = n;
			else if (inner == 2)
				copy_text(&bytes, ret_why, size);
		}
	}
	if (!cur_ok(&c))
		*ret_why = '\0';
	return cur_ok(&c) ? rejected : 0;
}
