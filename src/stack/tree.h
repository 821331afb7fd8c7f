/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks as a tree of names from the outermost frame inwards, the data of a flame graph, with one weight or two (of
 * an older and a newer profile). Equal lines of folded text are one node.
 */
#ifndef STACK_TREE_H
#define STACK_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "stack/view.h"

enum stack_side { STACK_OLD, STACK_NEW, STACK_SIDE__MAX };	/* of one profile: STACK_OLD */

struct stack_node {
	const char *name;
	uint32_t parent, child, next;	/* indexes; 0 = none: the root is not a child */
	uint32_t depth;
	enum stack_part part;
	uint64_t self[STACK_SIDE__MAX], total[STACK_SIDE__MAX];
};

struct stack_tree;

int stack_tree_new(struct stack_tree **ret);
void stack_tree_free(struct stack_tree *t);	/* NULL is fine */
DEFINE_CLEANUP(struct stack_tree *, stack_tree_free)

/* @folded: names as in folded text (no ';', with _[k] if the view says so). 0 or -ENOMEM. */
int stack_tree_add(struct stack_tree *t, const struct stack_set *s, struct sym *sym, const struct stack_view *v,
		   enum stack_side side, bool folded);

size_t stack_tree_len(const struct stack_tree *t);			/* nodes, the root (0) included */
const struct stack_node *stack_tree_at(const struct stack_tree *t, uint32_t i);	/* until the next add */

/* Orders the children of every node by name. 0 or -ENOMEM. */
int stack_tree_sort(struct stack_tree *t);

/*
 * Nodes with their own weight, lightest first, ties in order of addition. *ret is the caller's. 0 or -ENOMEM.
 */
int stack_tree_leaves(const struct stack_tree *t, enum stack_side side, uint32_t **ret, size_t *ret_n);

/* Appends "a;b;c" of node @i to @out. 0 or -ENOMEM. */
struct buf;
int stack_tree_path(const struct stack_tree *t, uint32_t i, struct buf *out);

#endif
