// SPDX-License-Identifier: GPL-2.0-or-later
#include "sinks/otlp/otlp_metric.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/vec.h"
#include "metrics/metrics.h"
#include "metrics/metrics_expo.h"
#include "sinks/otlp/otlp_kv.h"
#include "sinks/otlp/otlp_resource.h"
#include "base/protobuf/protobuf.h"

#define MESSAGE_BYTES (1u << 20)	/* a server may refuse more than 4 MiB */
#define SERVICE_NAME "service.name"

/* Field numbers by message. */
enum { R_RESOURCE_METRICS = 1 };
enum { M_NAME = 1, M_DESCRIPTION, M_UNIT, M_SUM = 7, M_HISTOGRAM = 9, M_EXPO };
enum { DATA_POINTS = 1, DATA_TEMPORALITY, SUM_MONOTONIC };
enum { N_START = 2, N_TIME, N_DOUBLE, N_INT = 6, N_ATTRIBUTES };
enum { H_START = 2, H_TIME, H_COUNT, H_SUM, H_BUCKETS, H_BOUNDS, H_EXEMPLARS, H_ATTRIBUTES };
enum { X_ATTRIBUTES = 1, X_COUNT = 4, X_SUM, X_SCALE, X_ZERO, X_POSITIVE };
enum { B_OFFSET = 1, B_COUNTS };
enum { E_TIME = 2, E_DOUBLE, E_SPAN, E_TRACE };
#define CUMULATIVE 2

struct resource {
	char *service;		/* owned; NULL = the host */
	struct buf scope;	/* Metric fields of a ScopeMetrics message */
	struct buf points;	/* of the metric at hand */
};

struct encoder {
	const struct otlp_metric_time *t;
	const struct otlp_host *host;
	const struct metric *metric;	/* at hand; NULL = none yet */
	VEC(struct resource) resources;
	size_t n_points, bytes;		/* of the message */
	struct otlp_kv kv;
	struct buf point, part, message;
	otlp_metric_fn fn;
	void *ctx;
};

/* Also a 0, which a oneof or an optional field must have. */
static void put_fixed64(struct buf *out, uint32_t field, uint64_t v)
{
	char bytes[sizeof(v)];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(v >> 8 * i);
	protobuf_varint(out, (uint64_t)field << 3 | 1);
	buf_add(out, bytes, sizeof(bytes));
}

static uint64_t bits_of(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

static void put_seconds(struct buf *out, uint32_t field, uint64_t ns)
{
	put_fixed64(out, field, bits_of((double)ns / 1e9));
}

/* Tag and length of a packed field of @n numbers of 64 bits. */
static void begin_packed(struct buf *out, uint32_t field, size_t n)
{
	protobuf_varint(out, (uint64_t)field << 3 | 2);
	protobuf_varint(out, n * sizeof(uint64_t));
}

static void put_word(struct buf *out, uint64_t v)
{
	for (unsigned i = 0; i < sizeof(v); i++)
		buf_add_char(out, (char)(v >> 8 * i));
}

/* ---- messages ---- */

static void put_resource_metrics(struct encoder *e, struct resource *r)
{
	struct buf resource = { 0 };

	if (r->service)
		otlp_resource_service(&e->kv, e->host, r->service, &resource);
	else
		otlp_resource_host(&e->kv, e->host, &resource);
	buf_reset(&e->part);
	otlp_resource_put(&e->part, &resource, &r->scope);
	protobuf_bytes(&e->message, R_RESOURCE_METRICS, e->part.data, e->part.len);
	if (buf_error(&e->part))
		e->message.error = -ENOMEM;
	buf_fini(&resource);
	buf_reset(&r->scope);
}

/* The points of the metric at hand become a Metric message. */
static void end_metric(struct encoder *e, struct resource *r)
{
	const struct metric *m = e->metric;
	struct buf data = { 0 };

	buf_reset(&e->part);
	buf_add(&data, r->points.data, r->points.len);
	protobuf_uint(&data, DATA_TEMPORALITY, CUMULATIVE);
	if (m->kind == METRIC_COUNTER)
		protobuf_uint(&data, SUM_MONOTONIC, 1);
	protobuf_text(&e->part, M_NAME, m->name, strlen(m->name));
	protobuf_text(&e->part, M_DESCRIPTION, m->help, strlen(m->help));
	protobuf_text(&e->part, M_UNIT, metrics_table_unit(m), strlen(metrics_table_unit(m)));
	protobuf_bytes(&e->part, metrics_table_own_bounds(m) ? M_EXPO : m->kind == METRIC_COUNTER ? M_SUM :
		       M_HISTOGRAM, data.data, data.len);
	protobuf_bytes(&r->scope, OTLP_FIELD_ITEMS, e->part.data, e->part.len);
	if (buf_error(&data) || buf_error(&e->part) || buf_error(&r->points))
		e->message.error = -ENOMEM;
	buf_fini(&data);
	buf_reset(&r->points);
}

static void end_metrics(struct encoder *e)
{
	for (size_t i = 0; i < e->resources.len; i++)
		if (e->resources.items[i].points.len)
			end_metric(e, &e->resources.items[i]);
}

static int end_message(struct encoder *e)
{
	int r;

	end_metrics(e);
	for (size_t i = 0; i < e->resources.len; i++) {
		if (buf_error(&e->resources.items[i].scope))
			e->message.error = -ENOMEM;
		if (e->resources.items[i].scope.len)
			put_resource_metrics(e, &e->resources.items[i]);
	}
	r = buf_error(&e->message);
	if (r == 0 && e->n_points)
		r = e->fn(e->ctx, e->message.data, e->message.len, e->n_points);
	buf_reset(&e->message);
	e->n_points = e->bytes = 0;
	return r;
}

/* ---- points ---- */

/* Is it the label that names the resource? */
static bool is_service(const struct metrics_series *s, size_t i)
{
	return s->labels[i].known && !strcmp(s->labels[i].attribute, SERVICE_NAME);
}

static uint64_t number_of(const struct metrics_label *l)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < l->len && l->text[i] >= '0' && l->text[i] <= '9' && i < 18; i++)
		n = n * 10 + (uint64_t)(l->text[i] - '0');
	return n;
}

/* In the conventions. */
static bool is_number(const char *attribute)
{
	return !strcmp(attribute, "http.response.status_code") || !strcmp(attribute, "server.port") ||
	       !strcmp(attribute, "process.pid");
}

static void put_labels(struct encoder *e, const struct metrics_series *s, uint32_t field)
{
	if (s->overflow)
		otlp_kv_bool(&e->kv, &e->point, field, "otel.metric.overflow", true);
	for (size_t i = 0; i < s->n_labels; i++) {
		const struct metrics_label *l = &s->labels[i];

		if (!l->known || is_service(s, i))
			continue;
		if (is_number(l->attribute))
			otlp_kv_number(&e->kv, &e->point, field, l->attribute, number_of(l));
		else
			otlp_kv_text(&e->kv, &e->point, field, l->attribute, l->text, l->len);
	}
}

static void put_times(struct encoder *e, const struct metrics_series *s)
{
	const uint64_t offset_ns = (uint64_t)e->t->offset_ns;

	put_fixed64(&e->point, N_START, s->start_ns + offset_ns);
	put_fixed64(&e->point, N_TIME, MAX(e->t->now_ns, s->start_ns) + offset_ns);
}
_Static_assert((int)N_START == (int)H_START && (int)N_TIME == (int)H_TIME, "both kinds of points have the same");

static void put_number(struct encoder *e, const struct metrics_series *s)
{
	put_times(e, s);
	if (s->metric->unit == METRIC_NS)
		put_seconds(&e->point, N_DOUBLE, s->value);
	else
		put_fixed64(&e->point, N_INT, s->value);
	put_labels(e, s, N_ATTRIBUTES);
}

/* @text: hex digits of an id of @n bytes. */
static void put_id(struct buf *out, uint32_t field, const char *text, size_t n)
{
	uint8_t id[16];

	if (otlp_kv_unhex(text, strlen(text), id, n))
		protobuf_bytes(out, field, id, n);
}

static void put_exemplar(struct encoder *e, const struct metrics_exemplar *x)
{
	buf_reset(&e->part);
	put_fixed64(&e->part, E_TIME, x->wall_ns);
	put_seconds(&e->part, E_DOUBLE, x->value_ns);
	put_id(&e->part, E_SPAN, x->span, 8);
	put_id(&e->part, E_TRACE, x->trace, 16);
	protobuf_bytes(&e->point, H_EXEMPLARS, e->part.data, e->part.len);
	if (buf_error(&e->part))
		e->message.error = -ENOMEM;
}

/* A sint32. */
static void put_signed(struct buf *out, uint32_t field, int32_t v)
{
	protobuf_uint(out, field, (uint32_t)v << 1 ^ (v < 0 ? UINT32_MAX : 0));
}

static void put_exponential(struct encoder *e, const struct metrics_series *s)
{
	const struct metrics_expo *x = s->expo;
	struct buf counts = { 0 };

	put_times(e, s);
	put_fixed64(&e->point, X_COUNT, s->count);
	put_seconds(&e->point, X_SUM, s->value);
	put_signed(&e->point, X_SCALE, x->scale);
	put_fixed64(&e->point, X_ZERO, x->zero);
	for (uint32_t i = 0; i < x->n; i++)
		protobuf_varint(&counts, x->counts[i]);
	buf_reset(&e->part);
	put_signed(&e->part, B_OFFSET, x->offset);
	protobuf_bytes(&e->part, B_COUNTS, counts.data, counts.len);
	protobuf_bytes(&e->point, X_POSITIVE, e->part.data, e->part.len);
	if (buf_error(&e->part) || buf_error(&counts))
		e->message.error = -ENOMEM;
	buf_fini(&counts);
	put_labels(e, s, X_ATTRIBUTES);
}

static void put_histogram(struct encoder *e, const struct metrics_series *s)
{
	const uint64_t *bounds = NULL;
	size_t n = metrics_table_bounds(s->metric, &bounds);

	put_times(e, s);
	put_fixed64(&e->point, H_COUNT, s->count);
	put_seconds(&e->point, H_SUM, s->value);
	begin_packed(&e->point, H_BUCKETS, n + 1);
	for (size_t i = 0; i <= n; i++)
		put_word(&e->point, s->buckets[i]);
	begin_packed(&e->point, H_BOUNDS, n);
	for (size_t i = 0; i < n; i++)
		put_word(&e->point, bits_of((double)bounds[i] / 1e9));
	for (size_t i = 0; s->exemplars && i <= n; i++)
		if (*s->exemplars[i].trace)
			put_exemplar(e, &s->exemplars[i]);
	put_labels(e, s, H_ATTRIBUTES);
}

/* @service: not terminated; NULL = the host. NULL without memory. */
static struct resource *resource_of(struct encoder *e, const char *service, size_t len)
{
	struct resource *r;

	for (size_t i = 0; i < e->resources.len; i++) {
		r = &e->resources.items[i];
		if (!service == !r->service &&
		    (!service || (strlen(r->service) == len && !memcmp(r->service, service, len))))
			return r;
	}
	if (vec_grow(&e->resources) < 0)
		return NULL;
	r = &e->resources.items[e->resources.len];
	*r = (struct resource){ .service = service ? strndup(service, len) : NULL };
	if (service && !r->service)
		return NULL;
	e->resources.len++;
	return r;
}

static struct resource *resource_of_series(struct encoder *e, const struct metrics_series *s)
{
	for (size_t i = 0; i < s->n_labels; i++)
		if (is_service(s, i) && !memchr(s->labels[i].text, '\0', s->labels[i].len))
			return resource_of(e, s->labels[i].text, s->labels[i].len);
	return resource_of(e, NULL, 0);
}

static int put_series(void *ctx, const struct metrics_series *s, bool first)
{
	struct encoder *e = ctx;
	struct resource *r;
	int ret;

	if (first)
		end_metrics(e);
	ret = e->bytes > MESSAGE_BYTES ? end_message(e) : 0;
	e->metric = s->metric;
	r = resource_of_series(e, s);
	if (ret < 0 || !r)
		return ret < 0 ? ret : -ENOMEM;
	buf_reset(&e->point);
	if (s->expo)
		put_exponential(e, s);
	else if (s->metric->kind == METRIC_HISTOGRAM)
		put_histogram(e, s);
	else
		put_number(e, s);
	if (buf_error(&e->point))
		return -ENOMEM;
	protobuf_bytes(&r->points, DATA_POINTS, e->point.data, e->point.len);
	e->bytes += e->point.len;
	e->n_points++;
	return 0;
}

static void encoder_fini(struct encoder *e)
{
	for (size_t i = 0; i < e->resources.len; i++) {
		free(e->resources.items[i].service);
		buf_fini(&e->resources.items[i].scope);
		buf_fini(&e->resources.items[i].points);
	}
	vec_fini(&e->resources);
	otlp_kv_fini(&e->kv);
	buf_fini(&e->point);
	buf_fini(&e->part);
	buf_fini(&e->message);
}

int otlp_metric(const struct metrics *m, const struct otlp_host *host, const struct otlp_metric_time *t,
		otlp_metric_fn fn, void *ctx)
{
	struct encoder e = { .t = t, .host = host, .fn = fn, .ctx = ctx };
	int r = metrics_each(m, put_series, &e);

	if (r >= 0)
		r = end_message(&e);
	encoder_fini(&e);
	return r;
}
