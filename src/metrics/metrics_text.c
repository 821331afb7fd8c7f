// SPDX-License-Identifier: GPL-2.0-or-later
#include "metrics/metrics_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/str.h"
#include "metrics/metrics.h"

struct page {
	struct buf *out;
	struct buf name, labels;	/* of the family, of the series */
	bool openmetrics;
};

static const char *const kinds[] = { [METRIC_COUNTER] = "counter", [METRIC_HISTOGRAM] = "histogram" };
_Static_assert(ARRAY_SIZE(kinds) == METRIC_KIND__MAX, "each kind has a name");

void metrics_text_escape(struct buf *out, const char *text, size_t len)
{
	struct buf plain = { 0 };

	str_escape_buf(&plain, text, len);
	for (size_t i = 0; i < plain.len; i++) {
		if (plain.data[i] == '"' || plain.data[i] == '\\')
			buf_add_char(out, '\\');
		buf_add_char(out, plain.data[i]);
	}
	if (buf_error(&plain))
		out->error = buf_error(&plain);
	buf_fini(&plain);
}

/* In the Prometheus format a counter's family has the name of its samples. */
void metrics_text_head(struct buf *out, const char *name, const char *kind, const char *help, bool openmetrics)
{
	const char *total = !strcmp(kind, "counter") && !openmetrics ? "_total" : "";

	buf_printf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, total, help, name, total, kind);
}

static void set_labels(const struct metrics_series *s, struct buf *out)
{
	buf_reset(out);
	if (s->overflow)
		buf_add_str(out, "otel_metric_overflow=\"true\"");
	for (size_t i = 0; i < s->n_labels; i++) {
		if (!s->labels[i].known)
			continue;
		buf_printf(out, "%s%s=\"", out->len ? "," : "", s->labels[i].key);
		metrics_text_escape(out, s->labels[i].text, s->labels[i].len);
		buf_add_char(out, '"');
	}
}

/* Exact: a double holds 53 bits only. */
static void put_seconds(struct buf *out, uint64_t ns)
{
	size_t end;

	buf_printf(out, "%" PRIu64 ".%09" PRIu64, ns / (uint64_t)NS_PER_S, ns % (uint64_t)NS_PER_S);
	if (buf_error(out))
		return;
	for (end = out->len; out->data[end - 1] == '0' && out->data[end - 2] != '.'; end--)
		;
	out->len = end;
}

static void put_value(struct page *p, const struct metrics_series *s)
{
	if (s->metric->unit == METRIC_NS)
		put_seconds(p->out, s->value);
	else
		buf_printf(p->out, "%" PRIu64, s->value);
	buf_add_char(p->out, '\n');
}

/* Name, suffix and labels of a sample. */
static void put_name(struct page *p, const char *suffix)
{
	buf_add(p->out, p->name.data, p->name.len);
	buf_add_str(p->out, suffix);
	if (p->labels.len) {
		buf_add_char(p->out, '{');
		buf_add(p->out, p->labels.data, p->labels.len);
		buf_add_char(p->out, '}');
	}
	buf_add_char(p->out, ' ');
}

static void put_exemplar(struct page *p, const struct metrics_exemplar *e)
{
	buf_printf(p->out, " # {trace_id=\"%s\"", e->trace);
	if (*e->span)
		buf_printf(p->out, ",span_id=\"%s\"", e->span);
	buf_add_str(p->out, "} ");
	put_seconds(p->out, e->value_ns);
	buf_add_char(p->out, ' ');
	put_seconds(p->out, e->wall_ns);
}

static void put_bucket(struct page *p, const struct metrics_series *s, size_t i, uint64_t bound, uint64_t count)
{
	buf_add(p->out, p->name.data, p->name.len);
	buf_add_str(p->out, "_bucket{");
	buf_add(p->out, p->labels.data, p->labels.len);
	buf_printf(p->out, "%sle=\"", p->labels.len ? "," : "");
	if (bound)
		put_seconds(p->out, bound);
	else
		buf_add_str(p->out, "+Inf");
	buf_printf(p->out, "\"} %" PRIu64, count);
	if (p->openmetrics && s->exemplars && *s->exemplars[i].trace)
		put_exemplar(p, &s->exemplars[i]);
	buf_add_char(p->out, '\n');
}

static void put_histogram(struct page *p, const struct metrics_series *s)
{
	const uint64_t *bounds;
	size_t n = metrics_table_bounds(s->metric, &bounds);
	uint64_t sum = 0;

	for (size_t i = 0; i <= n; i++) {
		sum += s->buckets[i];
		put_bucket(p, s, i, i < n ? bounds[i] : 0, sum);
	}
	put_name(p, "_sum");
	put_value(p, s);
	put_name(p, "_count");
	buf_printf(p->out, "%" PRIu64 "\n", s->count);
}

static int put_series(void *ctx, const struct metrics_series *s, bool first)
{
	struct page *p = ctx;

	if (first) {
		buf_reset(&p->name);
		metrics_table_prometheus(s->metric, &p->name);
		metrics_text_head(p->out, buf_str(&p->name), kinds[s->metric->kind], s->metric->help, p->openmetrics);
	}
	set_labels(s, &p->labels);
	if (s->metric->kind == METRIC_HISTOGRAM) {
		put_histogram(p, s);
	} else {
		put_name(p, "_total");
		put_value(p, s);
	}
	if (buf_error(&p->name) || buf_error(&p->labels))
		p->out->error = buf_error(&p->name) ? buf_error(&p->name) : buf_error(&p->labels);
	return buf_error(p->out);
}

void metrics_text(const struct metrics *m, bool openmetrics, struct buf *out)
{
	struct page p = { .out = out, .openmetrics = openmetrics };

	metrics_each(m, put_series, &p);
	buf_fini(&p.name);
	buf_fini(&p.labels);
}
