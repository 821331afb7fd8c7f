/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A buffered output that keeps records whole. After a failed write it truncates the file to the last complete record,
 * so readers always get a valid file. Data written to a pipe cannot be removed; outfile_error() reports that.
 *
 * A write to a pipe without a reader fails with -EPIPE and raises no SIGPIPE: the caller decides whether that is an
 * error. Writes block; to a pipe whose reader takes nothing, until SIGINT or SIGTERM is pending and a second has
 * passed, with -ETIMEDOUT. Only flush and close write, so an exit or a forked child writes nothing.
 */
#ifndef SINKS_OUTFILE_H
#define SINKS_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct outfile;

/*
 * NULL, "-" or "/dev/stdout": standard output; "/dev/stderr": standard error; closing leaves both open. Files are
 * created with mode 0600 and truncated; a symbolic link as the last component is refused. @err names the file.
 */
int outfile_open(const char *path, struct outfile **ret, struct err *err);
/*
 * Truncates the regular file @fd (owned, also on failure), which must be open for writing. @name: for messages.
 * -EINVAL for other files.
 */
int outfile_open_fd(int fd, const char *name, struct outfile **ret, struct err *err);
/*
 * Opens @name below the directory @dir_fd for outfile_open_fd(), creating it with mode 0600; refuses links and ".."
 * that lead out of it. A descriptor or -errno.
 */
int outfile_open_below(int dir_fd, const char *name);
int outfile_open_mem(struct outfile **ret);		/* for tests: outfile_mem() returns the bytes */
/* For a sink that writes a directory itself: only the name counts. */
int outfile_open_name(const char *name, struct outfile **ret);
void outfile_count_dropped(struct outfile *f, uint64_t n);	/* by that sink */
/*
 * Passes whole records to @put, which must copy them, with the number of items each represents. @put handles its own
 * errors. @name: for messages.
 */
typedef int (*outfile_put_fn)(void *ctx, const void *data, size_t len, size_t n);
int outfile_open_remote(const char *name, outfile_put_fn put, void *ctx, struct outfile **ret);
bool outfile_is_remote(const struct outfile *f);
/* The answer in which the server describes itself, for the sink; borrowed. NULL = nothing. */
void outfile_set_peer(struct outfile *f, const char *text);
const char *outfile_peer(const struct outfile *f);

/* From now on what is written is a gzip stream. 0 or -ENOMEM. */
int outfile_use_gzip(struct outfile *f);

void outfile_free(struct outfile *f);			/* NULL is allowed; discards unflushed bytes */

/*
 * Writes a whole record or nothing of it. 0, or the first write error on this and each later call; -ENOMEM affects
 * this record only.
 */
int outfile_record(struct outfile *f, const void *data, size_t len);

/*
 * The same without a copy: the caller appends the record to the buffer that begin() returns, to be complete with
 * end(), or left out with cancel(). Nothing else may be written in between.
 */
struct buf *outfile_begin(struct outfile *f);
int outfile_end(struct outfile *f);
void outfile_cancel(struct outfile *f);

int outfile_batch(struct outfile *f, const void *data, size_t len, size_t n); /* as above, a record of @n items */

int outfile_flush(struct outfile *f);
int outfile_close(struct outfile *f);			/* flush, then free; returns the first error */

/* Formats the first write error with the file's name and state. Returns the error, or 0. */
int outfile_error(const struct outfile *f, struct err *err);

/* Accepted records that a later write error kept out of the file. */
uint64_t outfile_dropped(const struct outfile *f);

bool outfile_is_stdout(const struct outfile *f);
bool outfile_is_tty(const struct outfile *f);
uint64_t outfile_bytes(const struct outfile *f);	/* of whole records so far */
const char *outfile_name(const struct outfile *f);	/* for messages */
const void *outfile_mem(const struct outfile *f, size_t *ret_len);

#endif
