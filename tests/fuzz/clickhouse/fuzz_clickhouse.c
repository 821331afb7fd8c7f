// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a server's answer in RowBinary, in pieces whose size the first byte selects; as a block of the spool,
 * with its checksum mended; and as the list of a server's columns.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "clickhouse/clickhouse_block.h"
#include "clickhouse/clickhouse_deliver.h"
#include "clickhouse/clickhouse_form.h"
#include "clickhouse/clickhouse_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_row(void *ctx, uint64_t seq, const void *data, size_t len)
{
	volatile uint8_t sum = (uint8_t)seq;

	(void)ctx;
	if ((uintptr_t)data % 8 || len > CLICKHOUSE_ROWS_DATA_MAX)
		abort();
	for (size_t i = 0; i < len; i++)
		sum ^= ((const uint8_t *)data)[i];
	return 0;
}

static void feed(const uint8_t *data, size_t size, size_t step)
{
	struct clickhouse_rows r = { .fn = on_row };
	int ret = 0;

	for (size_t at = 0; ret >= 0 && at < size; at += step) {
		const size_t len = MIN(step, size - at);
		uint8_t *piece = malloc(len); /* exactly the piece: a read past its end is seen */

		memcpy(piece, data + at, len);
		ret = clickhouse_rows_feed(&r, piece, len);
		free(piece);
	}
	clickhouse_rows_fini(&r);
}

static void read_block(const uint8_t *data, size_t size)
{
	struct clickhouse_block_head h;
	struct clickhouse_block b;
	char *copy = malloc(size ? size : 1);

	if (size)
		memcpy(copy, data, size);
	if (size >= sizeof(h)) {
		memcpy(&h, copy, sizeof(h));
		h.crc = clickhouse_block_sum(copy, size);
		memcpy(copy, &h, sizeof(h));
	}
	if (clickhouse_block_parse(copy, size, &b) == 0)
		clickhouse_deliver_is_refused(500, b.where);
	free(copy);
}

static void read_columns(const uint8_t *data, size_t size)
{
	static const struct clickhouse_block b = {
		.head = { .n_rows = 1000 }, .table = "t", .insert = "INSERT INTO t (a, b, c) FORMAT RowBinary",
	};
	char *lines = strndup((const char *)data, size);
	struct buf url = { 0 };

	clickhouse_form_add_url(lines, &b, &url);
	buf_fini(&url);
	free(lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	feed(data + 1, size - 1, 1 + data[0] * 7u);
	read_block(data + 1, size - 1);
	read_columns(data + 1, size - 1);
	return 0;
}
