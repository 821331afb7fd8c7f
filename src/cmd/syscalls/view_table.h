/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One table of --view: rows by key, for example bytes by process. Kinds are the rows of view_kinds[].
 */
#ifndef CMD_VIEW_TABLE_H
#define CMD_VIEW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

#define VIEW_NEEDS_SWITCHES 1u	/* context switches, for time on the CPU */

enum view_unit { UNIT_BYTES, UNIT_NS, UNIT_COUNT, UNIT_CPU, UNIT__MAX };

/* The fields of a system call event that tables use; borrowed for the call. */
struct view_event {
	const struct scap_view *v;
	const char *call;		/* name of the system call */
	int64_t res;			/* result; 0 on entry */
	uint64_t latency_ns, moved;	/* bytes of successful I/O */
	bool leaves, failed;		/* exit of the call, not its entry */
};

struct view_kind {
	const char *name, *title, *key;
	enum view_unit unit;
	unsigned needs;			/* VIEW_NEEDS_* */
	bool largest;			/* keep the largest value, not the sum */
	/* Appends the key's text and sets the value. False if the event does not belong in this table. */
	bool (*take)(const struct view_event *e, struct buf *key, uint64_t *ret_value);
};
extern const struct view_kind view_kinds[];
extern const size_t view_n_kinds;

struct view_row {
	char *key;			/* owned, printable */
	uint64_t value, count;
};

struct view_table {
	const struct view_kind *kind;
	VEC(struct view_row) rows;
	struct map by_key;		/* uint64_t hash of the key -> uint32_t index */
	uint64_t total;
};

/* NULL = -ENOMEM. */
struct view_table *view_table_new(const struct view_kind *kind);
void view_table_free(struct view_table *t);

/* Adds the event to its row; @key is scratch memory. 0 or -ENOMEM. */
int view_table_take(struct view_table *t, const struct view_event *e, struct buf *key);
/* Sorts rows by value, largest first. */
void view_table_sort(struct view_table *t);

#endif
