/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Renders a stack tree as a flame graph, of one profile or the difference of two.
 */
#ifndef SINKS_SVG_H
#define SINKS_SVG_H

#include <stdbool.h>
#include <stdint.h>

#include "stack/tree.h"

struct svg_opts {
	const char *title;	/* NULL = "Flame graph" */
	const char *unit;	/* of weights: "samples" */
	const char *footer;	/* lines about missing data, each ending in  ; NULL = none */
	uint32_t width, height;	/* total width and frame height, pixels; 0 = 1200, 16 */
	bool diff;		/* the tree holds an old and a new profile */
};

/* Appends the SVG to @out; sorts the tree by name. 0 or -ENOMEM. */
int svg_write(struct stack_tree *tree, const struct svg_opts *o, struct buf *out);

#endif
