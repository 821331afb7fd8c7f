// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/answers/ui_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "ui/ui_answer.h"

#define FUNCTIONS_MAX 1000u
#define ROOT "all"

struct edge { uint32_t parent, name; };

void ui_tree_fini(struct ui_tree *t)
{
	vec_fini(&t->nodes);
	vec_fini(&t->names);
	map_fini(&t->by_hash);
	map_fini(&t->by_edge);
	arena_fini(&t->texts);
}

int ui_tree_init(struct ui_tree *t)
{
	*t = (struct ui_tree){ 0 };
	map_init(&t->by_hash, sizeof(uint64_t), sizeof(uint32_t));
	map_init(&t->by_edge, sizeof(struct edge), sizeof(uint32_t));
	if (vec_grow(&t->nodes) < 0 || vec_grow(&t->names) < 0)
		return -ENOMEM;
	t->nodes.items[t->nodes.len++] = (struct ui_tree_node){ 0 };
	t->names.items[t->names.len++] = (struct ui_tree_name){ .text = ROOT };
	return 0;
}

/* 0 without memory. */
static uint32_t name_of(struct ui_tree *t, const char *text)
{
	size_t len = strlen(text);
	uint64_t hash = map_hash(text, len);
	uint32_t *first = map_add(&t->by_hash, &hash, NULL);
	const char *copy;

	for (uint32_t i = first ? *first : 0; i; i = t->names.items[i].next)
		if (!strcmp(t->names.items[i].text, text))
			return i;
	copy = first && vec_grow(&t->names) >= 0 ? arena_copy(&t->texts, text, len) : NULL;
	if (!copy)
		return 0;
	t->names.items[t->names.len] = (struct ui_tree_name){ .text = copy, .next = *first };
	*first = (uint32_t)t->names.len;
	return (uint32_t)t->names.len++;
}

/* 0 without memory. */
static uint32_t child_of(struct ui_tree *t, uint32_t parent, uint32_t name, unsigned part)
{
	const struct edge e = { .parent = parent, .name = name };
	bool is_new = false;
	uint32_t *i = vec_grow(&t->nodes) < 0 ? NULL : map_add(&t->by_edge, &e, &is_new);

	if (!i || !is_new)
		return i ? *i : 0;
	*i = (uint32_t)t->nodes.len++;
	t->nodes.items[*i] = (struct ui_tree_node){
		.name = name, .parent = parent, .next = t->nodes.items[parent].child,
		.depth = t->nodes.items[parent].depth + 1, .part = part,
	};
	t->nodes.items[parent].child = *i;
	return *i;
}

static void count_name(struct ui_tree *t, uint32_t name, uint64_t weight)
{
	struct ui_tree_name *n = &t->names.items[name];

	if (n->mark != t->stacks)
		n->total += weight;
	n->mark = t->stacks;
}

int ui_tree_add(struct ui_tree *t, const struct ui_tree_frame *frames, size_t n, enum ui_tree_side side,
		uint64_t weight)
{
	uint32_t node = 0;

	t->stacks++;
	t->nodes.items[0].total[side] += weight;
	for (size_t i = 0; i < n; i++) {
		uint32_t name = name_of(t, frames[i].name);

		node = name ? child_of(t, node, name, frames[i].part) : 0;
		if (!node)
			return -ENOMEM;
		t->nodes.items[node].total[side] += weight;
		if (side == UI_TREE_NOW && frames[i].part)
			count_name(t, name, weight);
	}
	if (side == UI_TREE_NOW) {
		t->nodes.items[node].self += weight;
		t->names.items[t->nodes.items[node].name].self += t->nodes.items[node].part ? weight : 0;
	}
	return 0;
}

/* ---- the picture ---- */

struct place {
	const struct ui_tree *t;
	uint32_t *nodes;	/* owned; in the order of the answer */
	size_t len;
	uint64_t least;		/* lighter frames are left out */
	uint64_t left_out, left_out_weight;
};

static uint64_t weight_of(const struct ui_tree_node *n)
{
	return MAX(n->total[UI_TREE_NOW], n->total[UI_TREE_OLD]);
}

static int by_name(const void *a, const void *b, void *ctx)
{
	const struct ui_tree *t = ctx;
	const uint32_t *i = a, *k = b;
	const struct ui_tree_node *x = &t->nodes.items[*i], *y = &t->nodes.items[*k];

	return strcmp(t->names.items[x->name].text, t->names.items[y->name].text) ?: COMPARE(*i, *k);
}

/* Children from the left by name; they fit into their parent. Breadth first: sorted by depth and start. */
static void place_children(struct ui_tree *t, struct place *p, uint32_t parent)
{
	uint64_t start = t->nodes.items[parent].start;
	size_t first = p->len;

	for (uint32_t i = t->nodes.items[parent].child; i; i = t->nodes.items[i].next)
		p->nodes[p->len++] = i;
	if (p->len - first > 1)
		qsort_r(p->nodes + first, p->len - first, sizeof(*p->nodes), by_name, t);
	for (size_t i = first; i < p->len; i++) {
		struct ui_tree_node *n = &t->nodes.items[p->nodes[i]];

		n->start = start;
		start += weight_of(n);
	}
	/* a light frame's own children go with it */
	for (size_t i = first, end = p->len; i < end; i++) {
		const struct ui_tree_node *n = &t->nodes.items[p->nodes[i]];

		p->len = i == first ? first : p->len;
		if (weight_of(n) >= p->least) {
			p->nodes[p->len++] = p->nodes[i];
			continue;
		}
		p->left_out++;
		p->left_out_weight += n->total[UI_TREE_NOW];
	}
}

static int lay_out(struct ui_tree *t, uint32_t px, struct place *p)
{
	*p = (struct place){ .t = t, .least = weight_of(&t->nodes.items[0]) / px / 2 };
	p->nodes = calloc(t->nodes.len + 1, sizeof(*p->nodes));
	if (!p->nodes)
		return -ENOMEM;
	p->nodes[p->len++] = 0;
	for (size_t i = 0; i < p->len; i++)
		place_children(t, p, p->nodes[i]);
	return 0;
}

static void put_frame(struct json *j, const struct ui_tree_node *n, bool both)
{
	json_open(j, '[');
	json_u64(j, n->name);
	json_u64(j, n->depth);
	json_u64(j, n->start);
	json_u64(j, n->total[UI_TREE_NOW]);
	json_u64(j, n->self);
	json_u64(j, n->part);
	if (both)
		json_u64(j, n->total[UI_TREE_OLD]);
	json_close(j, ']');
}

static int by_self(const void *a, const void *b, void *ctx)
{
	const struct ui_tree *t = ctx;
	const uint32_t *i = a, *k = b;
	const struct ui_tree_name *x = &t->names.items[*i], *y = &t->names.items[*k];

	return COMPARE(y->self, x->self) ?: COMPARE(y->total, x->total) ?: strcmp(x->text, y->text);
}

static int put_functions(struct ui_tree *t, struct json *j)
{
	_cleanup_free_ uint32_t *order = calloc(t->names.len, sizeof(*order));
	size_t n = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 1; i < t->names.len; i++)
		if (t->names.items[i].total)
			order[n++] = i;
	if (n)
		qsort_r(order, n, sizeof(*order), by_self, t);
	json_put_open(j, "functions", '[');
	for (size_t i = 0; i < MIN(n, (size_t)FUNCTIONS_MAX); i++) {
		const struct ui_tree_name *f = &t->names.items[order[i]];

		json_open(j, '{');
		ui_answer_put_text(j, "name", f->text);
		json_put_u64(j, "self", f->self);
		json_put_u64(j, "total", f->total);
		json_close(j, '}');
	}
	json_close(j, ']');
	return 0;
}

int ui_tree_write(struct ui_tree *t, uint32_t px, bool both, struct json *j)
{
	struct place p;
	int r = lay_out(t, px, &p);

	if (r < 0)
		return r;
	json_put_u64(j, "total", t->nodes.items[0].total[UI_TREE_NOW]);
	if (both)
		json_put_u64(j, "total_old", t->nodes.items[0].total[UI_TREE_OLD]);
	json_put_open(j, "trimmed", '{');
	json_put_u64(j, "frames", p.left_out);
	json_put_u64(j, "value", p.left_out_weight);
	json_close(j, '}');
	json_put_open(j, "names", '[');
	for (size_t i = 0; i < t->names.len; i++)
		ui_answer_put_string(j, t->names.items[i].text, strlen(t->names.items[i].text));
	json_close(j, ']');
	json_put_open(j, "frames", '[');
	for (size_t i = 0; i < p.len; i++)
		put_frame(j, &t->nodes.items[p.nodes[i]], both);
	json_close(j, ']');
	free(p.nodes);
	return put_functions(t, j);
}
