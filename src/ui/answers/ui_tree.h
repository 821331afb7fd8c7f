/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Named stacks as a tree with two weights, laid out from left to right: a flame graph in numbers.
 */
#ifndef UI_UI_TREE_H
#define UI_UI_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

struct json;

enum ui_tree_side { UI_TREE_NOW, UI_TREE_OLD, UI_TREE__MAX };

struct ui_tree_frame {
	const char *name;
	unsigned part;	/* doc/api.md: 0 a group, 1 user, 2 kernel, 3 a note */
};

struct ui_tree_node {
	uint32_t name, parent, child, next, depth; /* indexes; 0 = none */
	unsigned part;
	uint64_t self, total[UI_TREE__MAX], start;
};

struct ui_tree_name {
	const char *text;
	uint64_t self, total;	/* of UI_TREE_NOW; a name that recurs in a stack counts once */
	uint32_t next;		/* with the same hash */
	uint32_t mark;		/* last stack that it was in */
};

struct ui_tree {
	VEC(struct ui_tree_node) nodes;	/* [0]: the root */
	VEC(struct ui_tree_name) names;	/* [0]: "all" */
	struct map by_hash;		/* u64 -> u32 name */
	struct map by_edge;		/* parent, name -> u32 node */
	struct arena texts;
	uint32_t stacks;
};

int ui_tree_init(struct ui_tree *t); /* 0 or -ENOMEM; ui_tree_fini() in any case */
void ui_tree_fini(struct ui_tree *t);

/* Adds a stack of @n frames, the root's child first. 0 or -ENOMEM. */
int ui_tree_add(struct ui_tree *t, const struct ui_tree_frame *frames, size_t n, enum ui_tree_side side,
		uint64_t weight);

/*
 * Writes "total", "trimmed", "names", "frames" and "functions". Frames narrower than half of one of @px pixels are
 * left out and counted. @both: with the weights of the other side. 0 or -ENOMEM.
 */
int ui_tree_write(struct ui_tree *t, uint32_t px, bool both, struct json *j);

#endif
