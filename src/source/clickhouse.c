// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A run in a ClickHouse database as an input: -r clickhouse://HOST/DB. The worker asks the server and checks what
 * comes (source/tables.h); nothing is parsed here.
 */
#include <errno.h>

#include "base/err.h"
#include "source/source_ops.h"

static bool clickhouse_match(const void *head, size_t len)
{
	(void)head;
	(void)len;
	return false; /* never a file */
}

static int64_t clickhouse_parse(void *state, const void *data, size_t len, bool eof, source_fn fn, void *ctx,
				struct err *err)
{
	(void)state;
	(void)data;
	(void)len;
	(void)eof;
	(void)fn;
	(void)ctx;
	return err_set(err, -EPROTONOSUPPORT, "not a file");
}

const struct source_ops clickhouse_source = {
	.name = "clickhouse",
	.summary = "a run in a ClickHouse database (-r clickhouse://HOST/DB)",
	.match = clickhouse_match,
	.parse = clickhouse_parse,
};
