// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack/top_rows.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "stack/tree.h"

/* Equal names of a tree share a pointer, so the pointer is the key. */
static struct top_row *row_of(struct top_rows *rows, struct map *index, const char *name)
{
	const uint64_t key = (uintptr_t)name;
	bool is_new = false;
	uint32_t *i = map_add(index, &key, &is_new);

	if (!i || (is_new && vec_grow(rows) < 0))
		return NULL;
	if (is_new) {
		*i = (uint32_t)rows->len;
		rows->items[rows->len++] = (struct top_row){ .name = name };
	}
	return &rows->items[*i];
}

/* Whether the function already occurs further out in the stack. */
static bool is_repeated(const struct stack_tree *t, const struct stack_node *n)
{
	const char *name = n->name;

	while (n->depth > 1) {
		n = stack_tree_at(t, n->parent);
		if (n->name == name)
			return true;
	}
	return false;
}

static int add_node(struct top_rows *rows, struct map *index, uint32_t i, enum top_kind kind, const char *name)
{
	const struct stack_node *n = stack_tree_at(rows->tree, i), *shown = n;
	struct top_row *row;

	if (kind == TOP_PROCESSES ? n->depth != 1 : n->depth < 2)
		return 0;
	if (kind == TOP_CALLERS) {
		if (strcmp(n->name, name))
			return 0;
		shown = stack_tree_at(rows->tree, n->parent);
	}
	row = row_of(rows, index, shown->name);
	if (!row)
		return -ENOMEM;
	row->self += kind == TOP_PROCESSES ? n->total[STACK_OLD] : n->self[STACK_OLD];
	row->total += is_repeated(rows->tree, n) ? 0 : n->total[STACK_OLD];
	return 0;
}

static int by_self(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	return COMPARE(y->self, x->self) ?: COMPARE(y->total, x->total) ?: strcmp(x->name, y->name);
}

static int by_total(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	return COMPARE(y->total, x->total) ?: by_self(a, b);
}

void top_rows_fini(struct top_rows *rows)
{
	stack_tree_free(rows->tree);
	vec_fini(rows);
	rows->tree = NULL;
}

int top_rows_fill(struct top_rows *rows, const struct stack_set *s, struct sym *sym, const struct stack_view *v,
		  enum top_kind kind, const char *name, bool total_first)
{
	struct map index;
	int r;

	stack_tree_free(TAKE_PTR(rows->tree));
	rows->len = 0;
	rows->total = 0;
	r = stack_tree_new(&rows->tree);
	if (r >= 0)
		r = stack_tree_add(rows->tree, s, sym, v, STACK_OLD, false);
	if (r < 0)
		return r;
	map_init(&index, sizeof(uint64_t), sizeof(uint32_t));
	for (uint32_t i = 1; r >= 0 && i < stack_tree_len(rows->tree); i++)
		r = add_node(rows, &index, i, kind, name);
	map_fini(&index);
	rows->total = stack_tree_at(rows->tree, 0)->total[STACK_OLD];
	vec_sort(rows, total_first ? by_total : by_self);
	return r;
}
