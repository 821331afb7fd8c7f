/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The directory of a store: names of its files, the writer's lock, what is there, what leaves.
 */
#ifndef STORE_STORE_DIR_H
#define STORE_STORE_DIR_H

#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct err;

#define STORE_NAME_BYTES 32	/* of a file name with its NUL */

enum store_kind { STORE_PART, STORE_SEALED, STORE_KEPT, STORE_KIND__MAX };

struct store_file {
	uint64_t number;
	uint64_t bytes;		/* on the file system */
	int64_t changed_ns;	/* wall clock */
	enum store_kind kind;
};

struct store_list { VEC(struct store_file) files; };	/* by number, ascending */

void store_dir_name(uint64_t number, enum store_kind kind, char ret[STORE_NAME_BYTES]);

/* Creates the directory if it does not exist. Returns a descriptor or -errno with a message. */
int store_dir_create(const char *path, mode_t mode, struct err *err);
/* Opens an existing directory for reading. A descriptor or -errno with a message. */
int store_dir_open(const char *path, struct err *err);

/* Lists the segments of the directory. -errno or 0. */
int store_dir_list(int dir_fd, struct store_list *ret);
void store_dir_list_fini(struct store_list *l);

/*
 * Takes the lock for writing, which the returned descriptor holds. -EBUSY with a message that names the writer.
 * @path: for messages.
 */
int store_dir_lock(int dir_fd, const char *path, struct err *err);
/* Pid of the writer; 0 = none. */
pid_t store_dir_writer(int dir_fd);

struct store_limits {
	uint64_t max_bytes;	/* of all segments, the one being written included; 0 = no limit. The latest stays */
	uint64_t max_age_ns;	/* 0 = no limit */
	unsigned min_free_pct;	/* of the file system; 0 = no limit */
};

/*
 * Removes sealed segments, oldest first, until @limits hold with @coming bytes more. Returns the number removed or
 * -errno.
 */
int store_dir_trim(int dir_fd, const struct store_limits *limits, uint64_t coming);
/* Removes the oldest sealed segment. 1, 0 if there is none, or -errno. */
int store_dir_drop_oldest(int dir_fd);

#endif
