// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prints a filter and iterates over its required conditions.
 */
#include <errno.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "event/filter/filter_lex.h"
#include "event/filter/filter_tree.h"

/* Quotes and escapes @s so that it parses back to the same value and is safe on a terminal. */
static void add_quoted(struct buf *out, const char *s, size_t len)
{
	buf_add_char(out, '"');
	for (size_t i = 0, n; i < len; i += n) {
		n = str_utf8_len(s + i, len - i);
		if (s[i] == '"' || s[i] == '\\') {
			buf_add_char(out, '\\');
			buf_add_char(out, s[i]);
		} else if (n && str_is_plain(s + i, n)) {
			buf_add(out, s + i, n);
		} else {
			n = 1;
			buf_printf(out, "\\x%02x", (unsigned char)s[i]);
		}
	}
	buf_add_char(out, '"');
}

static void add_value(struct buf *out, const struct filter_value *v)
{
	if (filter_lex_is_bare(v->text, v->len))
		buf_add(out, v->text, v->len);
	else
		add_quoted(out, v->text, v->len);
}

static void add_check(struct buf *out, const struct check *c)
{
	bool symbol = c->op >= FILTER_EQ && c->op <= FILTER_GE;

	buf_add_str(out, c->name);
	if (c->op == FILTER_TRUE)
		return;
	if (!symbol)
		buf_add_char(out, ' ');
	buf_add_str(out, filter_op_names[c->op]);
	if (c->op == FILTER_EXISTS)
		return;
	if (!symbol)
		buf_add_char(out, ' ');
	if (filter_op_takes_list(c->op))
		buf_add_char(out, '(');
	for (size_t i = 0; i < c->n_values; i++) {
		if (i)
			buf_add_str(out, ", ");
		add_value(out, &c->values[i]);
	}
	if (filter_op_takes_list(c->op))
		buf_add_char(out, ')');
}

static void filter_node_text(const struct filter *f, uint32_t i, struct buf *out);

static void add_child(const struct filter *f, uint32_t i, bool parentheses, struct buf *out)
{
	if (parentheses)
		buf_add_char(out, '(');
	filter_node_text(f, i, out);
	if (parentheses)
		buf_add_char(out, ')');
}

/* Prints a node, for filter_text() and filter_conjuncts(). */
static void filter_node_text(const struct filter *f, uint32_t i, struct buf *out)
{
	const struct node *n = &f->nodes.items[i], *nodes = f->nodes.items;

	switch (n->kind) {
	case NODE_CHECK:
		add_check(out, n->check);
		break;
	case NODE_NOT:
		buf_add_str(out, "not ");
		add_child(f, n->child, nodes[n->child].kind == NODE_AND || nodes[n->child].kind == NODE_OR, out);
		break;
	case NODE_AND:
	case NODE_OR:
		for (uint32_t k = n->child; k; k = nodes[k].next) {
			if (k != n->child)
				buf_add_str(out, n->kind == NODE_AND ? " and " : " or ");
			add_child(f, k, n->kind == NODE_AND && nodes[k].kind == NODE_OR, out);
		}
		break;
	case NODE__MAX: break;
	}
}

int filter_text(const struct filter *f, struct buf *out)
{
	if (f && f->root)
		filter_node_text(f, f->root, out);
	return buf_error(out);
}

static int visit(const struct filter *f, uint32_t i, int (*fn)(void *ctx, const struct filter_conjunct *c), void *ctx)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	const struct node *n = &f->nodes.items[i];
	struct filter_conjunct out = { 0 };

	filter_node_text(f, i, &text);
	out.text = buf_str(&text);
	if (buf_error(&text))
		return -ENOMEM;
	for (; n->kind == NODE_NOT; n = &f->nodes.items[n->child])
		out.negated = !out.negated;
	if (n->kind == NODE_CHECK) {
		out.field = n->check->name;
		out.op = n->check->op;
		out.values = n->check->values;
		out.n_values = n->check->n_values;
	}
	return fn(ctx, &out);
}

static int walk(const struct filter *f, uint32_t i, int (*fn)(void *ctx, const struct filter_conjunct *c), void *ctx)
{
	const struct node *n = &f->nodes.items[i];
	int count = 0, r;

	if (n->kind != NODE_AND) {
		r = visit(f, i, fn, ctx);
		return r < 0 ? r : 1;
	}
	for (uint32_t k = n->child; k; k = f->nodes.items[k].next) {
		r = walk(f, k, fn, ctx);
		if (r < 0)
			return r;
		count += r;
	}
	return count;
}

int filter_conjuncts(const struct filter *f, int (*fn)(void *ctx, const struct filter_conjunct *c), void *ctx)
{
	return f && f->root ? walk(f, f->root, fn, ctx) : 0;
}
