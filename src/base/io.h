/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whole reads and writes over descriptors that deliver in parts. Nothing here waits for a descriptor that would
 * block: -EAGAIN is an error like others.
 */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stddef.h>

struct buf;

/* All @len bytes, interrupted or not. 0 or -errno; how much was written by then is not said. */
int io_write_all(int fd, const void *data, size_t len);

/* Exactly @len bytes, interrupted or not. 0; -errno; -ENODATA when it ends before. */
int io_read_all(int fd, void *ret, size_t len);

/*
 * Adds what is left to read of @fd to @ret. 0; -errno; -EFBIG when there is more than @max bytes, of which @ret then
 * holds at least as many.
 */
int io_read_to_end(int fd, size_t max, struct buf *ret);

#endif
