// SPDX-License-Identifier: GPL-2.0-or-later
#include "sinks/otlp/otlp_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "sinks/otlp/otlp_kv.h"
#include "sinks/otlp/otlp_span.h"
#include "base/protobuf/protobuf.h"

#define RATE 100u	/* records of a type a second */
#define BURST 1000u

/* Field numbers. */
enum { L_TIME = 1, L_SEVERITY, L_SEVERITY_TEXT, L_BODY = 5, L_ATTRIBUTES, L_TRACE = 9, L_SPAN, L_OBSERVED,
       L_EVENT_NAME };

/* SeverityNumber of OpenTelemetry. */
enum { INFO = 9, WARN = 13, ERROR = 17 };

#define LOG(type_, severity_, only_) { (type_), (severity_), (only_) },
#define ATTRIBUTE(field_, key_)
static const struct { const char *type; unsigned severity; const char *only; } rows[] = {
#include "tables/logs.def"
};
#undef LOG
#undef ATTRIBUTE
#define LOG(type_, severity_, only_)
#define ATTRIBUTE(field_, key_) { (field_), (key_) },
static const struct { const char *field, *key; } attributes[] = {
#include "tables/logs.def"
};
#undef LOG
#undef ATTRIBUTE

/* A row of the table. */
struct row {
	const struct event_desc *desc;	/* NULL = not in this build */
	struct filter *only;		/* owned; NULL = all events */
};

/* Rate of a type. */
struct rate {
	const struct event_desc *desc;
	uint64_t at_ns;			/* when `tokens` was true */
	uint64_t tokens;		/* in 1 / NS_PER_S records */
	uint64_t left_out;		/* not yet reported */
};

struct otlp_log {
	struct row rows[ARRAY_SIZE(rows)];
	struct rate rates[ARRAY_SIZE(rows)];	/* by type, of its first row */
	struct otlp_kv kv;
	struct buf text, key;
};

/* ---- rows ---- */

void otlp_log_free(struct otlp_log *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		filter_free(l->rows[i].only);
	otlp_kv_fini(&l->kv);
	buf_fini(&l->text);
	buf_fini(&l->key);
	free(l);
}
DEFINE_CLEANUP(struct otlp_log *, otlp_log_free)

int otlp_log_new(const struct registry *reg, struct otlp_log **ret, struct err *err)
{
	_cleanup_(otlp_log_freep) struct otlp_log *l = calloc(1, sizeof(*l));
	int r = 0;

	if (!l)
		return err_errno(err, -ENOMEM, "cannot keep log records");
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(rows); i++) {
		l->rows[i].desc = reg ? registry_find_name(reg, rows[i].type) : NULL;
		if (l->rows[i].desc && rows[i].only)
			r = filter_parse(reg, rows[i].only, &l->rows[i].only, err);
	}
	if (r < 0)
		return r;
	*ret = TAKE_PTR(l);
	return 0;
}

/* The row of @ev, and the rate of its type. False: no log record. */
static bool find_row(struct otlp_log *l, const struct event *ev, size_t *ret, struct rate **ret_rate)
{
	struct rate *rate = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &l->rows[i];

		if (row->desc != ev->desc)
			continue;
		rate = rate ? rate : &l->rates[i];
		if (row->only && !filter_match(row->only, ev))
			continue;
		*ret = i;
		*ret_rate = rate;
		return true;
	}
	return false;
}

/* A bucket of BURST tokens, RATE of which flow in each second of the stream. */
static bool has_token(struct rate *r, const struct event *ev)
{
	const uint64_t full = BURST * (uint64_t)NS_PER_S;
	uint64_t passed = r->at_ns && ev->ts_ns > r->at_ns ? ev->ts_ns - r->at_ns : 0;

	passed = MIN(passed, full / RATE);
	r->tokens = !r->at_ns ? full : MIN(r->tokens + passed * RATE, full);
	r->at_ns = MAX(r->at_ns, ev->ts_ns);
	r->desc = ev->desc;
	if (r->tokens < (uint64_t)NS_PER_S) {
		r->left_out++;
		return false;
	}
	r->tokens -= (uint64_t)NS_PER_S;
	return true;
}

/* ---- attributes ---- */

static const char *key_of(struct otlp_log *l, const struct field *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++)
		if (!strcmp(attributes[i].field, f->name))
			return attributes[i].key;
	buf_reset(&l->key);
	buf_printf(&l->key, "sonde.%s", f->name);
	return buf_str(&l->key);
}

static void add_value(struct otlp_log *l, struct buf *out, const char *key, const struct value *v)
{
	switch (v->kind) {
	case VAL_UINT:
		if (!v->hex) {
			otlp_kv_number(&l->kv, out, L_ATTRIBUTES, key, v->u);
			return;
		}
		break;
	case VAL_INT:
		otlp_kv_number(&l->kv, out, L_ATTRIBUTES, key, (uint64_t)v->i);
		return;
	case VAL_BOOL:
		otlp_kv_bool(&l->kv, out, L_ATTRIBUTES, key, v->u != 0);
		return;
	case VAL_STR:
		if (v->len)
			otlp_kv_text(&l->kv, out, L_ATTRIBUTES, key, v->str, v->len);
		return;
	case VAL_NONE:
	case VAL_IP:
	case VAL_MAC:
	case VAL_BYTES:
	case VAL_FLAGS:
	case VAL_LIST:
	case VAL__MAX:
		break;
	}
	buf_reset(&l->text);
	value_text(v, &l->text);
	if (l->text.len)
		otlp_kv_text(&l->kv, out, L_ATTRIBUTES, key, l->text.data, l->text.len);
	if (buf_error(&l->text))
		out->error = -ENOMEM;
}

static bool is_attribute(const struct field *f)
{
	return !(f->flags & (FIELD_ALIAS | FIELD_SILENT | FIELD_ARGUMENT | FIELD_OTHERS | FIELD_EITHER));
}

static void add_fields(struct otlp_log *l, const struct event *ev, struct buf *out)
{
	each_item(f, ev->desc->fields, ev->desc->n_fields) {
		struct value v = { 0 };

		if (is_attribute(f) && event_get(ev, f, &v) == 0 && v.kind != VAL_NONE)
			add_value(l, out, key_of(l, f), &v);
	}
}

/* The fields of all events that the conventions have a name for. */
static void add_common(struct otlp_log *l, const struct event *ev, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++) {
		const struct field *f = event_field_named(event_common_fields, event_n_common_fields,
							  attributes[i].field);
		struct value v = { 0 };

		if (!f || event_field_named(ev->desc->fields, ev->desc->n_fields, attributes[i].field))
			continue;
		if (event_get_common(ev, f, &v) == 0 && v.kind != VAL_NONE)
			add_value(l, out, attributes[i].key, &v);
	}
}

/* ---- the record ---- */

static void put_text(struct buf *out, uint32_t field, const char *text)
{
	protobuf_text(out, field, text, strlen(text));
}

/* "sonde.net.drop"; the pipeline's own types have the prefix already. */
static void put_event_name(struct buf *out, const char *type)
{
	char name[96];

	snprintf(name, sizeof(name), "%s%s", strncmp(type, "sonde.", 6) ? "sonde." : "", type);
	put_text(out, L_EVENT_NAME, name);
}

static void put_head(struct buf *out, const struct event *ev, unsigned severity)
{
	const uint64_t wall_ns = event_wall_ns(ev);

	protobuf_fixed64(out, L_TIME, wall_ns);
	protobuf_fixed64(out, L_OBSERVED, wall_ns);
	protobuf_uint(out, L_SEVERITY, severity);
	put_text(out, L_SEVERITY_TEXT, severity == INFO ? "INFO" : severity == WARN ? "WARN" : "ERROR");
}

static void put_body(struct otlp_log *l, struct buf *out, const char *text, size_t len)
{
	buf_reset(&l->key);
	otlp_kv_any_text(&l->key, text, len);
	protobuf_bytes(out, L_BODY, l->key.data, l->key.len);
	if (buf_error(&l->key))
		out->error = -ENOMEM;
}

/* The text line; a write to a log shows what it wrote. */
static int put_line(struct otlp_log *l, const struct event *ev, struct buf *out)
{
	const struct line_opts o = { 0 };
	size_t len;
	const struct field *log = strcmp(ev->desc->name, "rpc.log") ? NULL :
		event_field_named(ev->desc->fields, ev->desc->n_fields, "rpc.log");
	struct value v;
	int r = 0;

	buf_reset(&l->text);
	if (log && event_get(ev, log, &v) == 0 && v.kind == VAL_STR)
		buf_add(&l->text, v.str, v.len);
	else
		r = event_line(ev, &o, &l->text);
	len = l->text.len;
	while (len && l->text.data[len - 1] == '\n')
		len--;
	put_body(l, out, l->text.data, len);
	return r < 0 ? r : buf_error(&l->text);
}

int otlp_log_put(struct otlp_log *l, const struct event *ev, struct buf *ret)
{
	struct rate *rate;
	size_t row;
	int r;

	if (!find_row(l, ev, &row, &rate) || !has_token(rate, ev))
		return 0;
	buf_reset(ret);
	put_head(ret, ev, rows[row].severity);
	put_event_name(ret, ev->desc->name);
	r = put_line(l, ev, ret);
	add_common(l, ev, ret);
	add_fields(l, ev, ret);
	r = r < 0 ? r : buf_error(ret);
	return r < 0 ? r : 1;
}

void otlp_log_add_span(struct buf *record, const struct otlp_span_ids *ids)
{
	protobuf_bytes(record, L_TRACE, ids->trace, sizeof(ids->trace));
	protobuf_bytes(record, L_SPAN, ids->span, sizeof(ids->span));
}

static void put_left_out(struct otlp_log *l, const struct event *ev, struct rate *rate, struct buf *ret)
{
	char text[160];

	snprintf(text, sizeof(text), "%llu records of %s left out: more than %u a second",
		 (unsigned long long)rate->left_out, rate->desc->name, RATE);
	put_head(ret, ev, WARN);
	put_event_name(ret, "sonde.log.left_out");
	put_body(l, ret, text, strlen(text));
	otlp_kv_str(&l->kv, ret, L_ATTRIBUTES, "sonde.log.type", rate->desc->name);
	otlp_kv_number(&l->kv, ret, L_ATTRIBUTES, "sonde.log.left_out", rate->left_out);
	rate->left_out = 0;
}

int otlp_log_put_left_out(struct otlp_log *l, const struct event *ev, struct buf *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!l->rates[i].left_out)
			continue;
		buf_reset(ret);
		put_left_out(l, ev, &l->rates[i], ret);
		return buf_error(ret) < 0 ? buf_error(ret) : 1;
	}
	return 0;
}
