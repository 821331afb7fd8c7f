/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Complete reads and writes on descriptors that transfer partially (they retry after EINTR, not after EAGAIN);
 * folders; files of programs.
 */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct buf;

DEFINE_CLEANUP(DIR *, closedir)

/* The folder @name of @dir_fd. NULL and errno if it cannot be read. */
DIR *io_opendir(int dir_fd, const char *name);

/* Writes all @len bytes. 0, or -errno after an unknown number of bytes. */
int io_write_all(int fd, const void *data, size_t len);

/* Reads exactly @len bytes. 0, -errno, or -ENODATA at an earlier end of file. */
int io_read_all(int fd, void *ret, size_t len);

/* The same at @off; the descriptor's own position stays. */
int io_read_at(int fd, void *ret, size_t len, uint64_t off);

/* Appends the rest of @fd to @ret. 0, -errno, or -EFBIG if more than @max bytes remain (@max of them are read). */
int io_read_to_end(int fd, size_t max, struct buf *ret);

/* Opens the file that execvp(3) would run for @name: a path, or a name in $PATH. A descriptor, or -ENOENT. */
int io_open_program(const char *name);

#endif
