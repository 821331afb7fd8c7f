/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inputs that are files. A source turns bytes into records; it names no probe. Files are untrusted: they
 * are parsed in the worker process (worker/worker.h) and what comes back is checked again by decoders.
 *
 * One file per format, one row in sources.def. The format is found by content, never by name.
 */
#ifndef SOURCE_SOURCE_H
#define SOURCE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct source;
struct sonde_rec;

#define SOURCE_RECORD_MAX_BYTES (1u << 20)
#define SOURCE_FORMAT_MS 10000 /* for source_await_format(): slower means a file system that hangs */

/* A record, checked: 8-byte aligned, r->len within sizeof(*r)..SOURCE_RECORD_MAX_BYTES and readable. */
typedef int (*source_fn)(void *ctx, const struct sonde_rec *r);

struct source_ops {
	const char *name, *summary;
	size_t state_size;
	/* True if a file that begins with these bytes (at least 8 unless shorter) is of this format. */
	bool (*match)(const void *head, size_t len);
	/* How many bytes match() wants to see, told from the first 8 (fewer at the end). NULL: 8 are enough. */
	size_t (*match_bytes)(const void *head, size_t len);
	/*
	 * Consumes what it can of @data (a window of the file that begins where the last call stopped) and
	 * calls @fn per record. Returns the bytes consumed, 0 when it needs more, -EBADMSG at broken content
	 * (@err says what and where), or fn's negative return. @eof: no more will come; cut files end with
	 * the last whole record and a sentence in @err, returning -ENODATA. Pure: no clock, no descriptor.
	 */
	int64_t (*parse)(void *state, const void *data, size_t len, bool eof, source_fn fn, void *ctx,
			 struct err *err);
	void (*fini)(void *state);
};

extern const struct source_ops *const all_sources[];	/* NULL-terminated */
const struct source_ops *source_find(const char *name);

/*
 * Opens @path ("-" = standard input; gzip and zstd are decompressed) and starts the worker that parses it. Does not
 * wait: neither for a FIFO's first writer nor for the first bytes.
 */
int source_open(const char *path, struct source **ret, struct err *err);

/*
 * Waits at most @timeout_ms until the format of a regular file is known. 0 then, and at once for pipes, sockets and
 * devices, whose format the first records reveal; -ETIMEDOUT after the timeout; -EPROTONOSUPPORT for an unknown
 * format.
 */
int source_await_format(struct source *s, int timeout_ms, struct err *err);

/*
 * Connects to the unix socket @path; what comes from there is of the format @ops, and records without a time get that
 * of their arrival. The end of the connection is the end of the source, also in the middle of a record (-ENODATA).
 */
int source_open_socket(const char *path, const struct source_ops *ops, struct source **ret, struct err *err);

/*
 * Reads at most @budget records (0 = all that have arrived) and never waits. Returns their number, -EAGAIN before the
 * first whole one, 0 at the end. Final: -ENODATA (cut file; all whole records were delivered; @err says where),
 * -EBADMSG, -EPROTONOSUPPORT, -ECHILD (the worker died), -errno; or a negative result of @fn.
 */
int source_read(struct source *s, unsigned budget, source_fn fn, void *ctx, struct err *err);

/*
 * For loops: readable when the worker has sent something, and from the end on. After a full budget more records may
 * be available without it. Valid until source_close().
 */
int source_fd(const struct source *s);

/* NULL while it is not known. */
const struct source_ops *source_format(const struct source *s);
void source_close(struct source *s);	/* NULL is fine */

#endif
