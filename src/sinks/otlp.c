// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Traces for OpenTelemetry. Spans are batched; a batch is one ExportTraceServiceRequest, whose fields equal those of
 * TracesData (opentelemetry/proto/trace/v1/trace.proto). Concatenated batches form a valid TracesData file; a server
 * receives them one by one (OTLP/HTTP).
 *
 * Events of any type with the fields of an RPC become spans (sinks/otlp_span.h); other events are ignored.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/macros.h"
#include "base/vec.h"
#include "event/core.h"
#include "sinks/otlp_span.h"
#include "sinks/outfile.h"
#include "sinks/stack/protobuf.h"
#include "sinks/sink.h"

#define BATCH_SPANS 512u
#define BATCH_BYTES (512u << 10)
#define BATCH_NS 1000000000ull	/* maximum time a span waits for its batch */

/* Field numbers by message. */
enum { T_RESOURCE_SPANS = 1 };
enum { RS_RESOURCE = 1, RS_SCOPE_SPANS };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { SS_SCOPE = 1, SS_SPANS };
enum { SCOPE_NAME = 1, SCOPE_VERSION };

/* Spans of one process in a batch. */
struct process {
	uint64_t start_ns;
	uint32_t tgid;
	struct buf resource;	/* a Resource message */
	struct buf spans;	/* a ScopeSpans message */
};

struct otlp {
	struct otlp_spans spans;
	VEC(struct process) processes;	/* n_processes of this batch, then empty ones for reuse */
	size_t n_processes, n_spans, bytes;
	uint64_t first_ns;		/* event time of the batch's first span */
	uint64_t since_ns;		/* arrival of that span */
	struct buf message, part;
};

/* ---- resources ---- */

static void add_text(struct otlp *o, struct buf *out, const char *key, const char *text, size_t len)
{
	if (len)
		otlp_span_text(&o->spans, out, RESOURCE_ATTRIBUTES, key, text, len);
}

static void add_proc_text(struct otlp *o, struct buf *out, const char *key, const struct event *ev,
			  struct sec_str str)
{
	const struct sec_proc *p = event_proc(ev);
	size_t len = 0;
	const char *text = event_sec_proc_str(p, event_section(ev, SEC_PROC), str, &len);

	add_text(o, out, key, text, len);
}

/* Names the service after its program: its own name for itself is not observable. */
static void add_process(struct otlp *o, struct buf *out, const struct event *ev)
{
	const struct sec_proc *p = event_proc(ev);
	const struct section *s = event_section(ev, SEC_PROC);
	const char *exe, *slash;
	size_t len;

	otlp_span_number(&o->spans, out, RESOURCE_ATTRIBUTES, "process.pid", ev->tgid);
	if (!p) {
		add_text(o, out, "service.name", "unknown_service", 15);
		return;
	}
	exe = event_sec_proc_str(p, s, p->exe, &len);
	add_text(o, out, "process.executable.path", exe, len);
	slash = len ? memrchr(exe, '/', len) : NULL;
	if (slash) {
		len -= (size_t)(slash + 1 - exe);
		exe = slash + 1;
	}
	if (!len)
		exe = event_sec_proc_str(p, s, p->comm, &len);
	add_text(o, out, "process.executable.name", exe, len);
	add_text(o, out, "service.name", exe, len);
	otlp_span_number(&o->spans, out, RESOURCE_ATTRIBUTES, "process.parent_pid", p->ppid);
	add_proc_text(o, out, "container.id", ev, p->container);
	add_proc_text(o, out, "container.image.name", ev, p->image);
}

static void add_resource(struct sink *s, struct buf *out, const struct event *ev)
{
	struct otlp *o = s->state;
	const struct core_host *host = s->opts->host;

	add_process(o, out, ev);
	if (host)
		add_text(o, out, "host.name", host->hostname, strnlen(host->hostname, sizeof(host->hostname)));
	add_text(o, out, "os.type", "linux", 5);
}

static void add_scope(struct otlp *o, struct buf *out)
{
	buf_reset(&o->part);
	protobuf_text(&o->part, SCOPE_NAME, "sonde", 5);
	protobuf_text(&o->part, SCOPE_VERSION, SONDE_VERSION, strlen(SONDE_VERSION));
	protobuf_bytes(out, SS_SCOPE, o->part.data, o->part.len);
}

/* Finds or adds the entry of the event's process. NULL without memory. */
static struct process *process_of(struct sink *s, const struct event *ev)
{
	struct otlp *o = s->state;
	struct process *p;

	for (size_t i = 0; i < o->n_processes; i++)
		if (o->processes.items[i].tgid == ev->tgid && o->processes.items[i].start_ns == ev->start_ns)
			return &o->processes.items[i];
	if (o->n_processes == o->processes.len) {
		if (vec_grow(&o->processes) < 0)
			return NULL;
		o->processes.items[o->processes.len++] = (struct process){ 0 };
	}
	p = &o->processes.items[o->n_processes++];
	p->tgid = ev->tgid;
	p->start_ns = ev->start_ns;
	buf_reset(&p->resource);
	buf_reset(&p->spans);
	add_resource(s, &p->resource, ev);
	add_scope(o, &p->spans);
	return p;
}

/* ---- batches ---- */

static int put_batch(struct sink *s)
{
	struct otlp *o = s->state;
	int r;

	buf_reset(&o->message);
	for (size_t i = 0; i < o->n_processes; i++) {
		struct process *p = &o->processes.items[i];

		buf_reset(&o->part);
		protobuf_bytes(&o->part, RS_RESOURCE, p->resource.data, p->resource.len);
		protobuf_bytes(&o->part, RS_SCOPE_SPANS, p->spans.data, p->spans.len);
		if (buf_error(&p->resource) || buf_error(&p->spans) || buf_error(&o->part))
			o->message.error = -ENOMEM;
		protobuf_bytes(&o->message, T_RESOURCE_SPANS, o->part.data, o->part.len);
	}
	r = buf_error(&o->message);
	if (r == 0 && o->n_spans)
		r = outfile_batch(s->out, o->message.data, o->message.len, o->n_spans);
	o->n_processes = o->n_spans = o->bytes = 0;
	return r;
}

/* Compares event times, so a recording always gives the same batches. */
static bool is_due(const struct otlp *o, const struct event *ev)
{
	return o->n_spans && (o->n_spans >= BATCH_SPANS || o->bytes >= BATCH_BYTES ||
			      ev->ts_ns >= o->first_ns + BATCH_NS);
}

static int otlp_event(struct sink *s, const struct event *ev)
{
	struct otlp *o = s->state;
	struct process *p;
	int r;

	if (!otlp_span_is_call(&o->spans, ev->desc))
		return 0;
	r = is_due(o, ev) ? put_batch(s) : 0;
	if (r < 0)
		return r;
	p = process_of(s, ev);
	r = p ? otlp_span(&o->spans, ev) : -ENOMEM;
	if (r < 0)
		return r;
	if (!o->n_spans) {
		o->first_ns = ev->ts_ns;
		o->since_ns = clock_boot_ns();
	}
	protobuf_bytes(&p->spans, SS_SPANS, o->spans.span.data, o->spans.span.len);
	o->bytes += o->spans.span.len;
	o->n_spans++;
	return 0;
}

/* A server should not have to wait for the next RPC. */
static int otlp_flush(struct sink *s)
{
	struct otlp *o = s->state;

	if (!o->n_spans || !outfile_is_remote(s->out) || clock_boot_ns() < o->since_ns + BATCH_NS)
		return 0;
	return put_batch(s);
}

static int otlp_close(struct sink *s)
{
	struct otlp *o = s->state;
	int r = o->n_spans ? put_batch(s) : 0;

	for (size_t i = 0; i < o->processes.len; i++) {
		buf_fini(&o->processes.items[i].resource);
		buf_fini(&o->processes.items[i].spans);
	}
	vec_fini(&o->processes);
	otlp_span_fini(&o->spans);
	buf_fini(&o->message);
	buf_fini(&o->part);
	return r;
}

const struct sink_ops otlp_sink = {
	.name = "otlp",
	.summary = "RPCs as OpenTelemetry traces: to a file or a server (-o otlp:http://HOST:4318)",
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
