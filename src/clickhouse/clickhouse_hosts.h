/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hosts of a database, each as an input of its own.
 */
#ifndef CLICKHOUSE_CLICKHOUSE_HOSTS_H
#define CLICKHOUSE_CLICKHOUSE_HOSTS_H

#include <stddef.h>

struct err;

struct clickhouse_hosts {
	char **urls; /* of the newest run of each host, by name */
	size_t n;
};

/*
 * @url: clickhouse://HOST/DB; with ?host=A,B or ?run=NUMBER only these. 0; -ENOENT without a run, -E2BIG beyond @max
 * hosts, or as clickhouse_query(), with a message. clickhouse_hosts_fini() in any case.
 */
int clickhouse_hosts_list(const char *url, size_t max, struct clickhouse_hosts *ret, struct err *err);
void clickhouse_hosts_fini(struct clickhouse_hosts *h);

#endif
