// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Metrics in Prometheus' text format 0.0.4: one sample per total (FIELD_TOTAL) and set of labels (FIELD_LABEL) of
 * each event type, sorted; then the series of tables/metrics.def. Written at the end.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "event/event.h"
#include "event/names.h"
#include "metrics/metrics.h"
#include "metrics/metrics_text.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"
#include "sonde/wire.h"

struct sample {
	const struct event_desc *desc;
	const struct field *field;
	char *labels;		/* owned; including the braces */
	uint64_t value;
};

struct prometheus {
	struct map by_key;	/* hash of type, field and labels -> index in samples + 1 */
	VEC(struct sample) samples;
	struct metrics *metrics;	/* owned; NULL = no event types are registered */
	bool refused;			/* events had no room */
	struct buf labels, out;
};

static int prometheus_open(struct sink *s, struct err *err)
{
	const struct metrics_opts o = { .families = metrics_table_own(), .idle_ns = UINT64_MAX };
	struct prometheus *st = s->state;

	map_init(&st->by_key, sizeof(uint64_t), sizeof(size_t));
	return s->opts->reg ? metrics_new(&o, s->opts->reg, &st->metrics, err) : 0;
}

/* ---- labels ---- */

static void begin_label(struct buf *out, const char *key)
{
	buf_printf(out, "%s%s=\"", out->len > 1 ? "," : "", key);
}

static void put_label(const struct event *ev, const struct field *f, struct buf *out)
{
	struct value v;

	if (event_get(ev, f, &v) < 0)
		return;
	begin_label(out, event_field_key(f));
	if (v.kind == VAL_STR) {
		metrics_text_escape(out, v.str, v.len);
	} else {
		_cleanup_(buf_fini) struct buf text = { 0 };

		value_text(&v, &text);
		metrics_text_escape(out, text.data ? text.data : "", text.len);
	}
	buf_add_char(out, '"');
}

/* Interface names may repeat across namespaces. */
static void put_netns(const struct event *ev, struct buf *out)
{
	const char *name = event_names_get(ev->names, SONDE_NAME_NETNS, ev->keys.netns);

	if (!ev->keys.netns)
		return;
	begin_label(out, "netns");
	if (name)
		metrics_text_escape(out, name, strlen(name));
	else
		buf_printf(out, "%" PRIu32, ev->keys.netns);
	buf_add_char(out, '"');
}

static int set_labels(const struct event *ev, struct buf *out)
{
	buf_reset(out);
	buf_add_char(out, '{');
	for (uint16_t i = 0; i < ev->desc->n_fields; i++)
		if (ev->desc->fields[i].flags & FIELD_LABEL)
			put_label(ev, &ev->desc->fields[i], out);
	put_netns(ev, out);
	return buf_add_char(out, '}');
}

/* ---- samples ---- */

static struct sample *new_sample(struct prometheus *st, const struct event_desc *d, const struct field *f,
				 uint64_t key)
{
	struct sample *sample;
	size_t *index;

	if (vec_grow(&st->samples) < 0)
		return NULL;
	sample = &st->samples.items[st->samples.len];
	*sample = (struct sample){ .desc = d, .field = f, .labels = strdup(buf_str(&st->labels)) };
	index = sample->labels ? map_add(&st->by_key, &key, NULL) : NULL;
	if (!index) {
		free(sample->labels);
		return NULL;
	}
	*index = ++st->samples.len;
	return sample;
}

static int set_sample(struct prometheus *st, const struct event *ev, const struct field *f)
{
	uint64_t key = map_hash(st->labels.data, st->labels.len) ^ ((uint64_t)ev->desc->type << 16 | f->off) *
		       0x9e3779b97f4a7c15ull;
	size_t *index = map_find(&st->by_key, &key);
	struct sample *sample = index ? &st->samples.items[*index - 1] : NULL;
	uint64_t value;

	if (event_get_number(ev, f, &value) < 0)
		return 0;
	if (!sample)
		sample = new_sample(st, ev->desc, f, key);
	if (!sample)
		return -ENOMEM;
	sample->value = value;
	return 0;
}

static int prometheus_event(struct sink *s, const struct event *ev)
{
	struct prometheus *st = s->state;
	bool labelled = false;
	int r = 0;

	if (st->metrics && metrics_take(st->metrics, ~0u, ev) < 0) { /* the others go on; the end says how many */
		outfile_count_dropped(s->out, 1);
		st->refused = true;
	}

	for (uint16_t i = 0; r >= 0 && i < ev->desc->n_fields; i++) {
		const struct field *f = &ev->desc->fields[i];

		if (!(f->flags & FIELD_TOTAL))
			continue;
		r = labelled ? 0 : set_labels(ev, &st->labels);
		labelled = true;
		if (r >= 0)
			r = set_sample(st, ev, f);
	}
	return r;
}

/* ---- the end ---- */

static int by_name(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return strcmp(x->desc->name, y->desc->name) ?: strcmp(x->field->name, y->field->name) ?:
	       strcmp(x->labels, y->labels);
}

/* net.count's "count.total_packets" becomes "sonde_net_count_packets_total". */
static void put_name(const struct sample *s, struct buf *out)
{
	const char *key = event_field_key(s->field);
	size_t from = out->len;

	if (!strncmp(key, "total_", 6))
		key += 6;
	buf_printf(out, "sonde_%s_%s_total", s->desc->name, key);
	for (size_t i = from; i < out->len; i++)
		if (out->data[i] == '.' || out->data[i] == '-')
			out->data[i] = '_';
}

static void put_samples(const struct prometheus *st, struct buf *out)
{
	for (size_t i = 0; i < st->samples.len; i++) {
		const struct sample *s = &st->samples.items[i];

		if (!i || s->field != s[-1].field) {
			buf_add_str(out, "# HELP ");
			put_name(s, out);
			buf_printf(out, " %s\n# TYPE ", s->field->doc);
			put_name(s, out);
			buf_add_str(out, " counter\n");
		}
		put_name(s, out);
		buf_printf(out, "%s %" PRIu64 "\n", s->labels[1] == '}' ? "" : s->labels, s->value);
	}
}

static int prometheus_close(struct sink *s)
{
	struct prometheus *st = s->state;
	int r = 0;

	vec_sort(&st->samples, by_name);
	put_samples(st, &st->out);
	if (st->metrics)
		metrics_text(st->metrics, false, &st->out);
	r = buf_error(&st->out);
	if (r >= 0 && st->out.len)
		r = outfile_record(s->out, st->out.data, st->out.len);
	for (size_t i = 0; i < st->samples.len; i++)
		free(st->samples.items[i].labels);
	vec_fini(&st->samples);
	metrics_free(st->metrics);
	map_fini(&st->by_key);
	buf_fini(&st->labels);
	buf_fini(&st->out);
	return r < 0 ? r : st->refused ? -ENOMEM : 0;
}

const struct sink_ops prometheus_sink = {
	.name = "prometheus", .summary = "metrics in Prometheus' text format, at the end", .suffix = ".prom",
	.flags = SINK_AT_CLOSE, .state_size = sizeof(struct prometheus), .open = prometheus_open,
	.event = prometheus_event, .close = prometheus_close,
};
