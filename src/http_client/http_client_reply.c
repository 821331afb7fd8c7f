// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parser of a server's answer: ExportTraceServiceResponse { partial_success = 1 { rejected_spans = 1,
 * error_message = 2 } } of opentelemetry/proto/collector/trace/v1/trace_service.proto. The messages for other signals
 * use the same numbers.
 */
#include "base/cursor.h"
#include "base/protobuf/protobuf_read.h"
#include "http_client/http_client_child.h"

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
	struct cursor c = cur_init(reply, len);
	struct protobuf_field field, inner;
	uint64_t rejected = 0;

	*ret_why = '\0';
	while (protobuf_read(&c, &field)) {
		if (field.number != 1)
			continue;
		while (protobuf_read(&field.bytes, &inner)) {
			if (inner.number == 1)
				rejected = inner.value;
			else if (inner.number == 2)
				copy_text(&inner.bytes, ret_why, size);
		}
	}
	if (!cur_ok(&c))
		*ret_why = '\0';
	return cur_ok(&c) ? rejected : 0;
}
