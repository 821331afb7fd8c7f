/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A buffered output that keeps whole records: on a failed write the file is cut back to the end of the
 * last record that was complete, so a reader always gets a readable file. What went into a pipe cannot be
 * taken back; outfile_error() says so.
 *
 * A write to a pipe that nobody reads fails with -EPIPE and raises no SIGPIPE: the caller decides whether
 * that is a quiet end. Writes block. Nothing happens at exit or in a forked child: only flush and close write.
 */
#ifndef SINKS_OUTFILE_H
#define SINKS_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct outfile;

/*
 * NULL, "-" or "/dev/stdout": standard output; "/dev/stderr": standard error; both stay open at close. Files are
 * made 0600, truncated, and never through a symbolic link in the last part of the path. On failure one sentence that
 * names the file.
 */
int outfile_open(const char *path, struct outfile **ret, struct err *err);
/*
 * The regular file behind @fd (owned, also on failure), which is open for writing and is emptied. @name is for
 * messages. -EINVAL for anything else.
 */
int outfile_open_fd(int fd, const char *name, struct outfile **ret, struct err *err);
/*
 * Opens @name below the folder @dir_fd for outfile_open_fd(), made 0600 if it is not there; neither links nor ".."
 * lead out of it. A descriptor or -errno.
 */
int outfile_open_below(int dir_fd, const char *name);
int outfile_open_mem(struct outfile **ret);		/* tests: outfile_mem() gives the bytes */
/*
 * Whole records are handed to @put, which keeps nothing of them, with how many things each of them counts; what
 * becomes of them is its own business. @name is for messages.
 */
typedef int (*outfile_put_fn)(void *ctx, const void *data, size_t len, size_t n);
int outfile_open_remote(const char *name, outfile_put_fn put, void *ctx, struct outfile **ret);
bool outfile_is_remote(const struct outfile *f);

void outfile_free(struct outfile *f);			/* NULL is fine; unflushed bytes are lost */

/*
 * One whole record: either all of it gets to the file or none. 0, or the first write error for good; -ENOMEM
 * concerns this record only.
 */
int outfile_record(struct outfile *f, const void *data, size_t len);

int outfile_batch(struct outfile *f, const void *data, size_t len, size_t n); /* likewise, of @n things */

int outfile_flush(struct outfile *f);
int outfile_close(struct outfile *f);			/* flush, then free; returns the first error */

/* The first write error as a sentence with the file's name and state. Returns it, or 0. */
int outfile_error(const struct outfile *f, struct err *err);

/* Records that were accepted but are not in the file, because a later write failed. */
uint64_t outfile_dropped(const struct outfile *f);

bool outfile_is_stdout(const struct outfile *f);
bool outfile_is_tty(const struct outfile *f);
uint64_t outfile_bytes(const struct outfile *f);	/* in whole records so far */
const char *outfile_name(const struct outfile *f);	/* for messages */
const void *outfile_mem(const struct outfile *f, size_t *ret_len);

#endif
