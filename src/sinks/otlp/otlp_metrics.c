// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Metrics for OpenTelemetry: the series of tables/metrics.def, all of them every ten seconds and at the end, with
 * cumulative values. Concatenated messages form a valid MetricsData file; a server receives them one by one
 * (OTLP/HTTP).
 */
#include <errno.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "event/event.h"
#include "metrics/metrics.h"
#include "sinks/otlp/otlp_metric.h"
#include "sinks/otlp/otlp_resource.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"

#define EVERY_NS (10 * NS_PER_S)

struct otlp_metrics {
	struct metrics *metrics;	/* owned */
	uint64_t due_ns;		/* boot time of the next messages; 0 = no event yet */
	uint64_t last_ns;		/* boot time of the last event */
	int64_t offset_ns;		/* to wall-clock time */
	const struct names *names;	/* of the stream */
	bool refused;			/* events had no room */
};

static int otlp_metrics_open(struct sink *s, struct err *err)
{
	const struct metrics_opts o = { .families = metrics_table_own() };
	struct otlp_metrics *st = s->state;

	return metrics_new(&o, s->opts->reg, &st->metrics, err);
}

static int put_message(void *ctx, const void *data, size_t len, size_t n)
{
	struct sink *s = ctx;

	return outfile_batch(s->out, data, len, n);
}

static int put_all(struct sink *s, uint64_t now_ns)
{
	struct otlp_metrics *st = s->state;
	const struct otlp_metric_time t = { .now_ns = now_ns, .offset_ns = st->offset_ns };
	const struct otlp_host host = { .host = s->opts->host, .names = st->names };
	int r = otlp_metric(st->metrics, &host, &t, put_message, s);

	metrics_expire(st->metrics, now_ns);
	st->due_ns = now_ns + EVERY_NS;
	return r;
}

/* Compares event times, so a recording always gives the same messages. */
static int otlp_metrics_event(struct sink *s, const struct event *ev)
{
	struct otlp_metrics *st = s->state;
	int r = st->due_ns && ev->ts_ns >= st->due_ns ? put_all(s, ev->ts_ns) : 0;

	if (r < 0)
		return r;
	if (!st->due_ns)
		st->due_ns = ev->ts_ns + EVERY_NS;
	if (ev->ts_ns > st->last_ns)
		st->last_ns = ev->ts_ns;
	st->offset_ns = ev->clock_offset_ns ? ev->clock_offset_ns : st->offset_ns;
	st->names = ev->names;
	if (metrics_take(st->metrics, ~0u, ev) < 0) { /* the others go on; the end says how many */
		outfile_count_dropped(s->out, 1);
		st->refused = true;
	}
	return 0;
}

/* A server should not have to wait for the next event. */
static int otlp_metrics_flush(struct sink *s)
{
	const struct otlp_metrics *st = s->state;
	uint64_t now_ns = clock_boot_ns();

	if (!st->due_ns || s->opts->wait || !outfile_is_remote(s->out) || now_ns < st->due_ns)
		return 0;
	return put_all(s, now_ns);
}

static int otlp_metrics_close(struct sink *s)
{
	struct otlp_metrics *st = s->state;
	int r = st->due_ns ? put_all(s, st->last_ns) : 0;

	metrics_free(st->metrics);
	return r < 0 ? r : st->refused ? -ENOMEM : 0;
}

const struct sink_ops otlp_metrics_sink = {
	.name = "otlp-metrics",
	.summary = "metrics for OpenTelemetry: to a file or a server (-o otlp-metrics:http://HOST:4318)",
	.suffix = ".metrics.otlp",
	.flags = SINK_BINARY,
	.http_client_path = OTLP_METRIC_PATH,
	.http_client_type = OTLP_METRIC_TYPE,
	.post_things = "data points",
	.state_size = sizeof(struct otlp_metrics),
	.open = otlp_metrics_open,
	.event = otlp_metrics_event,
	.flush = otlp_metrics_flush,
	.close = otlp_metrics_close,
};
