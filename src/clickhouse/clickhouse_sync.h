/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that writes files of the spool to the disk: fsync() may take seconds, and the loop must not wait.
 */
#ifndef CLICKHOUSE_CLICKHOUSE_SYNC_H
#define CLICKHOUSE_CLICKHOUSE_SYNC_H

struct clickhouse_sync;

/* @dir_fd is borrowed: the folder of the files. 0 or -errno. */
int clickhouse_sync_new(int dir_fd, struct clickhouse_sync **ret);
/* Waits for all that was begun. NULL is fine. */
void clickhouse_sync_free(struct clickhouse_sync *s);

/* Takes over @fd, whose file has its name. -EBUSY, and @fd stays the caller's, if many wait already. */
int clickhouse_sync_add(struct clickhouse_sync *s, int fd);

#endif
