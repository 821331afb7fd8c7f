// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * gob decoder: primitives, type definitions, values.
 */
#include "cilium/gob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/vec.h"
#include "cilium/gob_types.h"
#include "cilium/print.h"

#define TYPES_MAX 256
#define FIELDS_MAX 256
#define DEPTH_MAX 24
#define VALUES_MAX 65536	/* per message */

struct field {
	char *name;		/* owned */
	int64_t type;
};

struct type {
	int64_t id;
	enum type_shape shape;
	int64_t elem, key;
	VEC(struct field) fields;
};

struct gob {
	VEC(struct type) types;
};

struct gob *gob_new(void)
{
	return calloc(1, sizeof(struct gob));
}

static void type_fini(struct type *t)
{
	for (size_t i = 0; i < t->fields.len; i++)
		free(t->fields.items[i].name);
	vec_fini(&t->fields);
}

void gob_free(struct gob *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->types.len; i++)
		type_fini(&g->types.items[i]);
	vec_fini(&g->types);
	free(g);
}

static const struct type *find_type(const struct gob *g, int64_t id)
{
	return vec_find(it, &g->types, it->id == id);
}

/* ---- primitives ---- */

static uint64_t get_uint(struct cursor *c)
{
	uint8_t first = cur_u8(c);
	size_t n = 256u - first;
	uint64_t v = 0;

	if (first < 128)
		return first;
	if (n > 8) {
		c->bad = true;
		return 0;
	}
	while (n--)
		v = v << 8 | cur_u8(c);
	return v;
}

static int64_t get_int(struct cursor *c)
{
	uint64_t v = get_uint(c);

	return (int64_t)(v & 1 ? ~(v >> 1) : v >> 1);
}

static double get_float(struct cursor *c)
{
	uint64_t bits = __builtin_bswap64(get_uint(c));
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* A length within the remaining bytes; a larger one fails the cursor. */
static size_t get_len(struct cursor *c)
{
	uint64_t n = get_uint(c);

	if (n > cur_left(c)) {
		c->bad = true;
		return 0;
	}
	return (size_t)n;
}

static char *get_name(struct cursor *c)
{
	size_t len = get_len(c);
	const char *s = cur_bytes(c, len);

	return s ? strndup(s, len) : NULL;
}

/* Number of the next member present, or -1 at the end of the struct. */
static int64_t next_field(struct cursor *c, int64_t *at)
{
	uint64_t delta = get_uint(c);

	if (!cur_ok(c) || !delta || delta > FIELDS_MAX)
		return -1;
	*at += (int64_t)delta;
	return *at;
}

/* ---- definitions: structs with a fixed shape ---- */

/* CommonType: 0 name, 1 id. Both are known already. */
static void skip_common(struct cursor *c)
{
	int64_t at = -1, f;

	while ((f = next_field(c, &at)) >= 0) {
		if (f == 0)
			cur_skip(c, get_len(c));
		else if (f == 1)
			get_int(c);
		else
			c->bad = true;
	}
}

static int read_field(struct cursor *c, struct type *t)
{
	struct field field = { NULL };
	int64_t at = -1, f;

	while ((f = next_field(c, &at)) >= 0) {
		if (f == 0 && !field.name)
			field.name = get_name(c);
		else if (f == 1)
			field.type = get_int(c);
		else
			c->bad = true;
	}
	if (!field.name && cur_ok(c))
		field.name = strdup("");
	if (!field.name || vec_push(&t->fields, field) < 0) {
		free(field.name);
		return cur_ok(c) ? -ENOMEM : -EBADMSG;
	}
	return 0;
}

static int read_fields(struct cursor *c, struct type *t)
{
	size_t n = get_len(c);
	int r = 0;

	if (n > FIELDS_MAX)
		return -EBADMSG;
	while (n-- && r == 0)
		r = read_field(c, t);
	return r;
}

/* Members of one shape: 0 common; array 1 elem 2 len; slice 1 elem; struct 1 fields; map 1 key 2 elem. */
static int read_shape(struct cursor *c, struct type *t)
{
	int64_t at = -1, f;
	int r = 0;

	while (r == 0 && (f = next_field(c, &at)) >= 0) {
		if (f == 0)
			skip_common(c);
		else if (f == 1 && t->shape == SHAPE_STRUCT)
			r = read_fields(c, t);
		else if (f == 1 && t->shape == SHAPE_MAP)
			t->key = get_int(c);
		else if (f == 1 || (f == 2 && t->shape == SHAPE_MAP))
			t->elem = get_int(c);
		else if (f == 2)
			get_int(c);
		else
			c->bad = true;
	}
	return r;
}

/* wireType has exactly one member, whose number is the shape (4 and up: types with their own encoding). */
static int read_type(struct cursor *c, struct type *t)
{
	int64_t at = -1, f;
	int r = 0;

	while (r == 0 && (f = next_field(c, &at)) >= 0) {
		if (f > 6)
			return -EBADMSG;
		t->shape = f >= SHAPE_OPAQUE ? SHAPE_OPAQUE : (enum type_shape)f;
		r = read_shape(c, t);
	}
	return r < 0 ? r : cur_ok(c) ? 0 : -EBADMSG;
}

static int define(struct gob *g, int64_t id, struct cursor *c)
{
	struct type t = { .id = id };
	int r = find_type(g, id) || g->types.len >= TYPES_MAX ? -EBADMSG : read_type(c, &t);

	if (r == 0)
		r = vec_push(&g->types, t);
	if (r < 0)
		type_fini(&t);
	return r;
}

/* ---- values ---- */

struct walk {
	const struct gob *g;
	struct cursor c;
	struct arena *mem;
	unsigned depth;
	size_t values;
	int error;
};

static bool read_value(struct walk *w, int64_t id, struct gob_value *v);

static bool stop(struct walk *w, int r)
{
	if (!w->error)
		w->error = r;
	return false;
}

static struct gob_value *new_values(struct walk *w, size_t n)
{
	struct gob_value *v;

	w->values += n;
	if (w->values > VALUES_MAX) {
		stop(w, -EBADMSG);
		return NULL;
	}
	v = arena_alloc(w->mem, (n ?: 1) * sizeof(*v));
	if (!v)
		stop(w, -ENOMEM);
	for (size_t i = 0; v && i < n; i++)
		v[i].name = "";
	return v;
}

static bool read_list(struct walk *w, const struct type *t, struct gob_value *v, size_t per)
{
	size_t n = get_len(&w->c);

	v->kind = per == 2 ? GOB_MAP : GOB_LIST;
	v->len = n;
	v->at = new_values(w, n * per);
	for (size_t i = 0; v->at && i < n * per; i++)
		if (!read_value(w, per == 2 && i % 2 == 0 ? t->key : t->elem, &v->at[i]))
			return false;
	return v->at != NULL;
}

static bool read_struct(struct walk *w, const struct type *t, struct gob_value *v)
{
	int64_t at = -1, f;

	v->kind = GOB_STRUCT;
	v->at = new_values(w, t->fields.len);
	if (!v->at)
		return false;
	while ((f = next_field(&w->c, &at)) >= 0) {
		struct gob_value *member = &v->at[v->len];

		if ((size_t)f >= t->fields.len)
			return stop(w, -EBADMSG);
		member->name = arena_copy(w->mem, t->fields.items[f].name, strlen(t->fields.items[f].name));
		if (!member->name)
			return stop(w, -ENOMEM);
		if (!read_value(w, t->fields.items[f].type, member))
			return false;
		v->len++;
	}
	return true;
}

static bool read_bytes(struct walk *w, struct gob_value *v, enum gob_kind kind)
{
	v->kind = kind;
	v->len = get_len(&w->c);
	v->data = cur_bytes(&w->c, v->len);
	return true;
}

static bool read_basic(struct walk *w, int64_t id, struct gob_value *v)
{
	switch (id) {
	case ID_BOOL:
		v->kind = GOB_BOOL;
		v->u = get_uint(&w->c) != 0;
		return true;
	case ID_INT:
		v->kind = GOB_INT;
		v->i = get_int(&w->c);
		return true;
	case ID_UINT:
		v->kind = GOB_UINT;
		v->u = get_uint(&w->c);
		return true;
	case ID_FLOAT:
		v->kind = GOB_FLOAT;
		v->f = get_float(&w->c);
		return true;
	case ID_BYTES:
		return read_bytes(w, v, GOB_BYTES);
	case ID_STRING:
		return read_bytes(w, v, GOB_STRING);
	default:	/* complex numbers and interfaces: unused by Cilium */
		return stop(w, -EBADMSG);
	}
}

static bool read_value(struct walk *w, int64_t id, struct gob_value *v)
{
	const struct type *t = find_type(w->g, id);
	bool ok;

	if (!cur_ok(&w->c) || w->depth >= DEPTH_MAX)
		return stop(w, -EBADMSG);
	if (!t)
		return read_basic(w, id, v) && (cur_ok(&w->c) || stop(w, -EBADMSG));
	w->depth++;
	switch (t->shape) {
	case SHAPE_ARRAY:
	case SHAPE_SLICE:
		ok = read_list(w, t, v, 1);
		break;
	case SHAPE_MAP:
		ok = read_list(w, t, v, 2);
		break;
	case SHAPE_STRUCT:
		ok = read_struct(w, t, v);
		break;
	default:
		ok = read_bytes(w, v, GOB_BYTES);
		break;
	}
	w->depth--;
	return ok && (cur_ok(&w->c) || stop(w, -EBADMSG));
}

/* ---- messages ---- */

int gob_message_len(const uint8_t *data, size_t len, size_t *ret)
{
	struct cursor c = cur_init(data, len);
	size_t prefix;
	uint64_t n;

	*ret = 0;
	if (!len)
		return 0;
	prefix = data[0] < 128 ? 1 : 257u - data[0];
	if (prefix > 9)
		return -EBADMSG;
	if (len < prefix)
		return 0;
	n = get_uint(&c);
	if (n > GOB_MESSAGE_MAX)
		return -EMSGSIZE;
	*ret = prefix + (size_t)n;
	return 0;
}

int gob_message(struct gob *g, const uint8_t *data, size_t len, struct arena *mem, struct gob_value **ret,
		struct err *err)
{
	struct walk w = { .g = g, .c = cur_init(data, len), .mem = mem };
	const struct type *t;
	int64_t id;
	int r;

	*ret = NULL;
	if (get_uint(&w.c) != cur_left(&w.c) || !cur_ok(&w.c))
		return err_set(err, -EBADMSG, "gob: a message differs from its length");
	id = get_int(&w.c);
	if (id < -INT32_MAX) /* type ids are int32 */
		return err_set(err, -EBADMSG, "gob: invalid type id %lld", (long long)id);
	if (id < 0) {
		r = define(g, -id, &w.c);
		return r < 0 ? err_set(err, r, "gob: invalid or repeated definition of type %lld", (long long)-id)
			     : 0;
	}
	t = find_type(g, id);
	if ((!t || t->shape != SHAPE_STRUCT) && cur_u8(&w.c))	/* values other than structs follow a zero byte */
		return err_set(err, -EBADMSG, "gob: a value of undefined type %lld", (long long)id);
	*ret = new_values(&w, 1);
	if (*ret && read_value(&w, id, *ret) && !cur_left(&w.c))
		return 0;
	*ret = NULL;
	r = w.error ?: -EBADMSG;
	return err_set(err, r, "gob: a value of type %lld has the wrong length", (long long)id);
}

int gob_stream(struct gob *g, const uint8_t *data, size_t len, struct arena *mem, struct gob_value **ret,
	       struct err *err)
{
	struct gob_value *v;
	int r = 0;

	*ret = NULL;
	for (size_t n; len && r == 0; data += n, len -= n) {
		r = gob_message_len(data, len, &n);
		if (r < 0 || !n || n > len)
			return err_set(err, r < 0 ? r : -EBADMSG, "gob: the stream ends inside a message");
		r = gob_message(g, data, n, mem, &v, err);
		if (r == 0 && v)
			*ret = v;
	}
	return r;
}

const struct gob_value *gob_member(const struct gob_value *v, const char *name)
{
	return v && v->kind == GOB_STRUCT ? FIND_ITEM(it, v->at, v->len, !strcmp(it->name, name)) : NULL;
}

int64_t gob_int(const struct gob_value *v)
{
	if (!v || v->kind > GOB_UINT)
		return 0;
	return v->kind == GOB_INT ? v->i : (int64_t)v->u;
}

int gob_get_payload(const struct gob_value *v, struct cilium_payload *ret)
{
	const struct gob_value *data = gob_member(v, "Data");

	*ret = (struct cilium_payload){
		.cpu = gob_int(gob_member(v, "CPU")), .lost = (uint64_t)gob_int(gob_member(v, "Lost")),
		.type = gob_int(gob_member(v, "Type")),
	};
	if (!v || v->kind != GOB_STRUCT || (data && data->kind != GOB_BYTES))
		return -EBADMSG;
	if (data) {
		ret->data = data->data;
		ret->len = data->len;
	}
	return 0;
}
