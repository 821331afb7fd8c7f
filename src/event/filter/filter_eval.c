// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Evaluates filters without allocation, in time linear in the filter and in the lengths of the compared strings.
 */
#include <string.h>
#include <strings.h>

#include "base/macros.h"
#include "event/filter/filter_tree.h"
#include "sonde/wire.h"

/* ---- strings ---- */

/*
 * Matches a bracket expression at @p ("[a-z]", "[!x]"). *ret_end: the byte after it, or NULL if it is unterminated.
 */
static bool match_set(const char *p, const char *end, char c, const char **ret_end)
{
	bool negated = p + 1 < end && (p[1] == '!' || p[1] == '^'), found = false;
	const char *first = p + 1 + negated;

	*ret_end = NULL;
	for (p = first; p < end && (*p != ']' || p == first); p++) {
		if (p + 2 < end && p[1] == '-' && p[2] != ']') {
			found = found || ((uint8_t)c >= (uint8_t)p[0] && (uint8_t)c <= (uint8_t)p[2]);
			p += 2;
		} else {
			found = found || *p == c;
		}
	}
	if (p < end)
		*ret_end = p + 1;
	return found != negated;
}

/* Matches @c against one pattern element other than "*". *ret_next: the next element. */
static bool match_one(const char *p, const char *end, char c, const char **ret_next)
{
	bool in_set;

	*ret_next = p + 1;
	if (*p == '?')
		return true;
	if (*p == '[') {
		const char *after;

		in_set = match_set(p, end, c, &after);
		if (after) {
			*ret_next = after;
			return in_set;
		}
	}
	if (*p == '\\' && p + 1 < end) {
		*ret_next = p + 2;
		return p[1] == c;
	}
	return *p == c;
}

/*
 * Shell pattern in which "/" is an ordinary character. Backtracks to the last star only, so time is quadratic at
 * worst.
 */
static bool glob_match(const char *p, size_t p_len, const char *s, size_t s_len)
{
	const char *p_end = p + p_len, *s_end = s + s_len, *star = NULL, *star_s = NULL, *next;

	while (s < s_end) {
		if (p < p_end && *p == '*') {
			star = ++p;
			star_s = s;
		} else if (p < p_end && match_one(p, p_end, *s, &next)) {
			p = next;
			s++;
		} else if (star) {
			p = star;
			s = ++star_s;
		} else {
			return false;
		}
	}
	while (p < p_end && *p == '*')
		p++;
	return p == p_end;
}

static bool has_text_nocase(const char *s, size_t len, const char *part, size_t part_len)
{
	for (size_t i = 0; part_len <= len && i <= len - part_len; i++)
		if (!strncasecmp(s + i, part, part_len))
			return true;
	return false;
}

/* Is @s the path @dir or below it? */
static bool path_below(const char *s, size_t len, const char *dir, size_t dir_len)
{
	while (dir_len > 1 && dir[dir_len - 1] == '/')
		dir_len--;
	if (len < dir_len || memcmp(s, dir, dir_len))
		return false;
	return len == dir_len || s[dir_len] == '/' || (dir_len == 1 && dir[0] == '/');
}

static int hex_value(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* Expects @v->text to be pairs of hex digits, which the parser checked. */
static bool has_bytes(const char *s, size_t len, const struct filter_value *v, bool at_start)
{
	size_t n = v->len / 2, k;

	for (size_t i = 0; n <= len && i <= (at_start ? 0 : len - n); i++) {
		for (k = 0; k < n; k++)
			if ((uint8_t)s[i + k] != (hex_value(v->text[2 * k]) << 4 | hex_value(v->text[2 * k + 1])))
				break;
		if (k == n)
			return true;
	}
	return false;
}

static bool text_match(enum filter_op op, const char *s, size_t len, const struct filter_value *v)
{
	switch (op) {
	case FILTER_CONTAINS: return memmem(s, len, v->text, v->len) != NULL;
	case FILTER_ICONTAINS: return has_text_nocase(s, len, v->text, v->len);
	case FILTER_STARTSWITH: return len >= v->len && !memcmp(s, v->text, v->len);
	case FILTER_ENDSWITH: return len >= v->len && !memcmp(s + len - v->len, v->text, v->len);
	case FILTER_GLOB: return glob_match(v->text, v->len, s, len);
	case FILTER_PMATCH: return path_below(s, len, v->text, v->len);
	case FILTER_BCONTAINS: return has_bytes(s, len, v, false);
	case FILTER_BSTARTSWITH: return has_bytes(s, len, v, true);
	default: return false;
	}
}

/* ---- numbers, names, addresses ---- */

static bool order_match(enum filter_op op, int cmp)
{
	switch (op) {
	case FILTER_EQ:
	case FILTER_NE:
	case FILTER_IN:
	case FILTER_INTERSECTS: return cmp == 0;
	case FILTER_LT: return cmp < 0;
	case FILTER_LE: return cmp <= 0;
	case FILTER_GT: return cmp > 0;
	case FILTER_GE: return cmp >= 0;
	default: return false;
	}
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static bool uint_match(enum filter_op op, uint64_t u, const struct filter_value *v)
{
	return v->has_number && order_match(op, v->negative ? 1 : compare(u, v->number));
}

static bool int_match(enum filter_op op, int64_t i, const struct filter_value *v)
{
	int cmp;

	if (!v->has_number)
		return false;
	if (i < 0)
		cmp = v->negative ? compare(v->number, -(uint64_t)i) : -1;
	else
		cmp = v->negative ? 1 : compare((uint64_t)i, v->number);
	return order_match(op, cmp);
}

/* Length of the name without a symbol's offset ("tcp_v4_rcv+0x12 [module]"), unless the filter's text has one. */
static size_t name_length(const struct value *val, const struct field *f, const struct filter_value *v)
{
	const char *plus;

	if (f->kind != FIELD_NAME || f->space != SONDE_NAME_KSYM || memchr(v->text, '+', v->len))
		return val->len;
	plus = memchr(val->str, '+', val->len);
	return plus ? (size_t)(plus - val->str) : val->len;
}

static bool name_equal(const struct value *val, const struct field *f, const struct filter_value *v)
{
	return name_length(val, f, v) == v->name_len && !strncasecmp(val->str, v->name, v->name_len);
}

/* Either side may be an abbreviated id. */
static bool id_equal(const struct value *val, const struct filter_value *v)
{
	size_t len = MIN(val->len, v->len);

	return (val->len == v->len || len == ID_SHORT) && !memcmp(val->str, v->text, len);
}

static bool str_match(enum filter_op op, const struct value *val, const struct field *f, const struct filter_value *v)
{
	switch (op) {
	case FILTER_EQ:
	case FILTER_NE:
	case FILTER_IN:
	case FILTER_INTERSECTS:
		if (f->flags & FIELD_SHORT)
			return id_equal(val, v);
		if (!val->has_number)
			return val->len == v->len && !memcmp(val->str, v->text, v->len);
		return uint_match(op, val->u, v) || name_equal(val, f, v);
	case FILTER_LT:
	case FILTER_LE:
	case FILTER_GT:
	case FILTER_GE: return val->has_number && uint_match(op, val->u, v);
	default: return text_match(op, val->str, val->len, v);
	}
}

static bool flags_match(enum filter_op op, uint64_t bits, const struct filter_value *v)
{
	if (!v->has_number)
		return false;
	if (op == FILTER_CONTAINS)
		return (bits & v->number) == v->number;
	if (op == FILTER_INTERSECTS)
		return bits & v->number;
	return uint_match(op, bits, v);
}

static bool list_match(enum filter_op op, const struct value *list, const struct field *f,
		       const struct filter_value *v)
{
	struct value one = { .kind = VAL_STR };

	for (one.str = list->str; one.str < list->str + list->len; one.str += one.len + 1) {
		one.len = strlen(one.str);
		if (str_match(op, &one, f, v))
			return true;
	}
	return false;
}

static bool value_match(enum filter_op op, const struct value *val, const struct field *f,
			const struct filter_value *v)
{
	switch (val->kind) {
	case VAL_UINT:
	case VAL_BOOL: return uint_match(op, val->u, v);
	case VAL_INT: return int_match(op, val->i, v);
	case VAL_STR: return str_match(op, val, f, v);
	case VAL_IP: return v->has_net && ipaddr_ipnet_contains(&v->net, &val->ip);
	case VAL_MAC: return v->has_mac && !memcmp(v->mac, val->str, sizeof(v->mac));
	case VAL_FLAGS: return flags_match(op, val->u, v);
	case VAL_LIST: return list_match(op, val, f, v);
	case VAL_NONE:
	case VAL_BYTES:
	case VAL__MAX: break;
	}
	return false;
}

/* ---- checks ---- */

/* VERDICT_MISSING: the event lacks the value. */
enum verdict { VERDICT_MISSING, VERDICT_NO, VERDICT_YES, VERDICT__MAX };

static enum verdict any_value(const struct check *c, const struct value *val, const struct field *f)
{
	enum filter_op op = f->flags & FIELD_WITHIN ? FILTER_LE : c->op;

	for (size_t i = 0; i < c->n_values; i++)
		if (value_match(op, val, f, &c->values[i]))
			return VERDICT_YES;
	return VERDICT_NO;
}

static enum verdict field_match(const struct check *c, const struct event *ev, const struct field *f)
{
	struct value val;

	if (c->plain_numbers) {
		if (event_get_number(ev, f, &val.u) < 0)
			return VERDICT_MISSING;
		val.kind = VAL_UINT;
		return any_value(c, &val, f);
	}
	if (event_get(ev, f, &val) < 0)
		return VERDICT_MISSING;
	if (c->op == FILTER_EXISTS)
		return VERDICT_YES;
	if (c->op == FILTER_TRUE)
		return val.kind != VAL_BOOL || val.u ? VERDICT_YES : VERDICT_NO;
	return any_value(c, &val, f);
}

static const struct field *find_field(const struct check *c, const struct event_desc *desc)
{
	for (size_t i = 0; i < c->n_bindings; i++)
		if (c->bindings[i].desc == desc)
			return c->bindings[i].field;
	return c->common;
}

static bool filter_check_match(const struct check *c, const struct event *ev)
{
	const struct field *f = find_field(c, ev->desc);
	enum verdict v;

	for (size_t i = 0; i < c->n_types; i++)
		if (c->types[i].desc == ev->desc)
			return c->op != FILTER_NE;
	if (!f)
		return false;
	if (f->flags & FIELD_EITHER) {
		enum verdict a = field_match(c, ev, f + 1), b = field_match(c, ev, f + 2);

		v = a > b ? a : b;
	} else {
		v = field_match(c, ev, f);
	}
	return c->op == FILTER_NE ? v == VERDICT_NO : v == VERDICT_YES;
}

static bool node_match(const struct filter *f, uint32_t i, const struct event *ev)
{
	const struct node *n = &f->nodes.items[i];

	if (n->kind == NODE_CHECK)
		return filter_check_match(n->check, ev);
	if (n->kind == NODE_NOT)
		return !node_match(f, n->child, ev);
	for (uint32_t k = n->child; k; k = f->nodes.items[k].next)
		if (node_match(f, k, ev) != (n->kind == NODE_AND))
			return n->kind == NODE_OR;
	return n->kind == NODE_AND;
}

bool filter_mentions(const struct filter *f, const char *field, const char *value)
{
	for (size_t i = 1; f && i < f->nodes.len; i++) {
		const struct check *c = f->nodes.items[i].check;

		if (!c || f->nodes.items[i].kind != NODE_CHECK || strcmp(c->name, field) != 0)
			continue;
		for (size_t k = 0; k < c->n_values; k++)
			if (!strcmp(c->values[k].text, value))
				return true;
	}
	return false;
}

bool filter_uses(const struct filter *f, const char *field)
{
	size_t len = strlen(field);

	for (size_t i = 1; f && i < f->nodes.len; i++) {
		const struct check *c = f->nodes.items[i].check;

		if (f->nodes.items[i].kind == NODE_CHECK && !strncmp(c->name, field, len) &&
		    (!c->name[len] || c->name[len] == '.'))
			return true;
	}
	return false;
}

bool filter_also(const struct filter *f)
{
	return f && f->also;
}

bool filter_match(const struct filter *f, const struct event *ev)
{
	if (!f || !f->root || ev->desc->class == EVENT_META)
		return true;
	return node_match(f, f->root, ev);
}

bool filter_has_only(const struct filter *f, const char *const *fields)
{
	for (size_t i = 1; i < f->nodes.len; i++) {
		const struct check *c = f->nodes.items[i].check;
		const char *const *p = fields;

		if (f->nodes.items[i].kind != NODE_CHECK)
			continue;
		while (*p && strcmp(*p, c->name) != 0)
			p++;
		if (!*p)
			return false;
	}
	return true;
}

/* ---- types of events as values of evt.type ---- */

static bool has_type(const struct check *c, const struct event_desc *d)
{
	return FIND_ITEM(it, c->types, c->n_types, it->desc == d);
}

bool filter_eval_names_type(const struct filter *f, const struct event_desc *d)
{
	for (size_t i = 1; f && i < f->nodes.len; i++) {
		const struct node *n = &f->nodes.items[i];

		if (n->kind == NODE_CHECK && n->check->op != FILTER_NE && has_type(n->check, d))
			return true;
	}
	return false;
}

bool filter_eval_names_any(const struct filter *f)
{
	for (size_t i = 1; f && i < f->nodes.len; i++)
		if (f->nodes.items[i].kind == NODE_CHECK && f->nodes.items[i].check->n_types)
			return true;
	return false;
}

/* ---- what must hold ---- */

struct type_walk {
	const struct registry *reg;
	int (*fn)(void *ctx, const char *name, const struct event_desc *const *descs, size_t n);
	void *ctx;
	int found;
};

static int walk_value(struct type_walk *w, const char *name)
{
	VEC(const struct event_desc *) descs = { 0 };
	const struct event_desc *d;
	size_t pos = 0;
	int r = 0;

	while (r >= 0 && (d = registry_next(w->reg, &pos))) {
		if (!event_desc_is_called(d, name))
			continue;
		r = vec_push(&descs, d);
	}
	if (r >= 0)
		r = w->fn(w->ctx, name, descs.items, descs.len);
	vec_fini(&descs);
	return r;
}

static int walk_conjunct(void *ctx, const struct filter_conjunct *c)
{
	struct type_walk *w = ctx;
	int r = 0;

	if (!c->field || strcmp(c->field, "evt.type") != 0 || c->negated ||
	    (c->op != FILTER_EQ && c->op != FILTER_IN))
		return 0;
	w->found++;
	for (size_t i = 0; r >= 0 && i < c->n_values; i++)
		r = walk_value(w, c->values[i].text);
	return r;
}

int filter_eval_types(const struct filter *f, const struct registry *reg,
		      int (*fn)(void *ctx, const char *name, const struct event_desc *const *descs, size_t n),
		      void *ctx)
{
	struct type_walk w = { .reg = reg, .fn = fn, .ctx = ctx };
	int r = f ? filter_conjuncts(f, walk_conjunct, &w) : 0;

	return r < 0 ? r : w.found;
}
