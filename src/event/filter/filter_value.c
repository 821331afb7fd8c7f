// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Readings of a filter's value for the fields it is compared with, computed once at parse time.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"
#include "base/str.h"
#include "event/filter/filter_value.h"
#include "packet/names.h"
#include "sonde/wire.h"

static enum field_kind kind_of(const struct field *f)
{
	if (f->kind == FIELD_GET && f->like)
		return (enum field_kind)(f->like - 1);
	return f->kind;
}

bool filter_value_kinds(const struct check *c, bool (*fn)(enum field_kind kind, const struct field *f, void *ctx),
			void *ctx)
{
	if (c->common && fn(kind_of(c->common), c->common, ctx))
		return true;
	return FIND_ITEM(it, c->bindings, c->n_bindings, fn(kind_of(it->field), it->field, ctx));
}

/* ---- readings of a value ---- */

static bool is_duration_field(enum field_kind kind, const struct field *f, void *ctx)
{
	(void)f, (void)ctx;
	return kind == FIELD_NS;
}

static bool is_port_field(enum field_kind kind, const struct field *f, void *ctx)
{
	(void)kind, (void)ctx;
	return f->flags & FIELD_PORT;
}

static bool is_bool_field(enum field_kind kind, const struct field *f, void *ctx)
{
	(void)f, (void)ctx;
	return kind == FIELD_BOOL;
}

/* Decimal or 0x; a leading zero does not mean octal. */
static bool read_number(const char *s, uint64_t *ret)
{
	return str_to_u64(s, s[0] == '0' && (s[1] | 0x20) == 'x' ? 16 : 10, ret) == 0;
}

static bool read_bool(const char *s, uint64_t *ret)
{
	static const struct { const char *word; uint64_t val; } words[] = {
		{ "true", 1 }, { "yes", 1 }, { "false", 0 }, { "no", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcasecmp(s, words[i].word))
			continue;
		*ret = words[i].val;
		return true;
	}
	return false;
}

static bool read_mac(const char *s, uint8_t mac[6])
{
	unsigned m[6];
	int end = 0;

	if (sscanf(s, "%2x:%2x:%2x:%2x:%2x:%2x%n", &m[0], &m[1], &m[2], &m[3], &m[4], &m[5], &end) != 6 || s[end])
		return false;
	for (int i = 0; i < 6; i++)
		mac[i] = (uint8_t)m[i];
	return true;
}

/* "SYN|ACK" by a table of flags. */
static bool read_flags(const struct xlat *x, const char *s, uint64_t *ret)
{
	char word[64];
	uint64_t bits = 0, one;

	while (*s) {
		size_t len = strcspn(s, "|");

		if (!len || !str_copy(word, sizeof(word), s, len))
			return false;
		if (xlat_value(x, word, &one) < 0)
			return false;
		bits |= one;
		s += len + (s[len] == '|' && s[len + 1]);
		if (*s == '|')
			return false;
	}
	*ret = bits;
	return true;
}

/* Searches the tables of the check's fields for a name and checks that they agree on its number. */
struct xlat_search {
	const char *text;
	uint64_t number;
	bool found, differ, missing;
};

static bool search_xlat(enum field_kind kind, const struct field *f, void *ctx)
{
	struct xlat_search *s = ctx;
	uint64_t n;

	if (kind != FIELD_ENUM && kind != FIELD_FLAGS)
		return false;
	if (!f->xlat || !(kind == FIELD_FLAGS ? read_flags(f->xlat, s->text, &n) :
						xlat_value(f->xlat, s->text, &n) == 0)) {
		s->missing = true;
		return false;
	}
	s->differ = s->differ || (s->found && n != s->number);
	s->number = n;
	s->found = true;
	return false;
}

/* Prefix that the kernel gives names of a space; decoders strip it. */
static const char *const space_prefix[SONDE_NAME__MAX] = {
	[SONDE_NAME_DROP_REASON] = "SKB_DROP_REASON_",
	[SONDE_NAME_XDP_ACTION] = "XDP_",
};

static bool strip_prefix(enum field_kind kind, const struct field *f, void *ctx)
{
	struct filter_value *v = ctx;
	const char *prefix = kind == FIELD_NAME && f->space < SONDE_NAME__MAX ? space_prefix[f->space] : NULL;
	size_t len = prefix ? strlen(prefix) : 0;

	if (!len || v->len <= len || strncasecmp(v->text, prefix, len))
		return false;
	v->name = v->text + len;
	v->name_len = v->len - len;
	return true;
}

static bool read_port(const char *s, uint64_t *ret)
{
	int port = services_port(s);

	if (port >= 0)
		*ret = (uint64_t)port;
	return port >= 0;
}

static void init_number(struct filter_value *v, const struct check *c)
{
	bool duration = filter_value_kinds(c, is_duration_field, NULL);

	if (v->text[0] == '-') {
		v->has_number = read_number(v->text + 1, &v->number);
		v->negative = v->number != 0;
	} else {
		v->has_number = read_number(v->text, &v->number) ||
				(duration && str_to_duration_ns(v->text, &v->number) == 0) ||
				(!duration && str_to_bytes(v->text, &v->number) == 0) ||
				(filter_value_kinds(c, is_bool_field, NULL) && read_bool(v->text, &v->number)) ||
				(filter_value_kinds(c, is_port_field, NULL) && read_port(v->text, &v->number));
	}
}

void filter_value_init(struct filter_value *v, const struct check *c)
{
	struct xlat_search s = { .text = v->text };

	v->name = v->text;
	v->name_len = v->len;
	if (strlen(v->text) != v->len) /* contains a NUL: a string only */
		return;
	init_number(v, c);
	v->has_net = ipaddr_ipnet_parse(v->text, &v->net) == 0;
	v->has_mac = read_mac(v->text, v->mac);
	filter_value_kinds(c, strip_prefix, v);
	if (v->has_number)
		return;
	filter_value_kinds(c, search_xlat, &s);
	if (s.found && !s.differ && !s.missing) {
		v->has_number = true;
		v->number = s.number;
	}
}

/* ---- validity ---- */

static bool is_ordering(enum filter_op op)
{
	return op == FILTER_LT || op == FILTER_LE || op == FILTER_GT || op == FILTER_GE;
}

static bool is_bytes(enum filter_op op)
{
	return op == FILTER_BCONTAINS || op == FILTER_BSTARTSWITH;
}

static bool op_fits_kind(enum field_kind kind, const struct field *f, void *ctx)
{
	enum filter_op op = *(const enum filter_op *)ctx;

	if (f->flags & FIELD_WITHIN)
		return op == FILTER_EQ || op == FILTER_EXISTS;
	if (filter_op_is_equality(op) || op == FILTER_TRUE || op == FILTER_EXISTS)
		return true;
	switch (kind) {
	case FIELD_UINT:
	case FIELD_INT:
	case FIELD_HEX:
	case FIELD_BOOL:
	case FIELD_NS: return is_ordering(op);
	case FIELD_FLAGS: return is_ordering(op) || op == FILTER_CONTAINS;
	case FIELD_ENUM:
	case FIELD_NAME:
	case FIELD_IFACE: return op != FILTER_PMATCH && !is_bytes(op);
	case FIELD_STR: return !is_ordering(op);
	case FIELD_IP: return op == FILTER_PMATCH;
	case FIELD_MAC: return false;
	case FIELD_GET: return true;
	case FIELD__MAX: break;
	}
	return false;
}

bool filter_value_op_fits(const struct check *c)
{
	enum filter_op op = c->op;

	return filter_value_kinds(c, op_fits_kind, &op);
}

struct value_check {
	const struct check *check;
	const struct filter_value *v;
	const char *wants;
};

static const char *wants_of(enum field_kind kind, const struct field *f, const struct check *c,
			    const struct filter_value *v)
{
	bool text_op = !filter_op_is_equality(c->op) && !is_ordering(c->op);
	struct xlat_search s = { .text = v->text };

	if (is_bytes(c->op) && (!v->len || v->len % 2 || strspn(v->text, "0123456789abcdefABCDEF") != v->len))
		return "bytes as pairs of hex digits";
	switch (kind) {
	case FIELD_UINT:
	case FIELD_HEX: return v->has_number && !v->negative ? NULL : "a number";
	case FIELD_INT: return v->has_number ? NULL : "a number";
	case FIELD_BOOL: return v->has_number && v->number <= 1 && !v->negative ? NULL : "true or false";
	case FIELD_NS: return v->has_number && !v->negative ? NULL : "a duration (100ms) or a number of nanoseconds";
	case FIELD_FLAGS:
	case FIELD_ENUM:
		search_xlat(kind, f, &s);
		if (s.found || v->has_number || (text_op && kind == FIELD_ENUM))
			return NULL;
		return "a number or one of its names";
	case FIELD_NAME:
	case FIELD_IFACE: return is_ordering(c->op) && !v->has_number ? "a number" : NULL;
	case FIELD_IP: return v->has_net ? NULL : "an address or a network";
	case FIELD_MAC: return v->has_mac ? NULL : "a MAC address";
	case FIELD_STR:
	case FIELD_GET:
	case FIELD__MAX: break;
	}
	return NULL;
}

static bool value_fits(enum field_kind kind, const struct field *f, void *ctx)
{
	struct value_check *vc = ctx;
	enum filter_op op = vc->check->op;
	const char *wants;

	if (!op_fits_kind(kind, f, &op))
		return false;
	wants = wants_of(kind, f, vc->check, vc->v);
	if (wants)
		vc->wants = wants;
	return !wants;
}

const char *filter_value_problem(const struct check *c, const struct filter_value *v)
{
	struct value_check vc = { .check = c, .v = v };

	return filter_value_kinds(c, value_fits, &vc) ? NULL : vc.wants;
}
