/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens the file behind an executable mapping of a live process, even if it was deleted, replaced or belongs to
 * another mount namespace. Only opens; src/worker reads the content.
 */
#ifndef ELF_MAPPED_FILE_H
#define ELF_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct mapped_file {
	uint64_t start, end;	/* addresses of the mapping; end 0 = unknown: open by path only */
	const char *path;	/* as seen by the process; NULL or "" = unknown */
	uint64_t ino;		/* 0 = unknown */
};

/*
 * @proc_fd: a directory descriptor of the host's /proc. Returns a descriptor of a regular file, read-only and
 * close-on-exec, without blocking; -ESTALE if another file is there now, -EINVAL if it is not a regular file, -ENOENT
 * or -ESRCH if the process or file is gone, or another -errno. Without an inode number the caller must compare the
 * build id.
 */
int mapped_file_open(int proc_fd, uint32_t tgid, const struct mapped_file *m);

/* The same, but never by path, where another file may be by now. */
int mapped_file_open_range(int proc_fd, uint32_t tgid, const struct mapped_file *m);

/*
 * Opens a regular file below the root directory of a process, never outside it; refuses a symbolic link at the end of
 * @path if @no_link. Errors as above.
 */
int mapped_file_open_below(int proc_fd, uint32_t tgid, const char *path, bool no_link);

/* The same below the directory @root_fd. */
int mapped_file_open_at(int root_fd, const char *path, bool no_link);

#endif
