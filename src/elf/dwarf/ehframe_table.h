/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An unwind table (sonde/unwind_wire.h): under construction, rows by file offset, each with the number of a rule;
 * complete, its check and the search for a rule.
 */
#ifndef ELF_EHFRAME_TABLE_H
#define ELF_EHFRAME_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "sonde/unwind_wire.h"

struct buf;

struct cfi_row {
	uint64_t off;		/* offset in the file; the rule applies up to the next row */
	uint32_t rule;
};

struct cfi_table {
	VEC(struct cfi_row) rows;
	VEC(struct sonde_unwind_rule) rules;
	struct map numbers;	/* rule -> u32 number */
	size_t max_rows;
	uint32_t n_fdes, n_skipped;
};

#define CFI_GAP 0u		/* number of the rule for addresses outside functions */

int ehframe_table_init(struct cfi_table *t, size_t max_rows);
void ehframe_table_fini(struct cfi_table *t);

/* @rule applies from @off on. Offsets ascend. -E2BIG, -ENOMEM. */
int ehframe_table_add(struct cfi_table *t, uint64_t off, const struct sonde_unwind_rule *rule);
int ehframe_table_gap(struct cfi_table *t, uint64_t off);

/* Splits the rows into pages and appends header, rules, pages and rows to @ret. -E2BIG, -ENOMEM. */
int ehframe_table_write(struct cfi_table *t, uint64_t end_off, size_t max_bytes, struct buf *ret);

/* A table without rows: frame pointers throughout. 0 or -ENOMEM. */
int ehframe_table_empty(struct buf *ret);

/* Validates @table against its header. -EBADMSG. */
int ehframe_table_check(const void *table, size_t len, struct sonde_unwind_head *ret);

/* The rule for file offset @off in a validated table, by the same search as the kernel side. */
struct sonde_unwind_rule ehframe_table_find(const void *table, uint64_t off);

#endif
