/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queue in front of the process that sends (clickhouse_deliver.h). Blocks are sent in order; each is kept, in the
 * spool or in memory, until the server has its rows or has refused them. Nothing blocks, except that a replay waits
 * for room.
 */
#ifndef CLICKHOUSE_CLICKHOUSE_SENDER_H
#define CLICKHOUSE_CLICKHOUSE_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clickhouse_ledger_count;
struct clickhouse_sender;
struct err;

#define CLICKHOUSE_SENDER_QUEUE_BYTES (64ull << 20) /* without a spool */
#define CLICKHOUSE_SENDER_SPOOL_BYTES (1ull << 30)
#define CLICKHOUSE_SENDER_SPOOL_AGE_NS (24 * 3600 * 1000000000ull)

struct clickhouse_sender_opts {
	const char *url; /* as clickhouse_target_parse() takes it */
	bool wait;	 /* a replay: no spool, and no loss while the server answers */
	struct loop *loop; /* as http_client_opts.loop */
	uint64_t ask_ms; /* longest wait for the server at the start; 0 = 5 s */
	/* Gets a sentence for the user: the server is away at the start; the process that sends ended. NULL = not. */
	void (*news)(void *ctx, const char *sentence);
	void *news_ctx;
};

/*
 * Asks the server what it has and starts the process. *ret_known: its columns, for clickhouse_schema_settle(); NULL
 * if a live run's server did not answer (the spool then waits for it). Owned by the sender. -EINVAL: not a URL.
 * -EHOSTUNREACH: no answer, and no spool. -ENOSYS: libcurl is missing. -ENOENT: the database lacks the tables.
 */
int clickhouse_sender_open(const struct clickhouse_sender_opts *o, struct clickhouse_sender **ret,
			   const char **ret_known, struct err *err);

/* Takes a copy of a whole block (clickhouse_block.h). */
void clickhouse_sender_put(struct clickhouse_sender *s, const void *block, size_t len);

/* Sends and receives what is possible without waiting. Call it regularly. */
void clickhouse_sender_pump(struct clickhouse_sender *s);

/*
 * Waits for the queued blocks: a live run up to 5 s, a replay up to 60 s without progress; writes the ledger, frees
 * @s. 0, or -EIO with a message if rows were lost or are left in the spool.
 */
int clickhouse_sender_close(struct clickhouse_sender *s, struct err *err);
void clickhouse_sender_free(struct clickhouse_sender *s); /* without waiting; NULL is fine; the spool stays */

void clickhouse_sender_count(const struct clickhouse_sender *s, struct clickhouse_ledger_count *ret);

#endif
