/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The worker that reads a run from a ClickHouse database. Private to src/source.
 */
#ifndef SOURCE_TABLES_H
#define SOURCE_TABLES_H

#include <stdint.h>

#include "clickhouse/clickhouse_target.h"

struct tables {
	struct clickhouse_target target; /* holds pointers into itself */
	int64_t since_ns, until_ns;	 /* of struct store_query */
};

/* The worker's function: @ctx is a struct tables. */
int tables_work(void *ctx, int in_fd, int out_fd);

#endif
