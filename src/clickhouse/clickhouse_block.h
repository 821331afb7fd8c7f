/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A block: rows of one table, run and day that are inserted together. It is one message to the process that sends,
 * and one file in the spool: a head, the rows in RowBinary, then five texts, each with its NUL.
 *
 * A block is identified by table, run, and its first and last seq; seq counts the rows of a table in a run. So its
 * rows can be counted after an insert without an answer, and gaps in seq show what is missing.
 */
#ifndef CLICKHOUSE_CLICKHOUSE_BLOCK_H
#define CLICKHOUSE_CLICKHOUSE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clickhouse/clickhouse_target.h"

#define CLICKHOUSE_BLOCK_MAGIC "SONDECH1"
#define CLICKHOUSE_BLOCK_ROWS 100000u
#define CLICKHOUSE_BLOCK_BYTES (16u << 20) /* a row may exceed it by its own size */
#define CLICKHOUSE_BLOCK_NS 5000000000ull  /* maximum time a row waits for its block */
#define CLICKHOUSE_BLOCK_AGAIN 1u	   /* sent before: are its rows there? */

struct clickhouse_block_head {
	char magic[8];
	uint32_t crc;	/* of all that follows the flags */
	uint32_t flags; /* CLICKHOUSE_BLOCK_* */
	uint64_t run;
	uint64_t rows_len;  /* bytes */
	uint32_t texts_len; /* bytes */
	uint32_t n_rows;
};

/* A block in memory, checked. Borrowed from its bytes. */
struct clickhouse_block {
	struct clickhouse_block_head head;
	const void *rows;
	const char *table, *insert, *where;
	const char *id; /* unique; the same each time it is sent */
	const char *host;
};

/* Rows that become a block. */
struct clickhouse_block_maker {
	const struct clickhouse_table *table; /* borrowed */
	const char *insert; /* borrowed; NULL = that of the table */
	uint64_t run;
	uint64_t seq;		 /* of the next row */
	uint64_t first_seq;	 /* of the block */
	uint64_t min_ns, max_ns; /* wall clock of the rows */
	uint64_t since_ns;	 /* boot time of the first row's arrival; 0 = no rows */
	uint32_t n_rows;
	struct buf *bytes; /* head and rows; borrowed */
};

/* A number for a run: later runs have higher ones, and two that start together differ. */
uint64_t clickhouse_block_new_run(void);

/* Before a row at the wall-clock time @ts_ns is appended to m->bytes, and after it. */
bool clickhouse_block_is_full(const struct clickhouse_block_maker *m, uint64_t ts_ns);
int clickhouse_block_begin_row(struct clickhouse_block_maker *m, uint64_t ts_ns, uint64_t now_ns);
void clickhouse_block_end_row(struct clickhouse_block_maker *m, uint64_t ts_ns);

/* Completes the block in m->bytes. 0 or -ENOMEM. clickhouse_block_reset() begins the next one. */
int clickhouse_block_finish(struct clickhouse_block_maker *m, const char *host);
void clickhouse_block_reset(struct clickhouse_block_maker *m);

/* 0, or -EBADMSG if @data is not a whole block. clickhouse_block_look() does not compute the checksum. */
int clickhouse_block_look(const void *data, size_t len, struct clickhouse_block *ret);
int clickhouse_block_parse(const void *data, size_t len, struct clickhouse_block *ret);

uint32_t clickhouse_block_sum(const void *data, size_t len); /* the checksum; @len: at least the head's */

/* Sets the flag of a whole block, which is outside its checksum. */
void clickhouse_block_set_again(void *data);

#endif
