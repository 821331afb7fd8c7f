/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of one event's stacks by name, for the filter word stack.function: the names of the frames that profiles
 * and flame graphs show for the event, notes on truncated stacks included.
 */
#ifndef STACK_FUNCTIONS_H
#define STACK_FUNCTIONS_H

struct stack_functions;
struct sym;

/* @sym is borrowed. Equal stacks are named once, unless a name is missing. 0 or -ENOMEM. */
int stack_functions_new(struct sym *sym, struct stack_functions **ret);
void stack_functions_free(struct stack_functions *f); /* NULL is fine */

/* For event.functions, as long as @f lives. @f NULL: NULL. */
struct event_functions *stack_functions_of(struct stack_functions *f);

#endif
