/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks on disk, until the server has them: a folder per run below a directory, a file per block. A file appears
 * whole or not at all and carries a checksum. The run that writes a folder holds its lock; a later run takes over
 * folders without one, also after a reboot.
 *
 * Written files are in the page cache, so they survive a killed process; with @sync a thread writes them to the disk,
 * and they survive the host. A file that was only begun there fails its checksum.
 */
#ifndef CLICKHOUSE_CLICKHOUSE_SPOOL_H
#define CLICKHOUSE_CLICKHOUSE_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct buf;
struct clickhouse_spool;
struct err;

struct clickhouse_spool_file {
	uint64_t number, bytes;
	int64_t changed_ns; /* wall clock */
};

struct clickhouse_spool_list {
	VEC(struct clickhouse_spool_file) files;
};

/*
 * Creates @dir (mode 0700) and the run's folder, and locks it. -EPERM if others own @dir or may write it: its files
 * have statements that are sent with the user's password. Else -errno with a message.
 */
int clickhouse_spool_open(const char *dir, uint64_t run, struct clickhouse_spool **ret, struct err *err);

/*
 * The folder of another run that has ended and left blocks: the one with the lowest number above *@after, which
 * becomes that number. 1 with the open folder, 0 if there is none, -errno.
 */
int clickhouse_spool_adopt(const char *dir, uint64_t *after, struct clickhouse_spool **ret);

/* Removes the folder if it is empty. NULL is fine. */
void clickhouse_spool_close(struct clickhouse_spool *s);

/* A file of this number. 0 or -errno. */
int clickhouse_spool_put(struct clickhouse_spool *s, uint64_t number, const void *data, size_t len, bool sync);
/* Replaces the content of @ret by the file's. 0, -errno, -EFBIG. */
int clickhouse_spool_get(const struct clickhouse_spool *s, uint64_t number, struct buf *ret);
void clickhouse_spool_remove(struct clickhouse_spool *s, uint64_t number);

/* Files by number. vec_fini() the list in any case. 0 or -errno. */
int clickhouse_spool_list(const struct clickhouse_spool *s, struct clickhouse_spool_list *ret);

#endif
