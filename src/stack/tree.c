// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

struct name {
	const char *text;
	uint32_t next;		/* with the same hash; 0 = none */
};

struct edge { uint32_t parent, name; };

struct stack_tree {
	VEC(struct stack_node) nodes;
	VEC(struct name) names;		/* [0] is none */
	struct map name_by_hash;	/* u64 -> u32 */
	struct map child_by_edge;	/* struct edge -> u32 node */
	struct arena texts;
};

void stack_tree_free(struct stack_tree *t)
{
	if (!t)
		return;
	vec_fini(&t->nodes);
	vec_fini(&t->names);
	map_fini(&t->name_by_hash);
	map_fini(&t->child_by_edge);
	arena_fini(&t->texts);
	free(t);
}

int stack_tree_new(struct stack_tree **ret)
{
	_cleanup_(stack_tree_freep) struct stack_tree *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	map_init(&t->name_by_hash, sizeof(uint64_t), sizeof(uint32_t));
	map_init(&t->child_by_edge, sizeof(struct edge), sizeof(uint32_t));
	if (vec_grow(&t->nodes) < 0 || vec_grow(&t->names) < 0)
		return -ENOMEM;
	t->nodes.items[t->nodes.len++] = (struct stack_node){ .name = "all", .part = STACK_PART_NOTE };
	t->names.items[t->names.len++] = (struct name){ .text = "" };
	*ret = TAKE_PTR(t);
	return 0;
}

size_t stack_tree_len(const struct stack_tree *t)
{
	return t->nodes.len;
}

const struct stack_node *stack_tree_at(const struct stack_tree *t, uint32_t i)
{
	return &t->nodes.items[i];
}

static uint32_t intern(struct stack_tree *t, const char *text)
{
	size_t len = strlen(text);
	uint64_t hash = map_hash(text, len);
	uint32_t *first = map_add(&t->name_by_hash, &hash, NULL);
	char *copy;

	for (uint32_t i = first ? *first : 0; i; i = t->names.items[i].next)
		if (!strcmp(t->names.items[i].text, text))
			return i;
	if (!first || vec_grow(&t->names) < 0)
		return 0;
	copy = arena_copy(&t->texts, text, len);
	if (!copy)
		return 0;
	t->names.items[t->names.len] = (struct name){ .text = copy, .next = *first };
	*first = (uint32_t)t->names.len;
	return (uint32_t)t->names.len++;
}

/* Child @name of @parent, added if missing; 0 without memory. */
static uint32_t stack_tree_child(struct stack_tree *t, uint32_t parent, const char *name, enum stack_part part)
{
	struct edge e = { .parent = parent, .name = intern(t, name) };
	bool is_new = false;
	uint32_t *i;

	if (!e.name || vec_grow(&t->nodes) < 0)
		return 0;
	i = map_add(&t->child_by_edge, &e, &is_new);
	if (!i || !is_new)
		return i ? *i : 0;
	*i = (uint32_t)t->nodes.len;
	t->nodes.items[*i] = (struct stack_node){
		.name = t->names.items[e.name].text, .parent = parent, .next = t->nodes.items[parent].child,
		.depth = t->nodes.items[parent].depth + 1, .part = part,
	};
	t->nodes.items[parent].child = *i;
	t->nodes.len++;
	return *i;
}

static void stack_tree_count(struct stack_tree *t, uint32_t node, enum stack_side side, uint64_t weight)
{
	t->nodes.items[node].self[side] += weight;
	for (uint32_t i = node;; i = t->nodes.items[i].parent) {
		t->nodes.items[i].total[side] += weight;
		if (!i)
			break;
	}
}

/* ---- from a set ---- */

struct adder {
	struct stack_tree *tree;
	const struct stack_view *view;
	enum stack_side side;
	bool folded;
	struct buf text;	/* scratch */
};

/* The displayed name: no byte of it may break a line or, in folded text, a stack. */
static const char *shown(struct adder *a, const char *name, size_t len, enum stack_part part)
{
	buf_reset(&a->text);
	str_escape_buf(&a->text, name, len);
	for (size_t i = 0; a->folded && i < a->text.len; i++)
		if (a->text.data[i] == ';')
			a->text.data[i] = ':';
	if (a->folded && a->view->annotate && part == STACK_PART_KERN)
		buf_add_str(&a->text, "_[k]");
	return buf_str(&a->text);
}

static uint32_t descend(struct adder *a, uint32_t node, const char *name, size_t len, enum stack_part part)
{
	return stack_tree_child(a->tree, node, shown(a, name, len, part), part);
}

static int add_line(struct adder *a, const struct stack_line *l, const struct stack_frames *frames)
{
	const struct stack_key *key = &l->entry->key;
	uint32_t node = descend(a, 0, key->comm, strnlen(key->comm, sizeof(key->comm)), STACK_PART_NOTE);

	/* Folded text has the user part first; frames come kernel first and innermost first, so walk backwards. */
	for (size_t i = frames->len; node && i-- > 0;) {
		const struct stack_frame *f = &frames->items[i];

		node = descend(a, node, f->name, strlen(f->name), f->part);
	}
	if (node && l->state)
		node = descend(a, node, l->state, strlen(l->state), STACK_PART_NOTE);
	if (!node)
		return -ENOMEM;
	stack_tree_count(a->tree, node, a->side, l->weight);
	return 0;
}

int stack_tree_add(struct stack_tree *t, const struct stack_set *s, struct sym *sym, const struct stack_view *v,
		   enum stack_side side, bool folded)
{
	_cleanup_(stack_names_freep) struct stack_names *names = NULL;
	struct adder a = { .tree = t, .view = v, .side = side, .folded = folded };
	struct stack_frames frames = { 0 };
	int r = stack_names_new(s, sym, &names);

	for (size_t i = 0; r >= 0 && i < stack_set_len(s); i++) {
		struct stack_line lines[STACK_MAX_LINES];
		size_t n = stack_lines(stack_set_at(s, i), v->weight, lines);

		r = stack_names_all(names, stack_set_at(s, i), v, &frames);
		for (size_t j = 0; r >= 0 && j < n; j++)
			r = add_line(&a, &lines[j], &frames);
	}
	vec_fini(&frames);
	buf_fini(&a.text);
	return r;
}

/* ---- order and paths ---- */

struct item { const char *name; uint32_t node; };

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct item *)a)->name, ((const struct item *)b)->name);
}

int stack_tree_sort(struct stack_tree *t)
{
	struct item *items = calloc(t->nodes.len, sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (size_t p = 0; p < t->nodes.len; p++) {
		size_t n = 0;

		for (uint32_t c = t->nodes.items[p].child; c; c = t->nodes.items[c].next)
			items[n++] = (struct item){ t->nodes.items[c].name, c };
		if (n < 2)
			continue;
		qsort(items, n, sizeof(*items), by_name);
		t->nodes.items[p].child = items[0].node;
		for (size_t i = 0; i < n; i++)
			t->nodes.items[items[i].node].next = i + 1 < n ? items[i + 1].node : 0;
	}
	free(items);
	return 0;
}

struct leaf { uint64_t self; uint32_t node; };

static int by_self(const void *a, const void *b)
{
	const struct leaf *x = a, *y = b;

	return COMPARE(x->self, y->self) ?: COMPARE(x->node, y->node);
}

int stack_tree_leaves(const struct stack_tree *t, enum stack_side side, uint32_t **ret, size_t *ret_n)
{
	_cleanup_free_ struct leaf *leaves = calloc(t->nodes.len, sizeof(*leaves));
	size_t n = 0;

	if (!leaves)
		return -ENOMEM;
	for (size_t i = 0; i < t->nodes.len; i++)
		if (t->nodes.items[i].self[side])
			leaves[n++] = (struct leaf){ t->nodes.items[i].self[side], (uint32_t)i };
	qsort(leaves, n, sizeof(*leaves), by_self);
	*ret = calloc(n + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		(*ret)[i] = leaves[i].node;
	*ret_n = n;
	return 0;
}

int stack_tree_path(const struct stack_tree *t, uint32_t i, struct buf *out)
{
	uint32_t depth = t->nodes.items[i].depth, *path = calloc((size_t)depth + 1, sizeof(*path));

	if (!path)
		return -ENOMEM;
	for (uint32_t d = depth; d > 0; d--, i = t->nodes.items[i].parent)
		path[d - 1] = i;
	for (uint32_t d = 0; d < depth; d++) {
		if (d)
			buf_add_char(out, ';');
		buf_add_str(out, t->nodes.items[path[d]].name);
	}
	free(path);
	return buf_error(out);
}
