// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Values and fields of events in JSON.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
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

void json_event_fields(struct json *j, const struct event *ev)
{
	const char *open = NULL;	/* "lost_by." of the open nested object */
	size_t open_len = 0;

	for (unsigned i = 0; i < ev->desc->n_fields; i++) {
		const struct field *f = &ev->desc->fields[i];
		const char *key = event_field_key(f), *dot = strchr(key, '.');
		size_t group = dot ? (size_t)(dot - key) + 1 : 0;
		struct value v;

		if (f->flags & (FIELD_ALIAS | FIELD_SILENT) || event_get(ev, f, &v) < 0)
			continue;
		if (open && (group != open_len || memcmp(open, key, open_len))) {
			json_close(j, '}');
			open = NULL;
		}
		if (group && !open) {
			json_key_len(j, key, group - 1);
			j->comma = false;
			json_open(j, '{');
			open = key;
			open_len = group;
		}
		json_key(j, key + group);
		json_value(j, &v);
	}
	if (open)
		json_close(j, '}');
}
