/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Input files, of the formats of source_ops.h. Files are untrusted: a worker process (worker/worker.h) parses them
 * and decoders validate the resulting records.
 */
#ifndef SOURCE_SOURCE_H
#define SOURCE_SOURCE_H

#include "source/source_ops.h"

struct source;
struct store_query;

#define SOURCE_FORMAT_MS 10000 /* for source_await_format(): only a hanging file system takes longer */

const struct source_ops *source_find(const char *name);

/*
 * Opens @path ("-" = standard input) and starts the worker that decompresses (gzip, zstd) and parses it. Does not
 * wait for a FIFO's writer or for the first bytes.
 */
int source_open(const char *path, struct source **ret, struct err *err);

/*
 * The same; of a directory, a store, it reads only the blocks that may answer @query (copied; NULL: all), of a
 * database, clickhouse://HOST/DB, the records of its time.
 */
int source_open_query(const char *path, const struct store_query *query, struct source **ret, struct err *err);

/*
 * Waits up to @timeout_ms for the format of a regular file. Returns 0 once it is known; at once for pipes, sockets
 * and devices, whose first records reveal it. -ETIMEDOUT, or -EPROTONOSUPPORT for an unknown format.
 */
int source_await_format(struct source *s, int timeout_ms, struct err *err);

/*
 * Connects to the unix socket @path, which sends format @ops. Records without a time get their arrival time. The end
 * of the connection ends the source, even within a record (-ENODATA).
 */
int source_open_socket(const char *path, const struct source_ops *ops, struct source **ret, struct err *err);

/*
 * Reads up to @budget records (0 = all available) without waiting. Returns their number, -EAGAIN if none is complete,
 * 0 at the end. Final errors: -ENODATA (truncated file, all whole records delivered; @err has the position),
 * -EBADMSG, -EPROTONOSUPPORT, -ECHILD (the worker died), -errno; or a negative return of @fn.
 */
int source_read(struct source *s, unsigned budget, source_fn fn, void *ctx, struct err *err);

/*
 * For event loops: readable when the worker has sent data and from the end on. After a full budget, more records may
 * be available although it is not readable. Valid until source_close().
 */
int source_fd(const struct source *s);

/* Part of a regular file that the worker has read, 0 to 1000; -1 of other inputs. */
int source_read_permille(const struct source *s);

/* NULL until it is known. */
const struct source_ops *source_format(const struct source *s);
void source_close(struct source *s);	/* @s may be NULL */

#endif
