/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of calls and the stacks that belong to them. Each call has one stack, taken when it was entered; a stack that
 * met a file without unwind table comes later than its call. Lines wait for theirs and leave in their order.
 */
#ifndef COMPAT_STRACE_STACKS_H
#define COMPAT_STRACE_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct event;
struct sym;

/* A line for the queue. */
struct strace_stacks_line {
	FILE *out;		/* borrowed; must stay open until strace_stacks_flush() with @all */
	const struct buf *text;	/* with its newline; copied */
	size_t ip_at;		/* where the instruction pointer goes; SIZE_MAX = nowhere */
	uint32_t tid;
	uint64_t after_ns, until_ns; /* the stack's time lies between, until_ns included; both 0 = it has none */
};

/* Writes text; its errors are the owner's. */
typedef void (*strace_stacks_fn)(void *ctx, FILE *out, const struct buf *text);

/* @whole: stacks behind lines, else only instruction pointers. NULL = no memory. */
struct strace_stacks *strace_stacks_new(bool whole, strace_stacks_fn write, void *ctx);
void strace_stacks_free(struct strace_stacks *s); /* NULL is fine */

/* Takes the stack of @ev. @sym may be NULL if stacks are not whole. 0 or -ENOMEM. */
int strace_stacks_take(struct strace_stacks *s, struct sym *sym, const struct event *ev);
/* Forgets stacks of @tid up to @until_ns: no line is for their calls. */
void strace_stacks_drop(struct strace_stacks *s, uint32_t tid, uint64_t until_ns);
/* 0 or -ENOMEM. */
int strace_stacks_put(struct strace_stacks *s, const struct strace_stacks_line *line);
/* Names and writes what waits for nothing; @all: also lines whose stacks have not come. 0 or -ENOMEM. */
int strace_stacks_flush(struct strace_stacks *s, struct sym *sym, bool all);

#endif
