/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file behind an executable mapping of a live process, as a descriptor: the right one, be it deleted, replaced,
 * or in another mount namespace. Only opens; reading what is inside is for src/worker.
 */
#ifndef ELF_MAPPED_FILE_H
#define ELF_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct mapped_file {
	uint64_t start, end;	/* addresses of the mapping; end 0 = not known: by path only */
	const char *path;	/* as the process sees it; NULL or "" = not known */
	uint64_t ino;		/* 0 = not known */
};

/*
 * @proc_fd: a directory descriptor of the host's /proc. Read-only, close-on-exec, never blocks, a regular file.
 * A descriptor, -ESTALE when another file is there now, -EINVAL when it is no regular file, -ENOENT or -ESRCH when
 * the process or file is gone, or another -errno. Without an inode number, the caller has to compare the build id.
 */
int mapped_file_open(int proc_fd, uint32_t tgid, const struct mapped_file *m);

/*
 * A regular file below the root directory of a process, never outside it; a symbolic link at the end of @path is
 * refused if @no_link. As above.
 */
int mapped_file_open_below(int proc_fd, uint32_t tgid, const char *path, bool no_link);

/* The same below the directory @root_fd. */
int mapped_file_open_at(int root_fd, const char *path, bool no_link);

#endif
