// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent/metrics/agent_measure.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "agent/agent_conf.h"
#include "agent/agent_inst.h"
#include "agent/metrics/agent_push.h"
#include "agent/agent_request.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "event/decode.h"
#include "event/event.h"
#include "ipc/proto.h"
#include "metrics/metrics.h"
#include "metrics/metrics_text.h"
#include "pipeline/pipeline.h"
#include "sinks/otlp/otlp_resource.h"

#define DEFAULT_INTERVAL_NS (5 * NS_PER_S)
#define EXPIRE_NS (60 * NS_PER_S)
#define INTERVAL "INTERVAL"	/* in the table's probes: the configured interval */

/* ---- probes ---- */

static void put_word(const struct agent_measure *a, const char *word, size_t len, struct buf *out)
{
	const size_t n = strlen(INTERVAL);

	if (len >= n && !memcmp(word + len - n, INTERVAL, n))
		buf_printf(out, "%.*s%" PRIu64 "ms", (int)(len - n), word, MAX(a->interval_ns / (uint64_t)NS_PER_MS,
									      (uint64_t)1));
	else
		buf_add(out, word, len);
	buf_add_char(out, '\0');
}

/* "probe=net option=--count" as strings of a subscription. */
static int parse(const struct agent_measure *a, const char *probes, struct agent_request *ret, struct err *err)
{
	_cleanup_(buf_fini) struct buf words = { 0 };

	while (*probes) {
		size_t len = strcspn(probes, " ");

		if (len)
			put_word(a, probes, len, &words);
		probes += len + (probes[len] == ' ');
	}
	if (buf_error(&words))
		return err_errno(err, buf_error(&words), "cannot start its probes");
	return agent_request_parse(&(struct proto_frame){ .data = words.data, .len = (uint32_t)words.len }, ret, err);
}

static void add_instances(struct agent_measure *a, uint32_t mask, uint32_t family)
{
	for (uint16_t i = 1; i < SONDE_INSTANCES; i++)
		a->of[i] |= mask & 1u << i ? family : 0;
}

static int start_family(struct agent_measure *a, const struct metric_family *f, uint32_t family, struct err *err)
{
	struct agent_request q;
	uint32_t mask = 0;
	int r = parse(a, f->probes, &q, err);

	if (r < 0)
		return r;
	a->starting = family;
	r = agent_inst_get_all(a->insts, &q, &mask, err);
	add_instances(a, mask, family);
	if (r >= 0)
		r = agent_inst_snapshot(a->insts, mask, NULL, err);
	if (r >= 0)
		agent_inst_started(a->insts, mask);
	a->starting = 0;
	agent_request_fini(&q);
	return r;
}

/* A family whose probe cannot start leaves the others alone. */
static void run_job(void *ctx)
{
	struct agent_measure *a = ctx;

	for (size_t i = 0; i < metrics_table_n_families; i++) {
		const struct metric_family *f = &metrics_table_families[i];
		struct err err = { 0 };

		if (!(a->families & 1u << i))
			continue;
		if (start_family(a, f, 1u << i, &err) >= 0)
			a->up |= 1u << i;
		else
			log_error("no metrics of family %s: %s", f->name, err.msg);
	}
}

/* ---- life ---- */

int agent_measure_open(struct agent_measure *a, struct loop *loop, const struct agent_conf *conf, struct err *err)
{
	struct metrics_opts o = { 0 };
	int r = conf->metrics_families ? metrics_table_mask(conf->metrics_families, &a->families, &o.more, err) :
				      0;

	if (r < 0)
		return err_prefix(err, "metrics-families");
	a->interval_ns = conf->metrics_interval_ns ? conf->metrics_interval_ns : DEFAULT_INTERVAL_NS;
	o.families = a->families;
	if (conf->otlp_metrics && !a->families)
		return err_set(err, -EINVAL, "otlp-metrics sends what metrics-families lists, and none is named");
	if (a->families)
		r = metrics_new(&o, pipeline_registry(a->insts->pipeline), &a->metrics, err);
	return r >= 0 && conf->otlp_metrics ? agent_push_open(conf->otlp_metrics, loop, &a->push, err) : r;
}

void agent_measure_start(struct agent_measure *a)
{
	a->job = (struct coop_job){ .name = "metrics", .run = run_job, .ctx = a, .plain = true };
	if (a->metrics)
		coop_submit(pipeline_coop(a->insts->pipeline), &a->job);
}

static struct otlp_host host_of(const struct agent_measure *a)
{
	const struct pipeline *p = a->insts->pipeline;

	return (struct otlp_host){ .host = pipeline_host(p), .names = decode_set_names(pipeline_decoders(p)) };
}

void agent_measure_close(struct agent_measure *a)
{
	if (a->push) {
		const struct otlp_host host = host_of(a);

		agent_push_close(TAKE_PTR(a->push), a->metrics, &host);
	}
	metrics_free(TAKE_PTR(a->metrics));
}

/* ---- events ---- */

bool agent_measure_wants(const struct agent_measure *a, uint16_t instance)
{
	return a->metrics && instance && instance < SONDE_INSTANCES &&
	       (a->of[instance] || (a->starting && !a->insts->of[instance]));
}

void agent_measure_event(struct agent_measure *a, const struct event *ev)
{
	if (!agent_measure_wants(a, ev->instance))
		return;
	if (metrics_take(a->metrics, a->of[ev->instance] ? a->of[ev->instance] : a->starting, ev) < 0)
		a->lost++;
}

void agent_measure_tick(struct agent_measure *a, uint64_t now_ns)
{
	const struct otlp_host host = host_of(a);

	agent_push_tick(a->push, a->metrics, &host, now_ns);
	if (!a->metrics || now_ns < a->expired_ns + EXPIRE_NS)
		return;
	a->expired_ns = now_ns;
	metrics_expire(a->metrics, now_ns);
}

/* ---- text ---- */

static void put_pushed(const struct agent_measure *a, bool openmetrics, struct buf *out)
{
	struct http_client_stats st;

	agent_push_stats(a->push, &st);
	metrics_text_head(out, "sonde_otlp_points", "counter", "Data points for the server of OpenTelemetry.",
			  openmetrics);
	buf_printf(out, "sonde_otlp_points_total{outcome=\"delivered\"} %" PRIu64 "\n"
			"sonde_otlp_points_total{outcome=\"lost\"} %" PRIu64 "\n",
		   st.delivered, st.lost_queue + st.lost_refused + st.lost_unreached);
}

static void put_families(const struct agent_measure *a, bool openmetrics, struct buf *out)
{
	metrics_text_head(out, "sonde_metrics_up", "gauge", "The probes of a family of metrics run.", openmetrics);
	for (size_t i = 0; i < metrics_table_n_families; i++)
		if (a->families & 1u << i)
			buf_printf(out, "sonde_metrics_up{family=\"%s\"} %d\n", metrics_table_families[i].name,
				   a->up & 1u << i ? 1 : 0);
	metrics_text_head(out, "sonde_metrics_series", "gauge", "Series of these families.", openmetrics);
	buf_printf(out, "sonde_metrics_series %zu\n", metrics_n_series(a->metrics));
	metrics_text_head(out, "sonde_metrics_lost", "counter", "Events that no memory was left to count.",
			  openmetrics);
	buf_printf(out, "sonde_metrics_lost_total %" PRIu64 "\n", a->lost);
}

void agent_measure_write(const struct agent_measure *a, bool openmetrics, struct buf *out)
{
	if (!a->metrics)
		return;
	put_families(a, openmetrics, out);
	if (a->push)
		put_pushed(a, openmetrics, out);
	metrics_text(a->metrics, openmetrics, out);
}

/* ---- lag ---- */

void agent_measure_lag(struct agent_lag *l, const struct sonde_rec *r)
{
	uint64_t now = clock_boot_ns();

	l->due = false;
	l->now = MAX(l->now, now > r->ts_ns ? now - r->ts_ns : 0);
}

uint64_t agent_measure_lag_ns(const struct agent_lag *l)
{
	return MAX(l->now, l->last);
}
