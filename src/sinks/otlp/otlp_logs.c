// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Logs for OpenTelemetry: drops, verdicts, failed calls, losses and others of tables/logs.def. Batched as spans are;
 * a batch is one ExportLogsServiceRequest, and concatenated batches form a valid LogsData file.
 *
 * An event that a call caused gets the ids of the call's span. That is known when the call ends: such records wait
 * for it until their batch goes.
 */
#include <errno.h>

#include "base/buf.h"
#include "base/vec.h"
#include "event/event.h"
#include "sinks/otlp/otlp_batch.h"
#include "sinks/otlp/otlp_calls.h"
#include "sinks/otlp/otlp_log.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"

/* A record that waits for the span of its call. */
struct waiting {
	uint64_t call;
	size_t process;		/* in the batch */
	size_t off, len;	/* in `held` */
};

struct otlp_logs {
	struct otlp_log *log;	/* owned */
	struct otlp_batch batch;
	struct otlp_calls calls;
	VEC(struct waiting) waiting;
	struct buf held, record;
	struct event last;	/* time, clock and names of the last event; no process */
};

static int otlp_logs_open(struct sink *s, struct err *err)
{
	struct otlp_logs *o = s->state;

	otlp_calls_init(&o->calls);
	return otlp_log_new(s->opts->reg, &o->log, err);
}

/* The waiting records get the spans that are known by now. */
static int end_waiting(struct otlp_logs *o)
{
	int r = buf_error(&o->held);

	for (size_t i = 0; r >= 0 && i < o->waiting.len; i++) {
		const struct waiting *w = &o->waiting.items[i];
		const struct otlp_span_ids *ids = otlp_calls_find(&o->calls, w->call);

		buf_reset(&o->record);
		buf_add(&o->record, o->held.data + w->off, w->len);
		if (ids)
			otlp_log_add_span(&o->record, ids);
		r = buf_error(&o->record);
		otlp_batch_fill(&o->batch, w->process, &o->record);
	}
	o->waiting.len = 0;
	buf_reset(&o->held);
	return r;
}

static int put_batch(struct sink *s)
{
	struct otlp_logs *o = s->state;
	int r = end_waiting(o), e;

	while (r >= 0 && (r = otlp_log_put_left_out(o->log, &o->last, &o->record)) > 0)
		r = otlp_batch_add(&o->batch, s, &o->last, &o->record);
	e = otlp_batch_put(&o->batch, s);
	return r < 0 ? r : e;
}

static int wait_for_call(struct otlp_logs *o, size_t process, uint64_t call)
{
	if (vec_grow(&o->waiting) < 0)
		return -ENOMEM;
	o->waiting.items[o->waiting.len++] = (struct waiting){
		.call = call, .process = process, .off = o->held.len, .len = o->record.len,
	};
	return buf_add(&o->held, o->record.data, o->record.len);
}

/* @ids: of the event itself, if it is one of an RPC. */
static int add_record(struct sink *s, const struct event *ev, const struct otlp_span_ids *ids)
{
	struct otlp_logs *o = s->state;
	size_t process;
	int r = otlp_batch_reserve(&o->batch, s, ev, &process);

	if (r < 0)
		return r;
	if (!ids && ev->keys.call)
		return wait_for_call(o, process, ev->keys.call);
	if (ids)
		otlp_log_add_span(&o->record, ids);
	otlp_batch_fill(&o->batch, process, &o->record);
	return buf_error(&o->record);
}

static int otlp_logs_event(struct sink *s, const struct event *ev)
{
	struct otlp_logs *o = s->state;
	struct otlp_span_ids ids;
	bool is_call = otlp_calls_learn(&o->calls, ev, &ids);
	int r = otlp_batch_is_due(&o->batch, ev) ? put_batch(s) : 0;

	o->last = (struct event){ .desc = ev->desc, .ts_ns = ev->ts_ns, .clock_offset_ns = ev->clock_offset_ns,
				  .names = ev->names };
	if (r >= 0)
		r = otlp_log_put(o->log, ev, &o->record);
	return r > 0 ? add_record(s, ev, is_call ? &ids : NULL) : r;
}

/* A server should not have to wait for the next event. */
static int otlp_logs_flush(struct sink *s)
{
	struct otlp_logs *o = s->state;

	return outfile_is_remote(s->out) && otlp_batch_is_late(&o->batch) ? put_batch(s) : 0;
}

static int otlp_logs_close(struct sink *s)
{
	struct otlp_logs *o = s->state;
	int r = put_batch(s);

	otlp_log_free(o->log);
	otlp_batch_fini(&o->batch);
	otlp_calls_fini(&o->calls);
	vec_fini(&o->waiting);
	buf_fini(&o->held);
	buf_fini(&o->record);
	return r;
}

const struct sink_ops otlp_logs_sink = {
	.name = "otlp-logs",
	.summary = "drops, verdicts, failures and losses as logs for OpenTelemetry: to a file or a server",
	.suffix = ".logs.otlp",
	.flags = SINK_BINARY,
	.http_client_path = "/v1/logs",
	.http_client_type = "application/x-protobuf",
	.post_things = "log records",
	.state_size = sizeof(struct otlp_logs),
	.open = otlp_logs_open,
	.event = otlp_logs_event,
	.flush = otlp_logs_flush,
	.close = otlp_logs_close,
};
