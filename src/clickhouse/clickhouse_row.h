/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows in ClickHouse's format RowBinary: the values of the columns one after another, little endian, texts behind
 * their length as a varint. Columns that the server lacks are left out.
 */
#ifndef CLICKHOUSE_CLICKHOUSE_ROW_H
#define CLICKHOUSE_CLICKHOUSE_ROW_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct clickhouse_table;
struct event;

/* Columns of a row besides the fields of its event. */
struct clickhouse_row {
	const char *host;
	uint64_t run, seq;
	uint64_t ts_ns; /* wall clock */
};

/*
 * How rows of a table are made, once the server's columns are known: @t is borrowed. Names of numbers are kept from
 * row to row. Rows have the columns for which one of them had a value; the server fills in the others, which costs
 * half of a row. NULL without memory.
 */
struct clickhouse_row_plan *clickhouse_row_plan_new(const struct clickhouse_table *t);
void clickhouse_row_plan_free(struct clickhouse_row_plan *p); /* NULL is fine */

/* "INSERT INTO ..." of the rows so far, valid until the next row. NULL without memory. */
const char *clickhouse_row_plan_insert(struct clickhouse_row_plan *p);

/*
 * Appends the row of @ev, an event of the table's type, to @out, which has rows of the same block from @from on: they
 * get a column that is new. 0, or -ENOMEM without a new row.
 */
int clickhouse_row_put(struct clickhouse_row_plan *p, const struct clickhouse_row *row, const struct event *ev,
		       struct buf *out, size_t from);

/* Values of a table without a type, in the order of its columns; each is skipped if the server lacks the column. */
struct clickhouse_row_put {
	const struct clickhouse_table *table;
	size_t column;
	struct buf *out;
};
void clickhouse_row_number(struct clickhouse_row_put *p, uint64_t value);
void clickhouse_row_text(struct clickhouse_row_put *p, const void *text, size_t len);
/* 32 hex digits, "-" between them ignored; anything else is zero. */
void clickhouse_row_uuid(struct clickhouse_row_put *p, const char *text);
/* The six columns that all tables begin with. */
void clickhouse_row_head(struct clickhouse_row_put *p, const struct clickhouse_row *row);

#endif
