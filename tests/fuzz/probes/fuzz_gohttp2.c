// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as records of the gohttp2 probe, one after the other through one decoder: lines, JSON and spans of the
 * calls that come out. A call that was seen to begin ends at most once; a call that was never sent is one record,
 * without a begin.
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

#define PROBE_ID 5
#include "probes/gohttp2/gohttp2_event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct decoder_ops gohttp2_decoder;

#define IDENT(type) ((type) | IDENT_BIT)	/* with the identity block */
#define IDENT_BIT 0x8000u

static const uint16_t kinds[] = {
	GOHTTP2_REC_FRAME, GOHTTP2_REC_MISS, GOHTTP2_REC_PROGRAM, GOHTTP2_REC_EXEC,
	GOHTTP2_REC_EXIT,  SONDE_EV_TICK,    GOHTTP2_REC_SHORT,	  GOHTTP2_REC_START,
	GOHTTP2_REC_LATE,  IDENT(GOHTTP2_REC_FRAME), IDENT(GOHTTP2_REC_LOG),
};

struct counts {
	uint64_t opened, ended;
	struct otlp_spans spans;
};

static int take(void *ctx, struct event *ev)
{
	const struct line_opts o = { .verbose = 2 };
	const struct call_event_body *call = ev->body;
	struct counts *n = ctx;
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
	n->opened += ev->desc == &call_event_open;
	if (ev->desc != &call_event_end)
		return 0;
	n->ended += call->opened_ns && call->end != CALL_EVENT_END_UNSENT;
	if (n->ended > n->opened || otlp_span(&n->spans, ev) < 0)
		abort();
	return 0;
}

static void feed(struct decode_set *d, struct counts *n, uint16_t type, uint64_t ts_ns, const void *bytes, size_t len)
{
	struct sonde_rec head = {
		.ts_ns = ts_ns, .len = (uint32_t)(sizeof(head) + len), .type = type & ~IDENT_BIT, .tgid = 7,
		.tid = 8, .start_ns = 1000, .flags = type & IDENT_BIT ? SONDE_RF_IDENT : 0,
	};
	char *copy = malloc(head.len);	/* exactly the record: a read past its end is seen */

	if (!copy)
		abort();
	memcpy(copy, &head, sizeof(head));
	memcpy(copy + sizeof(head), bytes, len);
	decode_record(d, copy, head.len, take, n);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct decoder_ops *const decoders[] = { &gohttp2_decoder, NULL };
	struct cursor c = cur_init(data, size);
	struct decode_set *d = NULL;
	struct counts n = { 0 };
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
		feed(d, &n, kinds[kind % ARRAY_SIZE(kinds)], ts_ns, bytes, len);
	}
	decode_set_free(d);
	otlp_span_fini(&n.spans);
	return 0;
}
