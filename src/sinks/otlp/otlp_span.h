/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encodes an RPC as an OpenTelemetry span: maps fields of an event to attributes. Knows event fields and the Span
 * message; independent of batches, files and networks.
 */
#ifndef SINKS_OTLP_SPAN_H
#define SINKS_OTLP_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "event/event.h"
#include "sinks/otlp/otlp_kv.h"

/* Fields that a span is built from; otlp_span.c has their names. */
enum otlp_word {
	OTLP_SIDE, OTLP_KIND, OTLP_METHOD, OTLP_PATH, OTLP_STATUS, OTLP_HTTP_STATUS, OTLP_MESSAGE, OTLP_ERROR,
	OTLP_LATENCY, OTLP_FIRST, OTLP_END, OTLP_RESET, OTLP_DERIVED, OTLP_AUTHORITY, OTLP_PEER, OTLP_SENT,
	OTLP_RECEIVED, OTLP_AGENT, OTLP_HEADERS, OTLP_TRACE, OTLP_SPAN, OTLP_OPENED, OTLP_PARENT, OTLP_PARENT_OPENED,
	OTLP_PARENT_TRACE, OTLP_SOURCE, OTLP_OPERATION, OTLP_RESOURCE, OTLP_STATEMENT, OTLP_DATABASE, OTLP_ROWS,
	OTLP_QUERY,
	OTLP_WORD__MAX,
};

/* Starts zeroed; released by otlp_span_fini(). */
struct otlp_spans {
	const struct event_desc *desc;	/* type that rows belong to; NULL = none yet */
	const struct field *rows[OTLP_WORD__MAX]; /* NULL = the type lacks the field */
	struct buf span, part;		/* scratch for messages */
	struct otlp_kv kv;
};

void otlp_span_fini(struct otlp_spans *o);

/* Are events of this type RPCs, which become spans? */
bool otlp_span_is_call(struct otlp_spans *o, const struct event_desc *desc);

/*
 * Is it a call to a database, seen at the database's side? The conventions know such spans from the client's side
 * only.
 */
bool otlp_span_is_served_by_database(struct otlp_spans *o, const struct event *ev);

/* Encodes the span of an RPC in o->span, valid until the next call. 0 or -ENOMEM. */
int otlp_span(struct otlp_spans *o, const struct event *ev);

/* Ids of the trace and of the span that an event of an RPC belongs to, or has. */
struct otlp_span_ids { uint8_t trace[16], span[8]; };
/*
 * Ids of an event with the fields of an RPC, of any class: its end, its begin, a line in a log. All events of an RPC
 * give the same. False for other events.
 */
bool otlp_span_ids(struct otlp_spans *o, const struct event *ev, struct otlp_span_ids *ret);

#endif
