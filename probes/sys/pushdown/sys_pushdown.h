/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Push-down: the parts of a filter expression that the kernel evaluates. Parts are the operands of the outermost
 * "and". A part is pushed down if the kernel knows all its fields; user space skips it only if the kernel's result is
 * exact.
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
	uint8_t calls[3][SYS_NUMBERS];	/* by ABI: may calls of that number pass? */
	uint16_t checks[3][SYS_NUMBERS];	/* by ABI, with SYS_PRED_CALLS: SYS_CHECK_* */
	bool no_enter;			/* no entry event can pass */
};

struct sys_pushdown_opts {
	bool keeps_state;	/* calls that change state tables pass any filter, so no part is exact */
	bool tables_only;	/* numbers without a table row are not recorded */
	bool others;		/* events of other types are output too, so user space evaluates all parts */
	/* Ids of the topmost cgroups of a container, at most @cap; returns their number. NULL = unavailable. */
	size_t (*cgroups_of)(const char *container, uint64_t *ret, size_t cap);
};

/*
 * Fills @ret. @rest gets the parts that user space evaluates, as text ("" = none). @explain, if not NULL, gets a line
 * for each part. 0 or -ENOMEM.
 */
int sys_pushdown_filter(const struct filter *f, const struct registry *reg, const struct sys_pushdown_opts *o,
			struct sys_pushdown *ret, struct buf *rest, struct buf *explain);

/* Can the filter @text be evaluated on the rows of a summary? */
bool sys_pushdown_is_of_sums(const struct registry *reg, const char *text);

/* Does the call change the state tables that captures need? */
bool sys_pushdown_keeps_state(const struct sys_call *call);

#endif
