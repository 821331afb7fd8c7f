/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counted stacks as a table: functions, processes, or the callers of one function, heaviest first.
 */
#ifndef STACK_TOP_ROWS_H
#define STACK_TOP_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/view.h"

enum top_kind { TOP_FUNCTIONS, TOP_PROCESSES, TOP_CALLERS, TOP_KIND__MAX };

struct top_row {
	const char *name;	/* printable; owned by the table */
	uint64_t self, total;	/* a function that recurs in a stack counts once */
};

struct top_rows {		/* zeroed: empty */
	struct top_row *items;
	size_t len, cap;
	uint64_t total;		/* of all stacks */
	struct stack_tree *tree;	/* owns the names */
};

/* @name: function whose callers are listed, for TOP_CALLERS. 0 or -ENOMEM. */
int top_rows_fill(struct top_rows *rows, const struct stack_set *s, struct sym *sym, const struct stack_view *v,
		  enum top_kind kind, const char *name, bool total_first);
void top_rows_fini(struct top_rows *rows);

#endif
