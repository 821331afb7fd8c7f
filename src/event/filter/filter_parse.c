// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parser of the filter language. DEPTH_MAX bounds the recursion; a chain of "and" or "or" is a single node.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/filter/filter_error.h"
#include "event/filter/filter_lex.h"
#include "event/filter/filter_tree.h"
#include "event/filter/filter_value.h"

#define DEPTH_MAX 64
#define VALUES_MAX 4096

const char *const filter_op_names[] = {
	[FILTER_TRUE] = "", [FILTER_EXISTS] = "exists", [FILTER_EQ] = "=", [FILTER_NE] = "!=", [FILTER_LT] = "<",
	[FILTER_LE] = "<=", [FILTER_GT] = ">", [FILTER_GE] = ">=", [FILTER_CONTAINS] = "contains",
	[FILTER_ICONTAINS] = "icontains", [FILTER_STARTSWITH] = "startswith", [FILTER_ENDSWITH] = "endswith",
	[FILTER_GLOB] = "glob", [FILTER_IN] = "in", [FILTER_INTERSECTS] = "intersects", [FILTER_PMATCH] = "pmatch",
	[FILTER_BCONTAINS] = "bcontains", [FILTER_BSTARTSWITH] = "bstartswith",
};
_Static_assert(ARRAY_SIZE(filter_op_names) == FILTER__MAX, "every operator has a name");

struct parser {
	const struct registry *reg;
	const char *text;
	struct filter *f;
	struct err *err;
	struct token t;		/* lookahead */
	unsigned depth;
	size_t n_values;
};

DEFINE_CLEANUP(struct filter *, filter_free)

/* ---- errors ---- */

/* Common exit of errors: adds the excerpt to the sentence in @message. */
static int fail_at(struct parser *p, const struct token *at, struct buf *message)
{
	return filter_error_fail(p->err, p->text, at, message);
}

static int fail(struct parser *p, const struct token *at, const char *message)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	buf_add_str(&b, message);
	return fail_at(p, at, &b);
}

static int no_memory(struct parser *p)
{
	return err_set(p->err, -ENOMEM, "not enough memory for the filter");
}

static int fail_unknown_field(struct parser *p, const struct token *t)
{
	struct filter_suggestion s = filter_error_suggestion(p->text + t->pos, t->len);
	_cleanup_(buf_fini) struct buf b = { 0 };
	const struct event_desc *d;
	size_t pos = 0;

	for (size_t i = 0; i < event_n_common_fields; i++)
		filter_error_suggest(&s, event_common_fields[i].name);
	while ((d = registry_next(p->reg, &pos)))
		for (unsigned i = 0; i < d->n_fields; i++)
			filter_error_suggest(&s, d->fields[i].name);
	buf_add_str(&b, "no event has a field ");
	filter_error_add_quoted(&b, p->text + t->pos, t->len);
	filter_error_add_suggestion(&b, &s);
	return fail_at(p, t, &b);
}

static bool suggest_name(enum field_kind kind, const struct field *f, void *ctx)
{
	if (kind == FIELD_ENUM || kind == FIELD_FLAGS)
		for (uint32_t i = 0; f->xlat && i < f->xlat->n; i++)
			if (f->xlat->vals[i].name)
				filter_error_suggest(ctx, f->xlat->vals[i].name);
	return false;
}

static int fail_unknown_type(struct parser *p, const struct token *t, const struct check *c,
			     const struct filter_value *v)
{
	struct filter_suggestion s = filter_error_suggestion(v->text, v->len);
	_cleanup_(buf_fini) struct buf b = { 0 };
	const struct event_desc *d;
	size_t pos = 0;

	while ((d = registry_next(p->reg, &pos)))
		filter_error_suggest(&s, d->name);
	for (size_t i = 0; i < c->n_bindings; i++)
		suggest_name(FIELD_ENUM, c->bindings[i].field, &s);
	buf_add_str(&b, "unknown event type ");
	filter_error_add_quoted(&b, v->text, v->len);
	filter_error_add_suggestion(&b, &s);
	return fail_at(p, t, &b);
}

static int fail_value(struct parser *p, const struct token *t, const struct check *c, const struct filter_value *v,
		      const char *wants)
{
	struct filter_suggestion s = filter_error_suggestion(v->text, v->len);
	_cleanup_(buf_fini) struct buf b = { 0 };

	filter_value_kinds(c, suggest_name, &s);
	buf_printf(&b, "%s expects %s, not ", c->name, wants);
	filter_error_add_quoted(&b, v->text, v->len);
	filter_error_add_suggestion(&b, &s);
	return fail_at(p, t, &b);
}

static int fail_operator(struct parser *p, const struct token *t)
{
	struct filter_suggestion s = filter_error_suggestion(p->text + t->pos, t->len);
	_cleanup_(buf_fini) struct buf b = { 0 };

	for (int i = FILTER_EXISTS; i < FILTER__MAX; i++)
		filter_error_suggest(&s, filter_op_names[i]);
	filter_error_suggest(&s, "and");
	filter_error_suggest(&s, "or");
	filter_error_add_quoted(&b, p->text + t->pos, t->len);
	buf_add_str(&b, " is neither an operator nor and, or; a value with blanks needs quotes");
	if (s.best) {
		buf_reset(&b);
		filter_error_add_quoted(&b, p->text + t->pos, t->len);
		buf_add_str(&b, " is not an operator");
		filter_error_add_suggestion(&b, &s);
	}
	return fail_at(p, t, &b);
}

/* ---- helpers ---- */

static void advance(struct parser *p)
{
	p->t = filter_lex(p->text, p->t.pos + p->t.len);
}

static bool at_word(const struct parser *p, const char *word)
{
	return p->t.kind == TOKEN_WORD && strlen(word) == p->t.len && !memcmp(word, p->text + p->t.pos, p->t.len);
}

/* The token is not what belongs here. */
static int unexpected(struct parser *p, const char *expected)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	if (p->t.kind == TOKEN_BAD)
		return fail(p, &p->t, p->t.problem);
	buf_printf(&b, "%s is missing here", expected);
	return fail_at(p, &p->t, &b);
}

static int new_node(struct parser *p, enum node_kind kind, uint32_t child, const struct check *c, uint32_t *ret)
{
	if (vec_push(&p->f->nodes, (struct node){ .kind = kind, .child = child, .check = c }) < 0)
		return no_memory(p);
	*ret = (uint32_t)p->f->nodes.len - 1;
	return 0;
}

/* Copies a row whose name has an argument, so that its getter sees it. NULL without memory. */
static const struct field *with_argument(struct arena *a, const struct field *f, const char *name)
{
	struct field *copy;
	const char *arg;
	size_t len;

	event_field_find(f, 1, name, &arg, &len);
	if (!arg)
		return f;
	copy = arena_copy(a, f, sizeof(*f));
	if (!copy)
		return NULL;
	copy->arg = arena_copy(a, arg, len);
	return copy->arg ? copy : NULL;
}

/*
 * The field @name in events of type @d; @common: events of all types have it. A copy marks a field of d->also. 0,
 * -ENOENT or -ENOMEM.
 */
static int bind_in(struct parser *p, const struct event_desc *d, const char *name, bool common,
		   const struct field **ret)
{
	const struct field *f = event_field_named(d->fields, d->n_fields, name);
	/* Common fields are equivalent and cheaper, except evt.*, where the type has better values. */
	bool also = !f && !(common && strncmp(name, "evt.", 4));
	struct field *copy;
	const char *arg;
	size_t len;

	if (also)
		f = event_field_also(d, name, &arg, &len);
	if (!f)
		return -ENOENT;
	*ret = with_argument(&p->f->arena, f, name);
	if (!*ret || !also)
		return *ret ? 0 : -ENOMEM;
	copy = arena_copy(&p->f->arena, *ret, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	copy->flags |= FIELD_ALSO;
	*ret = copy;
	p->f->also = true;
	return 0;
}

/* Binds the name to a field in every type that has it. */
static int bind_field(struct parser *p, struct check *c)
{
	const struct event_desc *d;
	struct binding *b = NULL;
	size_t pos = 0, n = 0;

	while (registry_next(p->reg, &pos))
		n++;
	if (n) {
		b = arena_alloc(&p->f->arena, n * sizeof(*b));
		if (!b)
			return no_memory(p);
	}
	c->bindings = b;
	c->common = event_field_named(event_common_fields, event_n_common_fields, c->name);
	for (pos = 0; (d = registry_next(p->reg, &pos));) {
		const struct field *f;
		int r = bind_in(p, d, c->name, c->common, &f);

		if (r == -ENOMEM)
			return no_memory(p);
		if (r == 0)
			b[c->n_bindings++] = (struct binding){ d, f };
	}
	return 0;
}

static bool lacks_time(const struct check *c)
{
	uint64_t t;

	for (size_t i = 0; i < c->n_bindings; i++) {
		const struct field *f = c->bindings[i].field;

		if (f->flags & FIELD_WITHIN && (!f->arg || str_to_u64(f->arg, 10, &t) < 0))
			return true;
	}
	return false;
}

static int parse_field(struct parser *p, struct check **ret)
{
	struct check *c;
	size_t len;
	int r;

	if (p->t.kind != TOKEN_WORD || at_word(p, "and") || at_word(p, "or"))
		return unexpected(p, "a field (proc.name, evt.type...)");
	c = arena_alloc(&p->f->arena, sizeof(*c));
	if (!c)
		return no_memory(p);
	c->name = filter_lex_value(p->text, &p->t, &p->f->arena, &len);
	if (!c->name)
		return no_memory(p);
	r = bind_field(p, c);
	if (r < 0)
		return r;
	if (!c->common && !c->n_bindings)
		return fail_unknown_field(p, &p->t);
	*ret = c;
	return 0;
}

static bool type_named(const struct registry *reg, const char *name)
{
	const struct event_desc *d;
	size_t pos = 0;

	while ((d = registry_next(reg, &pos)))
		if (event_desc_is_called(d, name))
			return true;
	return false;
}

static bool value_names(const struct check *c, const struct event_desc *d)
{
	return FIND_ITEM(it, c->values, c->n_values, event_desc_is_called(d, it->text));
}

/* The types that the values of evt.type name. */
static int bind_types(struct parser *p, struct check *c)
{
	const struct event_desc *d;
	struct binding *types;
	size_t pos = 0, n = 0;

	if (strcmp(c->name, "evt.type") != 0 || !filter_op_is_equality(c->op))
		return 0;
	while ((d = registry_next(p->reg, &pos)))
		n += value_names(c, d);
	types = n ? arena_alloc(&p->f->arena, n * sizeof(*types)) : NULL;
	if (n && !types)
		return no_memory(p);
	c->types = types;
	for (pos = 0; n && (d = registry_next(p->reg, &pos));)
		if (value_names(c, d))
			types[c->n_types++] = (struct binding){ .desc = d };
	return 0;
}

/* Event type names are validated only if no type gives the field another meaning. */
static bool names_a_type(const struct parser *p, const struct check *c, const struct filter_value *v)
{
	uint64_t number;

	if (strcmp(c->name, "evt.type"))
		return true;
	if (!filter_op_is_equality(c->op))
		return true;
	for (size_t i = 0; i < c->n_bindings; i++)
		if (!c->bindings[i].field->xlat || xlat_value(c->bindings[i].field->xlat, v->text, &number) == 0)
			return true;
	return type_named(p->reg, v->text);
}

typedef VEC(struct filter_value) value_vec;

static int parse_value(struct parser *p, const struct check *c, value_vec *values)
{
	struct filter_value v = { 0 };
	const char *wants;

	if (p->t.kind == TOKEN_OP && p->t.len == 1 && (p->t.op == FILTER_LT || p->t.op == FILTER_GT))
		p->t.kind = TOKEN_WORD;	/* evt.dir=< */
	if (p->t.kind != TOKEN_WORD && p->t.kind != TOKEN_STRING)
		return unexpected(p, "a value");
	if (p->n_values++ >= VALUES_MAX)
		return fail(p, &p->t, "the filter has more than 4096 values");
	v.text = filter_lex_value(p->text, &p->t, &p->f->arena, &v.len);
	if (!v.text || vec_grow(values) < 0)
		return no_memory(p);
	filter_value_init(&v, c);
	wants = filter_value_problem(c, &v);
	if (wants)
		return fail_value(p, &p->t, c, &v, wants);
	if (!names_a_type(p, c, &v))
		return fail_unknown_type(p, &p->t, c, &v);
	values->items[values->len++] = v;
	advance(p);
	return 0;
}

static int parse_list(struct parser *p, const struct check *c, value_vec *values)
{
	int r;

	do {
		advance(p);
		if (p->t.kind == TOKEN_CLOSE && !values->len)	/* an empty list matches nothing */
			break;
		r = parse_value(p, c, values);
		if (r < 0)
			return r;
	} while (p->t.kind == TOKEN_COMMA);
	if (p->t.kind != TOKEN_CLOSE)
		return unexpected(p, "\",\" or \")\"");
	advance(p);
	return 0;
}

static int parse_values(struct parser *p, struct check *c)
{
	value_vec values = { 0 };
	int r;

	if (p->t.kind == TOKEN_OPEN && filter_op_takes_list(c->op))
		r = parse_list(p, c, &values);
	else if (filter_op_takes_list(c->op) && c->op != FILTER_PMATCH)
		r = unexpected(p, "a list in parentheses");
	else
		r = parse_value(p, c, &values);
	if (r >= 0) {
		c->n_values = values.len;
		c->values = arena_copy(&p->f->arena, values.items, values.len * sizeof(*values.items));
		r = c->values ? 0 : no_memory(p);
	}
	vec_fini(&values);
	return r;
}

/* True unless the body or the common getter yields a number without a name lookup. */
static bool needs_name(enum field_kind kind, const struct field *f, _unused_ void *ctx)
{
	if (f->kind == FIELD_GET && event_field_named(event_common_fields, event_n_common_fields, f->name) != f)
		return true;
	return kind != FIELD_UINT && kind != FIELD_HEX && kind != FIELD_BOOL && kind != FIELD_NS &&
	       kind != FIELD_ENUM;
}

static bool only_numbers(const struct check *c)
{
	if (filter_value_kinds(c, needs_name, NULL))
		return false;
	if (c->op < FILTER_EQ || (c->op > FILTER_GE && c->op != FILTER_IN && c->op != FILTER_INTERSECTS))
		return false;
	return !FIND_ITEM(it, c->values, c->n_values, !it->has_number);
}

/* Reads the operator at the token; FILTER_TRUE if the check is a bare field. */
static int read_operator(struct parser *p, enum filter_op *ret)
{
	*ret = FILTER_TRUE;
	if (p->t.kind == TOKEN_OP) {
		*ret = p->t.op;
		return 0;
	}
	if (p->t.kind != TOKEN_WORD || at_word(p, "and") || at_word(p, "or"))
		return 0;
	for (int i = FILTER_EXISTS; i < FILTER__MAX; i++) {
		if (!at_word(p, filter_op_names[i]))
			continue;
		*ret = (enum filter_op)i;
		return 0;
	}
	return fail_operator(p, &p->t);
}

static int parse_check(struct parser *p, uint32_t *ret)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct token op, field = p->t;
	struct check *c = NULL;
	int r = parse_field(p, &c);

	if (r < 0)
		return r;
	advance(p);
	r = read_operator(p, &c->op);
	if (r < 0)
		return r;
	op = p->t;
	if (!filter_value_op_fits(c)) {
		if (c->op == FILTER_TRUE)
			buf_printf(&b, "%s needs an operator and a value", c->name);
		else
			buf_printf(&b, "%s cannot be used with %s", filter_op_names[c->op], c->name);
		return fail_at(p, &op, &b);
	}
	if (c->op == FILTER_EQ && lacks_time(c))
		return fail(p, &field, "a time in ns is missing: evt.around[1700000000000000000]=1000");
	if (c->op != FILTER_TRUE)
		advance(p);
	if (c->op > FILTER_EXISTS) {
		r = parse_values(p, c);
		if (r < 0)
			return r;
		c->plain_numbers = only_numbers(c);
		r = bind_types(p, c);
	}
	return r < 0 ? r : new_node(p, NODE_CHECK, 0, c, ret);
}

static int parse_or(struct parser *p, uint32_t *ret);

static int parse_factor(struct parser *p, uint32_t *ret)
{
	bool negated = at_word(p, "not");
	struct token open = p->t;
	uint32_t child = 0;
	int r;

	if (!negated && p->t.kind != TOKEN_OPEN)
		return parse_check(p, ret);
	if (++p->depth > DEPTH_MAX)
		return fail(p, &p->t, "the filter is nested deeper than 64 levels");
	advance(p);
	r = negated ? parse_factor(p, &child) : parse_or(p, &child);
	if (r < 0)
		return r;
	p->depth--;
	if (negated)
		return new_node(p, NODE_NOT, child, NULL, ret);
	if (p->t.kind == TOKEN_END)
		return fail(p, &open, "unmatched parenthesis");
	if (p->t.kind != TOKEN_CLOSE)
		return unexpected(p, "\"and\", \"or\" or \")\"");
	advance(p);
	*ret = child;
	return 0;
}

/* One or more @next joined by @word, in one node. */
static int parse_chain(struct parser *p, const char *word, enum node_kind kind,
		       int (*next)(struct parser *p, uint32_t *ret), uint32_t *ret)
{
	uint32_t first = 0, last, chain = 0;
	int r = next(p, &first);

	if (r < 0 || !at_word(p, word)) {
		*ret = first;
		return r;
	}
	r = new_node(p, kind, first, NULL, &chain);
	for (last = first; r >= 0 && at_word(p, word);) {
		uint32_t node = 0;

		advance(p);
		r = next(p, &node);
		if (r >= 0) {
			p->f->nodes.items[last].next = node;
			last = node;
		}
	}
	*ret = chain;
	return r;
}

static int parse_and(struct parser *p, uint32_t *ret)
{
	return parse_chain(p, "and", NODE_AND, parse_factor, ret);
}

static int parse_or(struct parser *p, uint32_t *ret)
{
	return parse_chain(p, "or", NODE_OR, parse_and, ret);
}

/* ---- entry points ---- */

static int parse_all(struct parser *p)
{
	int r;

	r = new_node(p, NODE_AND, 0, NULL, &(uint32_t){ 0 });	/* number 0 means none */
	if (r < 0 || p->t.kind == TOKEN_END)
		return r;
	r = parse_or(p, &p->f->root);
	if (r < 0 || p->t.kind == TOKEN_END)
		return r;
	if (p->t.kind == TOKEN_CLOSE)
		return fail(p, &p->t, "unmatched parenthesis");
	return unexpected(p, "\"and\" or \"or\"");
}

int filter_parse(const struct registry *reg, const char *text, struct filter **ret, struct err *err)
{
	_cleanup_(filter_freep) struct filter *f = NULL;
	struct parser p = { .reg = reg, .text = text, .err = err };
	int r;

	if (strnlen(text, FILTER_TEXT_MAX + 1) > FILTER_TEXT_MAX)
		return err_set(err, -EINVAL, "the filter is longer than 64 KiB");
	f = p.f = calloc(1, sizeof(*f));
	if (!f)
		return no_memory(&p);
	p.t = filter_lex(text, 0);
	r = parse_all(&p);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(f);
	return 0;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	arena_fini(&f->arena);
	vec_fini(&f->nodes);
	free(f);
}
