/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows by run and table, and the rows of the table `ledger` that say them.
 */
#ifndef CLICKHOUSE_CLICKHOUSE_LEDGER_H
#define CLICKHOUSE_CLICKHOUSE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "clickhouse/clickhouse_target.h"

/* In rows: made = delivered + lost_* + spooled + those that are queued. */
struct clickhouse_ledger_count {
	uint64_t made, delivered;
	uint64_t lost_queue;	 /* no room in memory or on the disk */
	uint64_t lost_spool;	 /* over the spool's size or age */
	uint64_t lost_refused;	 /* by the server, or damaged */
	uint64_t lost_unreached; /* at the end of a run without a spool */
	uint64_t spooled;	 /* at the end: left for the next run */
};

struct clickhouse_ledger_entry {
	uint64_t run;
	char table[CLICKHOUSE_NAME_MAX];
	struct clickhouse_ledger_count count;
};

struct clickhouse_ledger {
	VEC(struct clickhouse_ledger_entry) entries;
};

void clickhouse_ledger_fini(struct clickhouse_ledger *l);

/* The entry of a run's table, added if need be; valid until the next call. NULL without memory. */
struct clickhouse_ledger_count *clickhouse_ledger_of(struct clickhouse_ledger *l, uint64_t run, const char *table);

size_t clickhouse_ledger_index(const struct clickhouse_ledger *l, uint64_t run, const char *table); /* of an entry */

void clickhouse_ledger_sum(const struct clickhouse_ledger *l, struct clickhouse_ledger_count *ret);

/*
 * Replaces the content of @ret by a block of the table `ledger`: a row per entry, written by @run at the wall-clock
 * time
 * @ts_ns, the first with the number *@seq, which moves on. 0 or -ENOMEM; @ret stays empty without entries.
 */
int clickhouse_ledger_block(const struct clickhouse_ledger *l, const char *host, uint64_t run, uint64_t ts_ns,
			    bool final, uint64_t *seq, struct buf *ret);

#endif
