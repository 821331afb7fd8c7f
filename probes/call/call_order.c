// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/call/call_order.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/decode.h"
#include "probes/call/call_wire.h"

static const struct xlat_val order_vals[] = { { CALL_ORDER_WIDE, "wide" }, { CALL_ORDER_IGNORE, "ignored" } };
static const struct xlat order_xlat = { .name = "rpc_order", .vals = order_vals, .n = ARRAY_SIZE(order_vals) };

static int order_line(const struct event *ev, _unused_ const struct line_opts *o, struct buf *out)
{
	const struct call_order_body *b = ev->body;

	event_who(ev, ev->tgid, out);
	if (b->order == CALL_ORDER_WIDE)
		buf_add_str(out, " pipelines: operations are kept whole from now on");
	else
		buf_add_str(out, " no calls were found on the connection: it is ignored from now on");
	if (b->protocol[0]) {
		buf_add_str(out, " (");
		str_escape_buf(out, b->protocol, sizeof(b->protocol));
		buf_add_char(out, ')');
	}
	return buf_add_char(out, '\n');
}

static const struct field order_fields[] = {
	FIELD_ROW(struct call_order_body, order, "order.what", FIELD_ENUM,
		  "wide: requests follow each other, operations are kept whole; ignored: no calls were found",
		  .xlat = &order_xlat),
	FIELD_ROW(struct call_order_body, tls, "order.tls", FIELD_BOOL, "of the plain text of TLS"),
	FIELD_ROW(struct call_order_body, protocol, "order.protocol", FIELD_STR, "its protocol, as far as known",
		  .flags = FIELD_OPEN | FIELD_OPTIONAL),
};

const struct event_desc call_order_desc = {
	.type = CALL_REC_ORDER,
	.name = "rpc.conn",
	.doc = "a connection is kept whole, or ignored, from now on",
	.class = EVENT_STATE,
	.fields = order_fields,
	.n_fields = ARRAY_SIZE(order_fields),
	.body_size = sizeof(struct call_order_body),
	.sections = 1u << SEC_PROC,
	.line = order_line,
};

void call_order_event(struct event *ev, const struct sonde_rec *r, uint64_t cookie, uint8_t order, bool tls,
		      const char *protocol, struct arena *mem)
{
	struct call_order_body *b = arena_alloc(mem, sizeof(*b));

	event_decode_from_rec(ev, &call_order_desc, r);
	ev->keys.cookie = cookie;
	ev->body = b;
	if (!b)
		return;
	b->order = order;
	b->tls = tls;
	snprintf(b->protocol, sizeof(b->protocol), "%s", protocol ? protocol : "");
}
