/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Push-down of one part of a filter expression: sys_pushdown.c splits the expression and handles callers and results,
 * sys_pushdown_ask.c fields that it evaluates for every system call, sys_pushdown_path.c paths.
 */
#ifndef SYS_PUSHDOWN_PART_H
#define SYS_PUSHDOWN_PART_H

#include <stdbool.h>

struct filter;
struct filter_conjunct;
struct sys_call;

struct pushing {
	const struct registry *reg;
	const struct sys_pushdown_opts *o;
	struct sys_pushdown *p;
	struct buf *rest, *explain;
	const char *why;	/* why user space evaluates the part again */
};

/* Where a part is evaluated. */
enum verdict {
	PUSH_KERNEL,	/* in the kernel alone: same result as in user space */
	PUSH_BOTH,	/* the kernel drops some of the events that user space would drop */
	PUSH_USER,	/* in user space alone */
	VERDICT__MAX,
};

static inline enum verdict push_both(struct pushing *s, const char *why)
{
	s->why = why;
	return PUSH_BOTH;
}

/* ---- sysdig's fields (sys_pushdown_ask.c) ---- */

/* Do the number of the call, the type of its descriptor or its error decide all fields of @f? */
bool sys_pushdown_ask_fits(const struct filter *f);
/* 0 or -ENOMEM. */
int sys_pushdown_ask_call(struct pushing *s, const struct filter *f, enum verdict *ret);

/* ---- paths and names of files (sys_pushdown_path.c) ---- */

enum verdict sys_pushdown_path_add(struct pushing *s, const struct filter_conjunct *c);

/* ---- descriptors: used by both ---- */

#define SYS_PUSHDOWN_NO_FD (-1)		/* events of the call have no descriptor */
#define SYS_PUSHDOWN_NOT_ARG (-2)	/* they have, but it is not an argument */

/* Argument with the descriptor of the call's events, or one of the two above. */
int sys_pushdown_ask_fd_arg(const struct sys_call *call);

/* Restricts the call to descriptors of @kinds (SYS_FD_*) in argument @arg; @kinds 0: drops the call. */
void sys_pushdown_ask_narrow(struct sys_pushdown *p, unsigned abi, unsigned nr, int arg, unsigned kinds);

/* Lets all calls pass, unless an earlier part has restricted them. */
void sys_pushdown_ask_start_calls(struct sys_pushdown *p);

#endif
