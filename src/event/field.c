// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fields of an event: found by name, read as values, printed. Nothing here allocates: values borrow from the event.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "event/event.h"
#include "event/names.h"
#include "sonde/wire.h"

/* ".NAME" or "[NAME]" after a field's name. */
static bool read_argument(const char *rest, const char **ret, size_t *ret_len)
{
	size_t len = strlen(rest);

	if (rest[0] == '.' && len > 1) {
		*ret = rest + 1;
		*ret_len = len - 1;
		return true;
	}
	if (rest[0] != '[' || len < 3 || rest[len - 1] != ']')
		return false;
	*ret = rest + 1;
	*ret_len = len - 2;
	return true;
}

const struct field *event_field_find(const struct field *fields, size_t n, const char *name, const char **ret_arg,
				     size_t *ret_arg_len)
{
	*ret_arg = NULL;
	*ret_arg_len = 0;
	for (size_t i = 0; i < n; i++)
		if (fields[i].name[0] == name[0] && !strcmp(fields[i].name, name))
			return &fields[i];
	for (size_t i = 0; i < n; i++) {
		size_t len;

		if (!(fields[i].flags & FIELD_ARGUMENT))
			continue;
		len = strlen(fields[i].name);
		if (!strncmp(fields[i].name, name, len) && read_argument(name + len, ret_arg, ret_arg_len))
			return &fields[i];
	}
	return NULL;
}

const struct field *event_field_named(const struct field *fields, size_t n, const char *name)
{
	const char *arg;
	size_t len;

	return event_field_find(fields, n, name, &arg, &len);
}

const struct field *event_field_also(const struct event_desc *d, const char *name, const char **ret_arg,
				     size_t *ret_arg_len)
{
	const struct field *f = NULL;

	if (d->also)
		f = event_field_find(d->also->fields, d->also->n_fields, name, ret_arg, ret_arg_len);
	return f && !(f->flags & FIELD_OWN) ? f : NULL;
}

bool event_desc_is_called(const struct event_desc *d, const char *name)
{
	const char *dot = strchr(d->name, '.');

	if (!strcmp(d->name, name))
		return true;
	return d->class == EVENT_DATA && dot && !strcmp(dot + 1, name) &&
	       !event_field_named(d->fields, d->n_fields, "evt.type");
}

const char *event_field_key(const struct field *f)
{
	const char *dot = strchr(f->name, '.');

	if (f->key)
		return f->key;
	return dot ? dot + 1 : f->name;
}

static uint64_t read_uint(const void *p, unsigned size)
{
	uint64_t v = 0;

	memcpy(&v, p, size <= sizeof(v) ? size : 0);	/* little endian: see base/cursor.h */
	return v;
}

static int64_t read_int(const void *p, unsigned size)
{
	switch (size) {
	case 1: return (int8_t)read_uint(p, 1);
	case 2: return (int16_t)read_uint(p, 2);
	case 4: return (int32_t)read_uint(p, 4);
	default: return (int64_t)read_uint(p, 8);
	}
}

/* A number with its name, or the bare number if @name is NULL. */
static void named(struct value *v, uint64_t number, const char *name, bool hex)
{
	*v = (struct value){ .kind = VAL_UINT, .hex = hex, .u = number };
	if (!name)
		return;
	v->kind = VAL_STR;
	v->has_number = true;
	v->str = name;
	v->len = strlen(name);
}

static const char *dynamic_name(const struct event *ev, const struct field *f, uint64_t number)
{
	if (f->kind == FIELD_IFACE)
		return event_names_get(ev->names, SONDE_NAME_IFACE,
				       names_iface_key(ev->keys.netns, (uint32_t)number));
	return event_names_get(ev->names, f->space, number);
}

static bool is_common(const struct field *f)
{
	return f >= event_common_fields && f < event_common_fields + event_n_common_fields;
}

static int get_number_field(const struct event *ev, const struct field *f, const void *p, struct value *ret)
{
	uint64_t u = read_uint(p, f->size);

	if (f->flags & FIELD_OPTIONAL && !u)
		return -ENOENT;
	switch (f->kind) {
	case FIELD_INT:
		*ret = (struct value){ .kind = VAL_INT, .i = read_int(p, f->size) };
		break;
	case FIELD_BOOL:
		*ret = (struct value){ .kind = VAL_BOOL, .u = !!u };
		break;
	case FIELD_ENUM:
		named(ret, u, f->xlat ? xlat_name(f->xlat, u) : NULL, false);
		break;
	case FIELD_FLAGS:
		*ret = (struct value){ .kind = VAL_FLAGS, .u = u, .xlat = f->xlat };
		break;
	case FIELD_NAME:
	case FIELD_IFACE:
		named(ret, u, dynamic_name(ev, f, u), f->kind == FIELD_NAME && f->space == SONDE_NAME_KSYM);
		break;
	default:
		*ret = (struct value){ .kind = VAL_UINT, .u = u, .hex = f->kind == FIELD_HEX,
					.ns = f->kind == FIELD_NS };
	}
	return 0;
}

static int get_str_field(const struct field *f, const char *p, struct value *ret)
{
	size_t len = strnlen(p, f->size);

	if (f->flags & FIELD_OPTIONAL && !len)
		return -ENOENT;
	*ret = (struct value){ .kind = VAL_STR, .str = p, .len = len };
	return 0;
}

static int get_ip_field(const void *p, struct value *ret)
{
	struct ipaddr ip;

	memcpy(&ip, p, sizeof(ip));
	if (!ipaddr_bytes(ip.family))
		return -ENOENT;
	*ret = (struct value){ .kind = VAL_IP, .ip = ip };
	return 0;
}

static int get_mac_field(const struct field *f, const char *p, struct value *ret)
{
	static const char zero[6];

	if (f->flags & FIELD_OPTIONAL && !memcmp(p, zero, sizeof(zero)))
		return -ENOENT;
	*ret = (struct value){ .kind = VAL_MAC, .str = p, .len = sizeof(zero) };
	return 0;
}

static int get_any(const struct event *ev, const struct field *f, struct value *ret)
{
	const char *p;

	if (f->kind == FIELD_GET && is_common(f))
		return event_get_common(ev, f, ret);
	if (f->flags & FIELD_ALSO)
		return ev->desc->also->get(ev, f, ret);
	if (f->kind == FIELD_GET)
		return ev->desc->get ? ev->desc->get(ev, f, ret) : -ENOENT;
	p = (const char *)ev->body + f->off;
	switch (f->kind) {
	case FIELD_STR: return get_str_field(f, p, ret);
	case FIELD_IP: return get_ip_field(p, ret);
	case FIELD_MAC: return get_mac_field(f, p, ret);
	case FIELD_UINT:
	case FIELD_INT:
	case FIELD_HEX:
	case FIELD_BOOL:
	case FIELD_ENUM:
	case FIELD_FLAGS:
	case FIELD_NAME:
	case FIELD_NS:
	case FIELD_IFACE: return get_number_field(ev, f, p, ret);
	case FIELD_GET:
	case FIELD__MAX: break;
	}
	return -ENOENT;
}

struct event_place event_field_place(const struct field *f)
{
	if (f->kind == FIELD_GET && is_common(f))
		return event_field_place_common(f);
	if (f->kind == FIELD_GET || f->flags & FIELD_ALSO)
		return (struct event_place){ .part = EVENT_PART_NONE };
	return (struct event_place){ .part = EVENT_PART_BODY, .off = f->off, .size = f->size };
}

/* Numbers are not content; strings are unless their row has FIELD_OPEN. */
static bool is_hidden(const struct event *ev, const struct field *f, const struct value *v)
{
	if (f->flags & FIELD_OTHERS)
		return true;
	if (ev->hide < HIDE_CONTENT || f->flags & FIELD_OPEN)
		return false;
	if (v->kind == VAL_STR && v->has_number)	/* the name of a number, if the row declares one */
		return f->kind == FIELD_GET && f->like != FIELD_LIKE(FIELD_ENUM) &&
		       f->like != FIELD_LIKE(FIELD_NAME) && f->like != FIELD_LIKE(FIELD_IFACE);
	return v->kind == VAL_BYTES || v->kind == VAL_STR || v->kind == VAL_LIST;
}

int event_get(const struct event *ev, const struct field *f, struct value *ret)
{
	int r = get_any(ev, f, ret);

	return r == 0 && ev->hide && is_hidden(ev, f, ret) ? -ENOENT : r;
}

/* Kinds that the body stores as unsigned numbers. */
static const bool is_plain_number[] = {
	[FIELD_UINT] = true, [FIELD_HEX] = true, [FIELD_BOOL] = true, [FIELD_ENUM] = true, [FIELD_FLAGS] = true,
	[FIELD_NAME] = true, [FIELD_NS] = true, [FIELD_IFACE] = true, [FIELD__MAX] = false,
};

struct value event_value(const struct event *ev, const struct field *f)
{
	struct value v = { .kind = VAL_NONE };

	if (f && event_get(ev, f, &v) < 0)
		v.kind = VAL_NONE;
	return v;
}

int event_get_number(const struct event *ev, const struct field *f, uint64_t *ret)
{
	struct value v;
	uint64_t u;
	int r;

	if (f->kind < FIELD__MAX && is_plain_number[f->kind]) {
		u = read_uint((const char *)ev->body + f->off, f->size);
		if (f->flags & FIELD_OPTIONAL && !u)
			return -ENOENT;
		*ret = u;
		return 0;
	}
	r = event_get(ev, f, &v);
	if (r < 0)
		return r;
	if (v.kind != VAL_UINT && v.kind != VAL_BOOL && v.kind != VAL_FLAGS && !(v.kind == VAL_STR && v.has_number))
		return -ENOENT;
	*ret = v.u;
	return 0;
}

static int generic_line(const struct event *ev, struct buf *out)
{
	buf_add_str(out, ev->desc->name);
	each_item(f, ev->desc->fields, ev->desc->n_fields) {
		struct value v;

		if (f->flags & (FIELD_ALIAS | FIELD_SILENT) || event_get(ev, f, &v) < 0)
			continue;
		buf_add_char(out, ' ');
		buf_add_str(out, event_field_key(f));
		buf_add_char(out, '=');
		value_text(&v, out);
	}
	return buf_add_char(out, '\n');
}

int event_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	return ev->desc->line ? ev->desc->line(ev, o, out) : generic_line(ev, out);
}
