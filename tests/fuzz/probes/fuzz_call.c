// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as records of the call probe, one after the other through one decoder: lines, JSON and spans of the
 * events.
 *
 * Input: { kind, milliseconds since the one before, length (16 bits, little endian), the bytes behind the header }*
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "call/call_event.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/json.h"
#include "sinks/otlp/otlp_span.h"

#define PROBE_ID 6
#include "probes/call/call_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct decoder_ops call_decoder;

static const uint16_t kinds[] = { CALL_REC_CONN, CALL_REC_DATA, SONDE_EV_TICK };

static int take(void *ctx, struct event *ev)
{
	const struct line_opts o = { .verbose = 2 };
	struct otlp_spans *spans = ctx;
	struct buf b = { 0 };
	struct json j = { .out = &b };

	if (event_line(ev, &o, &b) < 0 && !buf_error(&b))
		abort();
	json_open(&j, '{');
	json_event_fields(&j, ev);
	json_close(&j, '}');
	if (memchr(b.data, '\x1b', b.len))
		abort();	/* a control byte on its way to a terminal */
	buf_fini(&b);
	if (ev->desc == &call_event_end && otlp_span(spans, ev) < 0)
		abort();
	return 0;
}

static void feed(struct decode_set *d, struct otlp_spans *spans, uint16_t type, uint64_t ts_ns, const void *bytes,
		 size_t len)
{
	struct sonde_rec head = {
		.ts_ns = ts_ns, .len = (uint32_t)(sizeof(head) + len), .type = type, .tgid = 7, .tid = 8,
		.start_ns = 1000,
	};
	char *copy = malloc(head.len);	/* exactly the record: a read past its end is seen */

	if (!copy)
		abort();
	if (type == CALL_REC_CONN)
		head.flags = SONDE_RF_IDENT;
	memcpy(copy, &head, sizeof(head));
	memcpy(copy + sizeof(head), bytes, len);
	decode_record(d, copy, head.len, take, spans);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct decoder_ops *const decoders[] = { &call_decoder, NULL };
	struct cursor c = cur_init(data, size);
	struct otlp_spans spans = { 0 };
	struct decode_set *d = NULL;
	uint64_t ts_ns = 1000000000;

	if (decode_set_new(decoders, &d) < 0)
		return 0;
	while (cur_left(&c) >= 4) {
		uint8_t kind = cur_u8(&c), ms = cur_u8(&c);
		size_t len = cur_u8(&c);
		const void *bytes;

		len |= (size_t)cur_u8(&c) << 8;
		len = MIN(len, cur_left(&c));
		bytes = cur_bytes(&c, len);
		ts_ns += ms * 1000000ull;
		feed(d, &spans, kinds[kind % ARRAY_SIZE(kinds)], ts_ns, bytes, len);
	}
	decode_set_free(d);
	otlp_span_fini(&spans);
	return 0;
}
