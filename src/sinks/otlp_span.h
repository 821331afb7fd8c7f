/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A call as a span of OpenTelemetry: which words of an event become which attributes. Knows event rows and the
 * message Span, nothing of batches, files or networks.
 */
#ifndef SINKS_OTLP_SPAN_H
#define SINKS_OTLP_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "event/event.h"

/* The words that a span is made of; their names are in otlp_span.c. */
enum otlp_word {
	OTLP_SIDE, OTLP_KIND, OTLP_METHOD, OTLP_PATH, OTLP_STATUS, OTLP_HTTP_STATUS, OTLP_MESSAGE, OTLP_ERROR,
	OTLP_LATENCY, OTLP_FIRST, OTLP_END, OTLP_RESET, OTLP_DERIVED, OTLP_AUTHORITY, OTLP_PEER, OTLP_SENT,
	OTLP_RECEIVED, OTLP_AGENT, OTLP_HEADERS, OTLP_TRACE, OTLP_SPAN, OTLP_OPENED, OTLP_WORD__MAX,
};

/* Zeroed at first; otlp_span_fini() releases it. */
struct otlp_spans {
	const struct event_desc *desc;	/* whose rows these are; NULL = none looked at yet */
	const struct field *rows[OTLP_WORD__MAX]; /* NULL = the type has no such word */
	bool is_call;
	struct buf span, kv, any;	/* messages while they are put together */
};

void otlp_span_fini(struct otlp_spans *o);

/* Whether events of this type are calls, which become spans. */
bool otlp_span_is_call(struct otlp_spans *o, const struct event_desc *desc);

/* The message Span of a call, in o->span until the next one. 0 or -ENOMEM. */
int otlp_span(struct otlp_spans *o, const struct event *ev);

/* One KeyValue with a string, as @field of the message in @out. */
void otlp_span_text(struct otlp_spans *o, struct buf *out, uint32_t field, const char *key, const char *text,
		    size_t len);
void otlp_span_number(struct otlp_spans *o, struct buf *out, uint32_t field, const char *key, uint64_t v);

#endif
