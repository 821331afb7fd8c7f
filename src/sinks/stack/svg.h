/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree of stacks as a flame graph, of one profile or of two compared.
 */
#ifndef SINKS_SVG_H
#define SINKS_SVG_H

#include <stdbool.h>
#include <stdint.h>

#include "stack/tree.h"

struct buf;

struct svg_opts {
	const char *title;	/* NULL = "Flame graph" */
	const char *unit;	/* of weights: "samples" */
	const char *footer;	/* lines, each ending in \n: what is missing; NULL = none */
	uint32_t width, height;	/* of all and of one frame, pixels; 0 = 1200, 16 */
	bool diff;		/* the tree has an old and a new side */
};

/* Appends the file to @out; orders the tree by name. 0 or -ENOMEM. */
int svg_write(struct stack_tree *tree, const struct svg_opts *o, struct buf *out);

#endif
