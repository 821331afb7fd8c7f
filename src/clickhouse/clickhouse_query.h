/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statements and their answers, by a process without rights.
 */
#ifndef CLICKHOUSE_CLICKHOUSE_QUERY_H
#define CLICKHOUSE_CLICKHOUSE_QUERY_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct clickhouse_target;
struct err;

#define CLICKHOUSE_QUERY_ANSWER_MAX (8u << 20) /* bytes */

struct clickhouse_query_opts {
	const char *settings; /* appended to the URL: "&name=value"; NULL = none */
	bool whole;	      /* without the database, which may not exist yet */
	uint64_t answer_ms;   /* longest time of a statement, connection included; 0 = 120 s */
};

/*
 * Runs the statements of @text, each ends in ";\n", on the server, one after another, up to the first that fails.
 * @opts: NULL = defaults. The answers are appended to @ret (may be NULL) and are untrusted. 0, or with a message:
 * -EHOSTUNREACH without an answer, -EREMOTEIO if the server refused a statement.
 */
int clickhouse_query(const struct clickhouse_target *t, const char *text, const struct clickhouse_query_opts *opts,
		     struct buf *ret, struct err *err);

/* Major version of a server, 0 = unknown; -errno as above. */
int clickhouse_query_version(const struct clickhouse_target *t, struct err *err);

#endif
