/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sending a block so that its rows are there once. Runs in the process that talks to the server.
 */
#ifndef CLICKHOUSE_CLICKHOUSE_DELIVER_H
#define CLICKHOUSE_CLICKHOUSE_DELIVER_H

#include <stdbool.h>
#include <stddef.h>

struct http_client_answer;
struct http_client_child;
struct http_exchange;

struct clickhouse_deliver_conf {
	const struct clickhouse_target *target;
	const char *columns; /* of the server, lines of CLICKHOUSE_SCHEMA_ASK; NULL = unknown */
};

/*
 * A http_client_deliver_fn; the context is a struct clickhouse_deliver_conf. After a request whose outcome is
 * unknown, and for a block that was sent before, it asks whether the insert still runs, then for the number of the
 * block's rows: all of them: delivered; none: sends them again; else the block is torn, which is refused with a
 * sentence.
 */
void clickhouse_deliver(struct http_exchange *x, const struct http_client_child *conf, const void *data, size_t len,
			struct http_client_answer *a);

/* Does an answer with this status and beginning of a body (NUL-terminated) say that the same insert can never work?
 */
bool clickhouse_deliver_is_refused(long status, const char *body);

#endif
