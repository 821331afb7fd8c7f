/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that syncs and seals segments, and removes the oldest: fsync() may take seconds, and the writer must not
 * wait.
 */
#ifndef STORE_STORE_SYNC_H
#define STORE_STORE_SYNC_H

#include <stdbool.h>
#include <stdint.h>

struct store_limits;
struct store_sync;

/*
 * @dir_fd is borrowed. @limits are copied; after each seal they hold with @coming bytes more, which the next segment
 * takes. 0 or -errno.
 */
int store_sync_new(int dir_fd, const struct store_limits *limits, uint64_t coming, struct store_sync **ret);
/* Waits for all that was begun. Returns the first error of a job, or 0. NULL is fine. */
int store_sync_free(struct store_sync *s);

/* Writes the data of @fd, which stays the caller's, to the disk; nothing if the last such job is still running. */
void store_sync_data(struct store_sync *s, int fd);

/*
 * Takes over @fd, the complete segment @number: syncs it, renames it to its sealed name, syncs the directory. 0 or
 * -ENOMEM.
 */
int store_sync_seal(struct store_sync *s, int fd, uint64_t number);

/* The same after a copy of all of @from_fd to the empty @fd; takes over both. */
int store_sync_copy(struct store_sync *s, int from_fd, int fd, uint64_t number);

bool store_sync_is_idle(struct store_sync *s);

#endif
