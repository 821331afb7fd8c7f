/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parser of an answer in RowBinary with the columns seq UInt64 and data String, in pieces as they arrive. The bytes
 * are untrusted.
 */
#ifndef CLICKHOUSE_CLICKHOUSE_ROWS_H
#define CLICKHOUSE_CLICKHOUSE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define CLICKHOUSE_ROWS_DATA_MAX (1u << 20) /* bytes of a row */

/* @data: 8-byte aligned, valid during the call. A negative return ends the parsing. */
typedef int (*clickhouse_rows_fn)(void *ctx, uint64_t seq, const void *data, size_t len);

struct clickhouse_rows {
	clickhouse_rows_fn fn;
	void *ctx;
	struct buf pending; /* the beginning of a row; buf_fini() */
	struct buf aligned; /* buf_fini() */
	uint64_t n_rows;
};

/* 0, -EBADMSG for content that no server sends, -ENOMEM, or the negative return of fn. */
int clickhouse_rows_feed(struct clickhouse_rows *r, const void *data, size_t len);

void clickhouse_rows_fini(struct clickhouse_rows *r);

#endif
