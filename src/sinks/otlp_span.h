/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encodes an RPC as an OpenTelemetry span: maps fields of an event to attributes. Knows event fields and the Span
 * message; independent of batches, files and networks.
 */
#ifndef SINKS_OTLP_SPAN_H
#define SINKS_OTLP_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "event/event.h"

/* Fields that a span is built from; otlp_span.c has their names. */
enum otlp_word {
	OTLP_SIDE, OTLP_KIND, OTLP_METHOD, OTLP_PATH, OTLP_STATUS, OTLP_HTTP_STATUS, OTLP_MESSAGE, OTLP_ERROR,
	OTLP_LATENCY, OTLP_FIRST, OTLP_END, OTLP_RESET, OTLP_DERIVED, OTLP_AUTHORITY, OTLP_PEER, OTLP_SENT,
	OTLP_RECEIVED, OTLP_AGENT, OTLP_HEADERS, OTLP_TRACE, OTLP_SPAN, OTLP_OPENED, OTLP_WORD__MAX,
};

/* Starts zeroed; released by otlp_span_fini(). */
struct otlp_spans {
	const struct event_desc *desc;	/* type that rows belong to; NULL = none yet */
	const struct field *rows[OTLP_WORD__MAX]; /* NULL = the type lacks the field */
	bool is_call;
	struct buf span, kv, any;	/* scratch for messages */
};

void otlp_span_fini(struct otlp_spans *o);

/* Are events of this type RPCs, which become spans? */
bool otlp_span_is_call(struct otlp_spans *o, const struct event_desc *desc);

/* Encodes the span of an RPC in o->span, valid until the next call. 0 or -ENOMEM. */
int otlp_span(struct otlp_spans *o, const struct event *ev);

/* Adds one KeyValue with a string as field @field of the message in @out. */
void otlp_span_text(struct otlp_spans *o, struct buf *out, uint32_t field, const char *key, const char *text,
		    size_t len);
void otlp_span_number(struct otlp_spans *o, struct buf *out, uint32_t field, const char *key, uint64_t v);

#endif
