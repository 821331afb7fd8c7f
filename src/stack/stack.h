/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counted stacks: adds up events with SEC_STACK_* by process, name and location. Different stacks never share an
 * entry (they are compared in full); stacks that do not fit are counted as dropped.
 *
 * Used by every output that shows profiles and by the live view.
 */
#ifndef STACK_STACK_H
#define STACK_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/stack_wire.h"
#include "sym/sym.h"

struct stack_set;

struct stack_key {
	uint32_t tgid, tid;	/* tid 0 unless threads are kept apart */
	uint64_t start_ns;
	char comm[16];		/* not always NUL-terminated */
	uint64_t call;		/* number of the RPC that the thread worked for; this and `cpu` 0 unless kept apart */
	uint32_t cpu, pad;
};

struct stack_entry {
	struct stack_key key;
	uint64_t count;		/* samples (field stack.count if an event represents several) */
	uint64_t value;		/* sum of stack.value: ns on or off the CPU, or events */
	uint64_t min, max;	/* of one event's value */
	uint64_t wait;		/* of value: ns runnable, waiting for a CPU (field stack.wait) */
	uint32_t user_end;	/* SONDE_STACK_* */
	const char *kind;	/* desc->name of its events: "cpu.sample", "cpu.block" */
	const char *container;	/* "" = none or unknown */
	const struct sym_loc *user, *kern;	/* innermost first */
	const uint64_t *user_ips, *kern_ips;	/* raw addresses, from the process that was counted first */
	uint32_t n_user, n_kern;
	bool has_user, has_kern;	/* the event had the section, possibly empty */
	bool kern_failed;	/* a kernel stack existed but could not be read (field stack.error) */
};

struct stack_set_opts {
	bool by_thread, by_call, by_cpu;
	size_t budget_bytes;	/* 0 = 256 MiB */
	size_t max_entries;	/* 0 = as many as fit */
};

int stack_set_new(struct sym *sym, const struct stack_set_opts *o, struct stack_set **ret);
void stack_set_free(struct stack_set *s);

/*
 * Adds an event that has a stack section or field stack.value; *ret_index is its entry. -ENOENT for other events.
 * -ENOSPC: counted in dropped.
 */
int stack_set_put(struct stack_set *s, const struct event *ev, size_t *ret_index);
void stack_set_clear(struct stack_set *s);

/* The amount that @ev adds to stack_entry.value: field stack.value, 0 without it. */
uint64_t stack_event_value(struct stack_set *s, const struct event *ev);
uint64_t stack_event_count(struct stack_set *s, const struct event *ev);	/* the same for stack.count, at least
										 * 1 */

/* Was the stack recorded, but without a single frame (user), or refused by the kernel (kern)? */
bool stack_entry_missed_user(const struct stack_entry *e);
bool stack_entry_missed_kern(const struct stack_entry *e);

/* How many stacks of @ev are missed in that sense; -ENOENT for an event without stacks. */
int stack_event_missed(struct stack_set *s, const struct event *ev);

/* Why a user stack is truncated: "no unwind info"; NULL if it is complete. @user_end: SONDE_STACK_*. */
const char *stack_end_reason(uint32_t user_end);

/* Entries keep their index until the set is cleared. */
size_t stack_set_len(const struct stack_set *s);
const struct stack_entry *stack_set_at(const struct stack_set *s, size_t i);
uint64_t stack_set_dropped(const struct stack_set *s);

#endif
