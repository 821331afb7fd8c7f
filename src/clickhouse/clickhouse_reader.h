/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of a run, read back from the table `record` in their order. Runs in a process that worker_opts.network
 * confines.
 */
#ifndef CLICKHOUSE_CLICKHOUSE_READER_H
#define CLICKHOUSE_CLICKHOUSE_READER_H

#include <stddef.h>
#include <stdint.h>

#include "clickhouse/clickhouse_target.h"

struct clickhouse_reader_opts {
	const struct clickhouse_target *target;
	/* Wall clock, 0 = no bound: of the records that update no state only those between. */
	int64_t since_ns, until_ns;
	/* A record, 8-byte aligned, untrusted. A negative return ends the reading. */
	int (*record)(void *ctx, const void *data, size_t len);
	/* The table lacks @n records in front of the next one. */
	int (*missing)(void *ctx, uint64_t n);
	void *ctx;
};

/*
 * Reads the run that the target names, else the newest. 0; the negative return of a function; or with a message:
 * -EHOSTUNREACH, -EREMOTEIO (the server's sentence), -EBADMSG, -ENOENT without such a run, -EINVAL if there are
 * several hosts and none is named, -ENOSYS without libcurl.
 */
int clickhouse_reader_run(const struct clickhouse_reader_opts *o, struct err *err);

#endif
