// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Traces for OpenTelemetry. Spans are batched; a batch is one ExportTraceServiceRequest, whose fields equal those of
 * TracesData (opentelemetry/proto/trace/v1/trace.proto). Concatenated batches form a valid TracesData file; a server
 * receives them one by one (OTLP/HTTP).
 *
 * Events of any type with the fields of an RPC become spans (sinks/otlp/otlp_span.h); other events are ignored.
 */
#include "sinks/otlp/otlp_batch.h"
#include "sinks/otlp/otlp_span.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"

struct otlp {
	struct otlp_spans spans;
	struct otlp_batch batch;
};

static int otlp_event(struct sink *s, const struct event *ev)
{
	struct otlp *o = s->state;
	int r;

	if (!otlp_span_is_call(&o->spans, ev->desc))
		return 0;
	if (!s->opts->both_sides && otlp_span_is_served_by_database(&o->spans, ev))
		return 0;
	r = otlp_batch_is_due(&o->batch, ev) ? otlp_batch_put(&o->batch, s) : 0;
	if (r >= 0)
		r = otlp_span(&o->spans, ev);
	return r < 0 ? r : otlp_batch_add(&o->batch, s, ev, &o->spans.span);
}

/* A server should not have to wait for the next RPC. */
static int otlp_flush(struct sink *s)
{
	struct otlp *o = s->state;

	return outfile_is_remote(s->out) && otlp_batch_is_late(&o->batch) ? otlp_batch_put(&o->batch, s) : 0;
}

static int otlp_close(struct sink *s)
{
	struct otlp *o = s->state;
	int r = otlp_batch_put(&o->batch, s);

	otlp_batch_fini(&o->batch);
	otlp_span_fini(&o->spans);
	return r;
}

const struct sink_ops otlp_sink = {
	.name = "otlp",
	.summary = "OpenTelemetry: calls as traces, or stacks as a profile, to a file; all signals to a server "
		   "(-o otlp:http://HOST:4318)",
	.suffix = ".otlp",
	.flags = SINK_BINARY,
	.http_client_path = "/v1/traces",
	.http_client_type = "application/x-protobuf",
	.post_things = "spans",
	.shows = "calls",
	.state_size = sizeof(struct otlp),
	.event = otlp_event,
	.flush = otlp_flush,
	.close = otlp_close,
};
