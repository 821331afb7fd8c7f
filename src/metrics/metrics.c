// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A series is identified by a hash of its labels' values; their texts are copied once, when it is created. Series 0
 * of a metric is the overflow.
 */
#include "metrics/metrics.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "metrics/metrics_expo.h"
#include "metrics/metrics_fields.h"

#define DEFAULT_SERIES 2000u
#define DEFAULT_IDLE_NS (15 * 60 * NS_PER_S)
#define IDS_MAX 500000u		/* of a metric; events of further ones are refused */
#define IDS_IDLE_NS (5 * 60 * NS_PER_S)
#define IDS 4u			/* most fields of an id */
#define LABEL_BYTES 160u	/* longer values are cut */
#define LONG_STEP_NS (4 * NS_PER_S)	/* for values of the last step, which has no end */
#define STEPS 128u		/* most steps of a STEPS array */

struct series {
	uint64_t start_ns, last_ns, key;
	uint64_t value, count;
	char *cells;		/* owned; per label: length + 1 (0 = unknown) as uint16_t, bytes */
	uint64_t *buckets;	/* owned; NULL = a counter */
	struct metrics_expo *expo;	/* owned; NULL = a counter, or bounds of the conventions */
	struct metrics_exemplar *exemplars;	/* owned; NULL = none yet */
};

/* Totals that an id has reported so far. */
struct seen {
	uint64_t last_ns;
	uint64_t totals[];	/* n_totals of its row */
};

/* State of a row. */
struct row {
	const struct metric *metric;
	const struct event_desc *desc;
	uint32_t family;
	struct filter *only;	/* owned; NULL = all events */
	struct metrics_field value, sum, trace, span, labels[METRIC_LABELS + METRIC_MORE], ids[IDS];
	const struct metric_label *names[METRIC_LABELS + METRIC_MORE];	/* of the labels */
	struct metrics_field flow_event;	/* says that an id has ended; empty = none does */
	size_t n_labels, n_ids, n_bounds, n_totals;
	const uint64_t *bounds;
	VEC(struct series) series;
	struct map by_key;	/* u64 -> u32 index */
	struct map seen;	/* u64 -> struct seen */
	uint64_t pruned_ns;
};

struct metrics {
	struct metrics_opts o;
	struct row *rows;	/* owned */
	size_t n_rows;
	struct buf cells, text;	/* of the event at hand */
};

DEFINE_CLEANUP(struct metrics *, metrics_free)

/* ---- rows ---- */

static int find_field(const struct row *r, const char *name, struct metrics_field *ret, struct err *err)
{
	if (metrics_fields_find(r->desc, name, ret))
		return 0;
	return err_set(err, -ENOENT, "metric %s: events of type %s have no field %s", r->metric->name,
		       r->metric->type, name);
}

static int find_ids(struct row *r, struct err *err)
{
	char words[128], *rest = words, *word;
	int ret = 0;

	snprintf(words, sizeof(words), "%s", r->metric->id ? r->metric->id : "");
	while (ret >= 0 && (word = strsep(&rest, " "))) {
		if (!*word)
			continue;
		if (r->n_ids == IDS)
			return err_set(err, -ENOENT, "metric %s: more than %u fields of an id", r->metric->name, IDS);
		ret = find_field(r, word, &r->ids[r->n_ids++], err);
	}
	return ret;
}

static int find_labels(struct row *r, uint32_t more, struct err *err)
{
	const struct metric *m = r->metric;
	int ret = 0;

	r->n_labels = metrics_table_n_labels(m);
	for (size_t i = 0; ret >= 0 && i < r->n_labels; i++) {
		r->names[i] = &m->labels[i];
		ret = find_field(r, m->labels[i].field, &r->labels[i], err);
	}
	for (size_t i = 0; ret >= 0 && i < METRIC_MORE; i++) {
		const struct metric_label *l = &metrics_table_more[i].label;

		if (!(more & 1u << i) || !metrics_fields_find(r->desc, l->field, &r->labels[r->n_labels]))
			continue;
		r->names[r->n_labels++] = l;
	}
	return ret;
}

static int find_fields(struct row *r, uint32_t more, struct err *err)
{
	const struct metric *m = r->metric;
	int ret = find_field(r, m->field, &r->value, err);

	if (ret >= 0)
		ret = find_field(r, m->sum, &r->sum, err);
	if (ret >= 0)
		ret = find_ids(r, err);
	if (ret >= 0)
		ret = find_labels(r, more, err);
	if (!r->n_ids || !metrics_fields_find(r->desc, "flow.event", &r->flow_event))
		r->flow_event = (struct metrics_field){ 0 };
	if (m->kind == METRIC_HISTOGRAM && !metrics_fields_find(r->desc, "rpc.trace", &r->trace))
		r->trace = (struct metrics_field){ 0 };
	if (m->kind == METRIC_HISTOGRAM && !metrics_fields_find(r->desc, "rpc.span", &r->span))
		r->span = (struct metrics_field){ 0 };
	return ret;
}

static void fini_series(struct series *s)
{
	free(s->cells);
	free(s->buckets);
	free(s->expo);
	free(s->exemplars);
}

static struct series *add_series(struct row *r, uint64_t key, const void *cells, size_t len)
{
	struct series s = { .key = key, .cells = malloc(MAX(len, (size_t)1)) };

	if (r->n_bounds)
		s.buckets = calloc(r->n_bounds + 1, sizeof(*s.buckets));
	if (metrics_table_own_bounds(r->metric))
		s.expo = calloc(1, sizeof(*s.expo));
	if (!s.cells || (r->n_bounds && !s.buckets) || (metrics_table_own_bounds(r->metric) && !s.expo) ||
	    vec_grow(&r->series) < 0) {
		fini_series(&s);
		return NULL;
	}
	if (len)
		memcpy(s.cells, cells, len);
	r->series.items[r->series.len] = s;
	return &r->series.items[r->series.len++];
}

/* @r: its type is found. */
static int open_row(struct row *r, const struct metric *m, uint32_t more, const struct registry *reg,
		    struct err *err)
{
	int ret;

	r->metric = m;
	r->family = metrics_table_family(m);
	r->n_bounds = metrics_table_bounds(m, &r->bounds);
	r->n_totals = m->op == METRIC_STEPS ? STEPS + 1 : 1;
	map_init(&r->by_key, sizeof(uint64_t), sizeof(uint32_t));
	map_init(&r->seen, sizeof(uint64_t), (uint32_t)(sizeof(struct seen) + r->n_totals * sizeof(uint64_t)));
	ret = find_fields(r, more, err);
	if (ret >= 0 && m->only)
		ret = filter_parse(reg, m->only, &r->only, err);
	if (ret >= 0 && !add_series(r, 0, NULL, 0))
		ret = err_errno(err, -ENOMEM, "cannot keep metrics");
	return ret;
}

static void close_row(struct row *r)
{
	for (size_t i = 0; i < r->series.len; i++)
		fini_series(&r->series.items[i]);
	vec_fini(&r->series);
	map_fini(&r->by_key);
	map_fini(&r->seen);
	filter_free(r->only);
}

int metrics_new(const struct metrics_opts *o, const struct registry *reg, struct metrics **ret, struct err *err)
{
	_cleanup_(metrics_freep) struct metrics *m = calloc(1, sizeof(*m));
	int r = 0;

	if (!m)
		return err_errno(err, -ENOMEM, "cannot keep metrics");
	m->o = *o;
	m->o.max_series = o->max_series ? o->max_series : DEFAULT_SERIES;
	m->o.idle_ns = o->idle_ns ? o->idle_ns : DEFAULT_IDLE_NS;
	m->rows = calloc(metrics_table_n, sizeof(*m->rows));
	if (!m->rows)
		return err_errno(err, -ENOMEM, "cannot keep metrics");
	for (size_t i = 0; r >= 0 && i < metrics_table_n; i++) {
		struct row *row = &m->rows[m->n_rows];

		row->desc = registry_find_name(reg, metrics_table[i].type);
		if (!row->desc || !(o->families & metrics_table_family(&metrics_table[i])))
			continue;
		m->n_rows++;
		r = open_row(row, &metrics_table[i], o->more, reg, err);
	}
	if (r < 0)
		return r;
	*ret = TAKE_PTR(m);
	return 0;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n_rows; i++)
		close_row(&m->rows[i]);
	free(m->rows);
	buf_fini(&m->cells);
	buf_fini(&m->text);
	free(m);
}

/* ---- series ---- */

static void add_cell(struct metrics *m, const struct metrics_field *f, const struct event *ev)
{
	struct value v;
	uint16_t len;

	metrics_fields_get(f, ev, &v);
	buf_reset(&m->text);
	if (v.kind == VAL_STR)
		buf_add(&m->text, v.str, v.len);
	else
		value_text(&v, &m->text);
	len = (uint16_t)(MIN(m->text.len, (size_t)LABEL_BYTES) + (v.kind != VAL_NONE && m->text.len));
	buf_add(&m->cells, &len, sizeof(len));
	if (len)
		buf_add(&m->cells, m->text.data, len - 1u);
	if (buf_error(&m->text))
		m->cells.error = buf_error(&m->text);
}

/* The series of the event's labels, or the overflow if the metric is full. NULL without memory. */
static struct series *series_of(struct metrics *m, struct row *r, const struct event *ev)
{
	struct series *s;
	uint32_t *index;
	uint64_t key;

	buf_reset(&m->cells);
	for (size_t i = 0; i < r->n_labels; i++)
		add_cell(m, &r->labels[i], ev);
	if (buf_error(&m->cells))
		return NULL;
	key = map_hash(m->cells.data, m->cells.len);
	index = map_find(&r->by_key, &key);
	if (index)
		return &r->series.items[*index];
	if (r->series.len > m->o.max_series)
		return &r->series.items[0];
	if (map_put(&r->by_key, &key, &(uint32_t){ (uint32_t)r->series.len }) < 0)
		return NULL;
	s = add_series(r, key, m->cells.data, m->cells.len);
	if (!s)
		map_remove(&r->by_key, &key);
	return s;
}

/* ---- ids ---- */

/*
 * Drops ids whose end was lost. The map cannot change while it is walked: those to keep are copied.
 */
static void prune_seen(struct row *r, uint64_t now_ns)
{
	struct map keep;
	void *key, *val;
	size_t pos = 0;

	if (now_ns < r->pruned_ns + IDS_IDLE_NS)
		return;
	r->pruned_ns = now_ns;
	map_init(&keep, r->seen.key_size, r->seen.val_size);
	while (map_next(&r->seen, &pos, &key, &val)) {
		const struct seen *s = val;

		if (s->last_ns + IDS_IDLE_NS > now_ns)
			map_put(&keep, key, s);
	}
	map_fini(&r->seen);
	r->seen = keep;
}

static uint64_t id_of(const struct row *r, const struct event *ev)
{
	uint64_t id[IDS + 1] = { ev->instance };

	for (size_t i = 0; i < r->n_ids; i++) {
		struct value v;

		metrics_fields_get(&r->ids[i], ev, &v);
		id[i + 1] = v.kind == VAL_STR && !v.has_number ? map_hash(v.str, v.len) : v.u;
	}
	return map_hash(id, sizeof(id));
}

/* NULL without memory. */
static struct seen *seen_of(struct row *r, uint64_t id, uint64_t now_ns, bool *ret_new)
{
	struct seen *s;

	if (r->seen.len >= IDS_MAX || now_ns > r->pruned_ns + 4 * IDS_IDLE_NS)
		prune_seen(r, now_ns);
	if (r->seen.len >= IDS_MAX && !map_find(&r->seen, &id))
		return NULL;
	s = map_add(&r->seen, &id, ret_new);
	if (s)
		s->last_ns = now_ns;
	return s;
}

/* Its id does not come again: closed, idle, end. */
static bool is_last(const struct row *r, const struct event *ev)
{
	struct value v;

	metrics_fields_get(&r->flow_event, ev, &v);
	return v.kind == VAL_STR && v.len && strchr("cie", *v.str);
}

/* How much @total is above what the id has reported; its clock may run backwards by a rounding. */
static uint64_t growth(uint64_t *reported, uint64_t total)
{
	uint64_t more = total > *reported ? total - *reported : 0;

	*reported += more;
	return more;
}

/* ---- adding ---- */

static size_t bucket_of(const struct row *r, uint64_t ns)
{
	size_t i = 0;

	while (i < r->n_bounds && ns > r->bounds[i])
		i++;
	return i;
}

static void copy_text(const struct metrics_field *f, const struct event *ev, char *ret, size_t size)
{
	struct value v;

	metrics_fields_get(f, ev, &v);
	*ret = '\0';
	if (v.kind == VAL_STR && v.len == size - 1)
		snprintf(ret, size, "%.*s", (int)v.len, v.str);
}

static void set_exemplar(const struct row *r, struct series *s, size_t bucket, uint64_t ns, const struct event *ev)
{
	struct metrics_exemplar e = { .value_ns = ns, .wall_ns = event_wall_ns(ev) };

	copy_text(&r->trace, ev, e.trace, sizeof(e.trace));
	copy_text(&r->span, ev, e.span, sizeof(e.span));
	if (!*e.trace)
		return;
	if (!s->exemplars)
		s->exemplars = calloc(r->n_bounds + 1, sizeof(*s->exemplars));
	if (s->exemplars)	/* without memory there is none */
		s->exemplars[bucket] = e;
}

static void add_time(const struct row *r, struct series *s, uint64_t ns, const struct event *ev)
{
	size_t bucket = bucket_of(r, ns);

	s->buckets[bucket]++;
	s->count++;
	s->value += ns;
	if (s->expo)
		metrics_expo_add(s->expo, ns, 1);
	if (r->trace.field)
		set_exemplar(r, s, bucket, ns, ev);
}

static void add_steps(const struct row *r, struct series *s, struct seen *seen, const struct event *ev)
{
	struct value v;
	uint64_t sum_ns;

	metrics_fields_get(&r->value, ev, &v);
	for (unsigned i = 0; v.kind == VAL_BYTES && i < STEPS && (i + 1) * sizeof(uint64_t) <= v.len; i++) {
		uint64_t total, more;

		memcpy(&total, v.str + i * sizeof(total), sizeof(total));
		more = growth(&seen->totals[i], total);
		s->count += more;
		if (!more)
			continue;
		s->buckets[bucket_of(r, metrics_table_step_end(i))] += more;
		if (s->expo)
			metrics_expo_add(s->expo, MIN(metrics_table_step_end(i), LONG_STEP_NS), more);
	}
	if (metrics_fields_number(&r->sum, ev, &sum_ns))
		s->value += growth(&seen->totals[STEPS], sum_ns);
}

static void add_event(const struct row *r, struct series *s, struct seen *seen, const struct event *ev)
{
	uint64_t v = 0;

	switch (r->metric->op) {
	case METRIC_COUNT:
		s->value++;
		break;
	case METRIC_SUM:
		s->value += metrics_fields_number(&r->value, ev, &v) ? v : 0;
		break;
	case METRIC_TOTAL:
		if (metrics_fields_number(&r->value, ev, &v))
			s->value += growth(&seen->totals[0], v);
		break;
	case METRIC_TIME:
		if (metrics_fields_number(&r->value, ev, &v))
			add_time(r, s, v, ev);
		break;
	case METRIC_STEPS:
		add_steps(r, s, seen, ev);
		break;
	case METRIC_OP__MAX:
		break;
	}
}

/* An event without the field is none of the metric's. */
static bool has_value(const struct row *r, const struct event *ev)
{
	struct value v;

	if (!r->metric->field)
		return true;
	metrics_fields_get(&r->value, ev, &v);
	return v.kind != VAL_NONE;
}

/* Of these only the first event of an id counts. */
static bool is_once(const struct row *r)
{
	return r->metric->op == METRIC_COUNT || r->metric->op == METRIC_TIME;
}

/* @seen: of the event's id; NULL = the row has none. */
static int count(struct metrics *m, struct row *r, struct seen *seen, const struct event *ev)
{
	struct series *s = series_of(m, r, ev);

	if (!s)
		return -ENOMEM;
	if (!s->start_ns)
		s->start_ns = ev->ts_ns;
	s->last_ns = MAX(s->last_ns, ev->ts_ns);
	add_event(r, s, seen, ev);
	return 0;
}

static int take(struct metrics *m, struct row *r, const struct event *ev)
{
	struct seen *seen = NULL;
	bool is_new = true;
	uint64_t id = 0;
	int ret = 0;

	if (!has_value(r, ev) || (r->only && !filter_match(r->only, ev)))
		return 0;
	if (r->n_ids) {
		id = id_of(r, ev);
		seen = seen_of(r, id, ev->ts_ns, &is_new);
		if (!seen)
			return -ENOMEM;
	}
	if (is_new || !is_once(r))
		ret = count(m, r, seen, ev);
	if (r->flow_event.field && is_last(r, ev))
		map_remove(&r->seen, &id);
	return ret;
}

int metrics_take(struct metrics *m, uint32_t families, const struct event *ev)
{
	int ret = 0;

	each_item(r, m->rows, m->n_rows) {
		int e = r->desc == ev->desc && r->family & families ? take(m, r, ev) : 0;

		ret = e < 0 ? e : ret;
	}
	return ret;
}

/* ---- idle series ---- */

static void expire_row(struct row *r, uint64_t before_ns)
{
	size_t n = 1;

	for (size_t i = 1; i < r->series.len; i++) {
		struct series *s = &r->series.items[i];

		if (s->last_ns < before_ns) {
			map_remove(&r->by_key, &s->key);
			fini_series(s);
			continue;
		}
		if (n != i) {
			uint32_t *index = map_find(&r->by_key, &s->key);

			*index = (uint32_t)n;
			r->series.items[n] = *s;
		}
		n++;
	}
	r->series.len = n;
}

void metrics_expire(struct metrics *m, uint64_t now_ns)
{
	if (now_ns < m->o.idle_ns)
		return;
	for (size_t i = 0; i < m->n_rows; i++)
		expire_row(&m->rows[i], now_ns - m->o.idle_ns);
}

/* ---- reading ---- */

static void read_cells(const struct row *r, const char *cells, struct metrics_series *ret)
{
	ret->n_labels = r->n_labels;
	for (size_t i = 0; i < r->n_labels; i++) {
		uint16_t len;

		memcpy(&len, cells, sizeof(len));
		cells += sizeof(len);
		ret->labels[i] = (struct metrics_label){
			.key = r->names[i]->key, .attribute = r->names[i]->attribute,
			.text = cells, .len = len ? len - 1u : 0, .known = len > 0,
		};
		cells += ret->labels[i].len;
	}
}

int metrics_each(const struct metrics *m, metrics_fn fn, void *ctx)
{
	int ret = 0;

	each_item(r, m->rows, m->n_rows) {
		bool first = true;

		for (size_t k = 0; ret >= 0 && k < r->series.len; k++) {
			const struct series *s = &r->series.items[k];
			struct metrics_series out = {
				.metric = r->metric, .overflow = !k, .start_ns = s->start_ns, .value = s->value,
				.count = s->count, .buckets = s->buckets, .exemplars = s->exemplars,
				.expo = s->expo,
			};

			if (!k && !s->last_ns)	/* nothing overflowed */
				continue;
			if (k)
				read_cells(r, s->cells, &out);
			ret = fn(ctx, &out, first);
			first = false;
		}
	}
	return ret;
}

size_t metrics_n_series(const struct metrics *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_rows; i++)
		n += m->rows[i].series.len - !m->rows[i].series.items[0].last_ns;
	return n;
}
