/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows as a table that travels with its query, in a form: INSERT INTO table (a, b) SELECT a, b FROM sonde_rows.
 * ClickHouse 18 takes about 180 ns for each value of a LowCardinality column that comes in a row, and 30 for one of a
 * column that it converts as a whole.
 */
#ifndef CLICKHOUSE_CLICKHOUSE_FORM_H
#define CLICKHOUSE_CLICKHOUSE_FORM_H

#include <stdbool.h>

struct buf;
struct clickhouse_block;

/*
 * Appends the parameters of the request, and is true, if a form pays for this block at the server that answered
 * CLICKHOUSE_SCHEMA_ASK with @lines. NULL: it does not.
 */
bool clickhouse_form_add_url(const char *lines, const struct clickhouse_block *b, struct buf *out);

#define CLICKHOUSE_FORM_TYPE 128 /* bytes of the header line, NUL included */
/* Appends the body, and writes its header line. */
void clickhouse_form_add_body(const struct clickhouse_block *b, struct buf *out, char ret_type[CLICKHOUSE_FORM_TYPE]);

#endif
