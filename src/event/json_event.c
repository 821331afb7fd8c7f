// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Values and fields of events in JSON.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "event/event.h"
#include "event/json.h"

static int flags_json(const struct xlat *x, uint64_t bits, struct buf *out)
{
	struct json j = { .out = out };

	json_open(&j, '[');
	for (uint32_t i = 0; x && i < x->n; i++) {
		if (!x->vals[i].val || (bits & x->vals[i].val) != x->vals[i].val)
			continue;
		bits &= ~x->vals[i].val;
		json_str(&j, x->vals[i].name, strlen(x->vals[i].name));
	}
	if (bits)
		json_u64(&j, bits);
	json_close(&j, ']');
	return buf_error(out);
}

static int list_json(const struct value *v, struct buf *out)
{
	struct json j = { .out = out };

	json_open(&j, '[');
	for (const char *s = v->str; s < v->str + v->len; s += strlen(s) + 1)
		json_str(&j, s, strlen(s));
	json_close(&j, ']');
	return buf_error(out);
}

int value_json(const struct value *v, struct buf *out)
{
	struct json j = { .out = out };

	switch (v->kind) {
	case VAL_NONE: return buf_add_str(out, "null");
	case VAL_UINT: return buf_add_u64(out, v->u);
	case VAL_INT:
		json_i64(&j, v->i);
		return buf_error(out);
	case VAL_BOOL: return value_text(v, out);
	case VAL_STR: return json_string(out, v->str, v->len);
	case VAL_FLAGS: return flags_json(v->xlat, v->u, out);
	case VAL_LIST: return list_json(v, out);
	case VAL_IP:
	case VAL_MAC:
	case VAL_BYTES:
		buf_add_char(out, '"');
		value_text(v, out);
		return buf_add_char(out, '"');
	case VAL__MAX: break;
	}
	return -EINVAL;
}

void json_value(struct json *j, const struct value *v)
{
	json_element(j);
	value_json(v, j->out);
}

static struct json_field member_of(const struct field *f)
{
	const char *key = event_field_key(f), *dot = strchr(key, '.');

	return (struct json_field){
		.field = f, .key = key, .len = (uint16_t)strlen(key), .group = dot ? (uint16_t)(dot - key + 1) : 0,
	};
}

/* The object that a dot in a key opens; key NULL: none is open. */
struct nested { const char *key; size_t len; };

static void add_member(struct json *j, const struct event *ev, const struct json_field *m, struct nested *open)
{
	struct value v;

	if (event_get(ev, m->field, &v) < 0)
		return;
	if (open->key && (m->group != open->len || memcmp(open->key, m->key, open->len) != 0)) {
		json_close(j, '}');
		open->key = NULL;
	}
	if (m->group && !open->key) {
		json_key_len(j, m->key, m->group - 1u);
		json_open(j, '{');
		*open = (struct nested){ m->key, m->group };
	}
	json_key_len(j, m->key + m->group, (size_t)m->len - m->group);
	json_value(j, &v);
}

void json_event_fields(struct json *j, const struct event *ev)
{
	struct nested open = { 0 };

	each_item(f, ev->desc->fields, ev->desc->n_fields) {
		const struct json_field m = member_of(f);

		if (!(f->flags & (FIELD_ALIAS | FIELD_SILENT)))
			add_member(j, ev, &m, &open);
	}
	if (open.key)
		json_close(j, '}');
}

int json_keys_init(struct json_keys *k, const struct event_desc *d)
{
	*k = (struct json_keys){ .items = calloc(MAX(d->n_fields, 1u), sizeof(*k->items)) };
	if (!k->items)
		return -ENOMEM;
	for (unsigned i = 0; i < d->n_fields; i++)
		if (!(d->fields[i].flags & (FIELD_ALIAS | FIELD_SILENT)))
			k->items[k->n++] = member_of(&d->fields[i]);
	k->desc = d;
	return 0;
}

void json_keys_fini(struct json_keys *k)
{
	free(k->items);
	*k = (struct json_keys){ 0 };
}

void json_event_fields_by(struct json *j, const struct event *ev, const struct json_keys *k)
{
	struct nested open = { 0 };

	for (size_t i = 0; i < k->n; i++)
		add_member(j, ev, &k->items[i], &open);
	if (open.key)
		json_close(j, '}');
}
