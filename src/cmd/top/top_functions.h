/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of stacks as the rows of the view "functions".
 */
#ifndef CMD_TOP_FUNCTIONS_H
#define CMD_TOP_FUNCTIONS_H

struct event;
struct stack_set;
struct stack_view;
struct sym;
struct top_functions;
struct top_rows;
struct view_rows;

/* Rows of @set; @rows owns their names. @only: function whose callers are listed; NULL = all. 0 or -ENOMEM. */
int top_functions_rows(struct top_rows *rows, const struct stack_set *set, struct sym *sym,
		       const struct stack_view *view, const char *only, struct view_rows *ret);

/* Counts samples of CPUs. @sym is borrowed. 0 or -ENOMEM. */
int top_functions_new(struct sym *sym, struct top_functions **ret);
void top_functions_free(struct top_functions *f); /* NULL is fine */
int top_functions_take(struct top_functions *f, const struct event *ev);
int top_functions_fill(struct top_functions *f, struct view_rows *ret);

#endif
