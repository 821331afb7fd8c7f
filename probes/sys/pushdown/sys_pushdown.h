/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which parts of a filter expression the kernel side decides. A part of it (what the outermost "and" joins) goes down
 * if all its words are known there; it leaves user space only if the kernel then decides exactly as user space would.
 */
#ifndef SYS_PUSHDOWN_H
#define SYS_PUSHDOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/sys/sys_pred_wire.h"
#include "probes/sys/sys_table.h"

struct buf;
struct filter;
struct registry;

struct sys_pushdown {
	struct sys_pred pred;
	bool has_calls;
	uint8_t calls[3][SYS_NUMBERS];	/* by ABI: may a call of that number pass? */
	uint16_t checks[3][SYS_NUMBERS];	/* likewise, with SYS_PRED_CALLS: SYS_CHECK_* */
	bool no_enter;			/* an event of an entry can never pass */
};

struct sys_pushdown_opts {
	bool keeps_state;	/* calls that keep tables pass whatever the filter says: nothing is exact */
	bool tables_only;	/* numbers that no table has are left out */
	bool others;		/* events of other types are shown too: nothing leaves user space */
	/* Ids of the topmost cgroups of a container, at most @cap; returns how many. NULL: nobody knows. */
	size_t (*cgroups_of)(const char *container, uint64_t *ret, size_t cap);
};

/*
 * Fills @ret. @rest gets what user space has to decide, as text ("" = nothing). @explain, if not NULL, gets a line
 * for each part. -ENOMEM or 0.
 */
int sys_pushdown_filter(const struct filter *f, const struct registry *reg, const struct sys_pushdown_opts *o,
			struct sys_pushdown *ret, struct buf *rest, struct buf *explain);

/* Are all words of the filter @text those of sums, so that it can be decided when they are told? */
bool sys_pushdown_is_of_sums(const struct registry *reg, const char *text);

/* Do the tables behind a capture's words change with this call? */
bool sys_pushdown_keeps_state(const struct sys_call *call);

#endif
