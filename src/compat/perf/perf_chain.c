// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chains that begin alike share the nodes of a tree. A node without samples of its own and with one child is printed
 * together with it, so that a branch is a column of names:
 *
 *             |
 *             ---main
 *                |
 *                |--75.00%--work
 *                |          inner
 *                |
 *                 --25.00%--idle
 */
#include "compat/perf/perf_chain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "compat/perf/perf_rows.h"

#define LEFT 12 /* column of a graph */
#define STEP 11 /* columns of a level */

/* ---- the option ---- */

static bool take_word(const char *word, size_t len, struct perf_chain_opts *o)
{
	static const struct {
		const char *name;
		enum perf_chain_form form;
	} forms[] = {
		{ "none", PERF_CHAIN_NONE }, { "graph", PERF_CHAIN_GRAPH },   { "fractal", PERF_CHAIN_FRACTAL },
		{ "flat", PERF_CHAIN_FLAT }, { "folded", PERF_CHAIN_FOLDED },
	};
	static const struct {
		const char *name;
		enum perf_chain_value value;
	} values[] = {
		{ "percent", PERF_CHAIN_PERCENT },
		{ "period", PERF_CHAIN_PERIOD },
		{ "count", PERF_CHAIN_COUNT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (strlen(forms[i].name) == len && !memcmp(forms[i].name, word, len)) {
			o->form = forms[i].form;
			return true;
		}
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (strlen(values[i].name) == len && !memcmp(values[i].name, word, len)) {
			o->value = values[i].value;
			return true;
		}
	if (len != 6 || (memcmp(word, "caller", 6) && memcmp(word, "callee", 6)))
		return len == 8 && !memcmp(word, "function", 8);
	o->callee = word[5] == 'e';
	o->order_given = true;
	return true;
}

/* The first number is the least percentage, the second the number of branches. */
static bool take_number(const char *word, size_t len, unsigned nth, struct perf_chain_opts *o)
{
	char text[32];
	double number;
	char *end;

	if (!len || !str_copy(text, sizeof(text), word, len))
		return false;
	number = strtod(text, &end);
	if (*end || number < 0 || number > UINT32_MAX)
		return false;
	if (nth)
		o->limit = (uint32_t)number;
	else
		o->min_percent = number;
	return nth < 2;
}

int perf_chain_parse(const char *text, struct perf_chain_opts *o, struct err *err)
{
	unsigned numbers = 0;
	const char *word;
	size_t len;

	o->form = PERF_CHAIN_GRAPH;
	while ((word = str_next_word(&text, &len))) {
		if (take_word(word, len, o))
			continue;
		if (!take_number(word, len, numbers++, o))
			return err_set(err, -EINVAL,
				       "-g %.*s is not supported: expected none, graph, fractal, flat or "
				       "folded, a least percentage, a number of branches, caller or callee, percent, "
				       "period or count",
				       (int)len, word);
	}
	return 0;
}

/* ---- the tree ---- */

struct node {
	const char *sym;
	uint32_t parent, child, next; /* indices; 0 = none, as the root is the child of no node */
	struct perf_total self, total;
};

struct edge {
	uint64_t parent;
	const char *sym;
};

struct tree {
	const struct perf_rows *all_rows;
	const struct perf_chain_opts *o;
	VEC(struct node) nodes;	  /* [0] is the root */
	struct map child_by_edge; /* struct edge -> u32 */
	uint64_t least;		  /* value of a branch that is shown */
	struct buf *out;
};

static uint32_t child_of(struct tree *t, uint32_t parent, const char *sym)
{
	const struct edge key = { parent, sym };
	bool is_new = false;
	uint32_t *i = map_add(&t->child_by_edge, &key, &is_new);

	if (!i || (is_new && vec_grow(&t->nodes) < 0))
		return 0;
	if (!is_new)
		return *i;
	*i = (uint32_t)t->nodes.len;
	t->nodes.items[t->nodes.len++] = (struct node){ .sym = sym, .parent = parent };
	return *i;
}

/* The chain of the cell as seen from its frame @place->frame. */
static int add_chain(struct tree *t, const struct perf_place *place)
{
	const struct perf_cell *c = &t->all_rows->cells.items[place->cell];
	const struct perf_frame *frames = t->all_rows->frames.items + c->first;
	uint32_t n = t->o->callee ? c->n - place->frame : place->frame ? place->frame + 1 : c->n, at = 0;

	t->nodes.items[0].total.value += c->value;
	t->nodes.items[0].total.count += c->count;
	for (uint32_t i = 0; i < n; i++) {
		at = child_of(t, at, frames[t->o->callee ? place->frame + i : n - 1 - i].sym);
		if (!at)
			return -ENOMEM;
		t->nodes.items[at].total.value += c->value;
		t->nodes.items[at].total.count += c->count;
	}
	t->nodes.items[at].self.value += c->value;
	t->nodes.items[at].self.count += c->count;
	return 0;
}

/* Links the children of each node, the largest first; equal ones as they came. */
static void link_children(struct tree *t)
{
	for (uint32_t i = 1; i < t->nodes.len; i++) {
		struct node *n = &t->nodes.items[i];
		uint32_t *to = &t->nodes.items[n->parent].child;

		if (n->total.value < t->least)
			continue;
		while (*to && t->nodes.items[*to].total.value >= n->total.value)
			to = &t->nodes.items[*to].next;
		n->next = *to;
		*to = i;
	}
}

static int tree_init(struct tree *t, const struct perf_row *row)
{
	int r = 0;

	map_init(&t->child_by_edge, sizeof(struct edge), sizeof(uint32_t));
	if (vec_push(&t->nodes, (struct node){ 0 }) < 0)
		return -ENOMEM;
	for (size_t i = 0; r >= 0 && i < row->places.len; i++)
		r = add_chain(t, &row->places.items[i]);
	t->least = (uint64_t)((double)t->all_rows->all.value * t->o->min_percent / 100);
	if (r >= 0)
		link_children(t);
	return r;
}

static void tree_fini(struct tree *t)
{
	vec_fini(&t->nodes);
	map_fini(&t->child_by_edge);
}

/* The node that ends the column of names that begins with @i. */
static uint32_t end_of(const struct tree *t, uint32_t i)
{
	for (;;) {
		const struct node *n = &t->nodes.items[i];

		if (n->self.value || !n->child || t->nodes.items[n->child].total.value != n->total.value)
			return i;
		i = n->child;
	}
}

/* ---- graph and fractal ---- */

static void put_value(const struct tree *t, const struct perf_total *s, uint64_t all)
{
	switch (t->o->value) {
	case PERF_CHAIN_PERCENT:
		buf_printf(t->out, "%.2f%%", all ? 100.0 * (double)s->value / (double)all : 0.0);
		break;
	case PERF_CHAIN_PERIOD: buf_printf(t->out, "%" PRIu64, s->value); break;
	case PERF_CHAIN_COUNT: buf_printf(t->out, "%" PRIu64, s->count); break;
	case PERF_CHAIN_VALUE__MAX: break;
	}
}

/* A level of the graph: its column, and whether the lines of the levels above go on. */
struct level {
	unsigned left, depth;
	uint64_t open; /* bits by depth; deeper ones are closed */
	uint64_t all;  /* what percentages are of */
};

static bool is_open(uint64_t open, unsigned i)
{
	return i < 64 && (open & 1ull << i);
}

static void put_bars(const struct tree *t, const struct level *l, unsigned depth, uint64_t open)
{
	buf_printf(t->out, "%*s", LEFT + (int)l->left, "");
	for (unsigned i = 0; i < depth; i++)
		buf_printf(t->out, "%c%*s", is_open(open, i) ? '|' : ' ', STEP - 1, "");
}

/* The column of names from @from to @to; the first stands behind its value. */
static void put_column(const struct tree *t, const struct level *l, uint32_t from, uint32_t to, uint64_t open)
{
	for (uint32_t i = from;; i = t->nodes.items[i].child) {
		if (i == from) {
			put_bars(t, l, l->depth - 1, open);
			buf_printf(t->out, "%c--", is_open(open, l->depth - 1) ? '|' : ' ');
			put_value(t, &t->nodes.items[i].total, l->all);
			buf_add_str(t->out, "--");
		} else {
			put_bars(t, l, l->depth, open);
		}
		buf_printf(t->out, "%s\n", t->nodes.items[i].sym);
		if (i == to)
			break;
	}
}

/* With fractal percentages what is left out is one more branch. */
static void put_rest(const struct tree *t, const struct level *l, const struct perf_total *rest)
{
	if (t->o->form != PERF_CHAIN_FRACTAL || !rest->value || rest->value == l->all || l->depth > 63)
		return;
	put_bars(t, l, l->depth - 1, l->open & ~(1ull << (l->depth - 1)));
	buf_add_str(t->out, " --");
	put_value(t, rest, l->all);
	buf_add_str(t->out, "--[...]\n");
}

static struct perf_total children_sums(const struct node *n)
{
	return (struct perf_total){ .value = n->total.value - n->self.value,
				    .count = n->total.count - n->self.count };
}

static void put_children(const struct tree *t, uint32_t parent, struct level l)
{
	struct perf_total rest = { .value = l.all, .count = children_sums(&t->nodes.items[parent]).count };
	uint32_t printed = 0;
	uint64_t open = l.open;

	for (uint32_t i = t->nodes.items[parent].child; i; i = t->nodes.items[i].next) {
		const struct node *n = &t->nodes.items[i];
		const uint32_t end = end_of(t, i);
		struct level below = { .left = l.left, .depth = l.depth + 1, .all = l.all };

		rest.value -= n->total.value;
		rest.count -= n->total.count;
		if (!n->next && (t->o->form != PERF_CHAIN_FRACTAL || !rest.value) && l.depth <= 64)
			open &= ~(1ull << (l.depth - 1));
		put_bars(t, &l, l.depth, l.open);
		buf_add_char(t->out, '\n');
		put_column(t, &l, i, end, open);
		below.open = l.depth < 64 ? open | 1ull << l.depth : open;
		if (t->o->form == PERF_CHAIN_FRACTAL)
			below.all = children_sums(&t->nodes.items[end]).value;
		put_children(t, end, below);
		if (++printed == t->o->limit)
			break;
	}
	l.open = open;
	put_rest(t, &l, &rest);
}

/* The names that all chains of the row begin with, without a value. Returns the last node. */
static uint32_t put_trunk(const struct tree *t, uint32_t from, uint32_t to, unsigned *ret_left)
{
	uint32_t printed = 0;
	bool begun = false;

	for (uint32_t i = from;; i = t->nodes.items[i].child) {
		if (i != from || !t->o->sym_first) {
			if (!begun)
				buf_printf(t->out, "%*s|\n%*s---", LEFT, "", LEFT, "");
			else
				buf_printf(t->out, "%*s", LEFT + 3, "");
			buf_printf(t->out, "%s\n", t->nodes.items[i].sym);
			begun = true;
			printed++;
		}
		if (i == to || (printed && printed == t->o->limit))
			break;
	}
	*ret_left = begun ? 3 : 0;
	return to;
}

static void put_graph(const struct tree *t, const struct perf_row *row)
{
	const struct node *root = &t->nodes.items[0];
	const uint64_t row_value = t->all_rows->o->children ? row->total.value : row->self.value;
	const size_t before = t->out->len;
	struct level l = { .depth = 1, .open = 1, .all = t->all_rows->all.value };
	uint32_t from = 0;

	if (root->child && !t->nodes.items[root->child].next && t->nodes.items[root->child].total.value == row_value)
		from = put_trunk(t, root->child, end_of(t, root->child), &l.left);
	if (t->o->form == PERF_CHAIN_FRACTAL)
		l.all = row_value;
	put_children(t, from, l);
	if (t->out->len != before)
		buf_add_char(t->out, '\n');
}

/* ---- flat and folded ---- */

static void put_path(const struct tree *t, uint32_t i, bool folded)
{
	uint32_t path[2048]; /* more than a stack has frames */
	size_t n = 0;

	for (; i && n < ARRAY_SIZE(path); i = t->nodes.items[i].parent)
		path[n++] = i;
	for (size_t at = n; at > 0; at--)
		if (folded)
			buf_printf(t->out, "%s%s", at < n ? ";" : "", t->nodes.items[path[at - 1]].sym);
		else
			buf_printf(t->out, "%*s%s\n", LEFT + 4, "", t->nodes.items[path[at - 1]].sym);
}

static int by_self(const void *a, const void *b, void *ctx)
{
	const struct tree *t = ctx;
	const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

	return COMPARE(t->nodes.items[j].self.value, t->nodes.items[i].self.value) ?: COMPARE(i, j);
}

static int put_list(const struct tree *t, bool folded)
{
	_cleanup_free_ uint32_t *ends = calloc(t->nodes.len, sizeof(*ends));
	size_t n = 0;

	if (!ends)
		return -ENOMEM;
	for (uint32_t i = 1; i < t->nodes.len; i++)
		if (t->nodes.items[i].self.value && t->nodes.items[i].self.value >= t->least)
			ends[n++] = i;
	qsort_r(ends, n, sizeof(*ends), by_self, (void *)t);
	for (size_t i = 0; i < n && (!t->o->limit || i < t->o->limit); i++) {
		const struct node *node = &t->nodes.items[ends[i]];

		buf_printf(t->out, "%*s", folded ? 0 : LEFT - 1, "");
		put_value(t, folded ? &node->self : &node->total, t->all_rows->all.value);
		buf_add_char(t->out, folded ? ' ' : '\n');
		put_path(t, ends[i], folded);
		buf_add_char(t->out, '\n');
	}
	return 0;
}

int perf_chain_put(const struct perf_rows *h, const struct perf_row *row, const struct perf_chain_opts *o,
		   struct buf *out)
{
	struct tree t = { .all_rows = h, .o = o, .out = out };
	int r;

	if (o->form == PERF_CHAIN_NONE || !h->has_chains)
		return 0;
	r = tree_init(&t, row);
	if (r >= 0 && (o->form == PERF_CHAIN_FLAT || o->form == PERF_CHAIN_FOLDED))
		r = put_list(&t, o->form == PERF_CHAIN_FOLDED);
	else if (r >= 0)
		put_graph(&t, row);
	tree_fini(&t);
	return r < 0 ? r : buf_error(out);
}
