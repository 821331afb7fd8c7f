// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See gohttp2_exe.h. A path names the file that was started only if the inode is the same.
 */
#include "probes/gohttp2/gohttp2_exe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "probes/gohttp2/gohttp2_wire.h"

static int open_at(int proc_fd, const char *path)
{
	int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd < 0 ? -errno : fd;
}

int gohttp2_exe_open(int proc_fd, uint32_t tgid)
{
	char path[32];

	snprintf(path, sizeof(path), "%u/exe", tgid);
	return open_at(proc_fd, path);
}

bool gohttp2_exe_is_there(int proc_fd, uint32_t tgid)
{
	char path[32], target[8];

	snprintf(path, sizeof(path), "%u/exe", tgid);
	return readlinkat(proc_fd, path, target, sizeof(target)) >= 0;
}

static bool is_inode(int fd, const struct gohttp2_start_rec *r)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == r->ino;
}

/* Some file systems show another device number than their superblock has: then only the process leads there. */
static bool is_file(int fd, const struct gohttp2_start_rec *r)
{
	struct stat st;

	return is_inode(fd, r) && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       (uint32_t)(major(st.st_dev) << 20 | minor(st.st_dev)) == r->dev;
}

static int open_path(int proc_fd, const struct gohttp2_start_rec *r, uint32_t tgid)
{
	char path[GOHTTP2_PATH_BYTES + 32];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "%u/%s%s%.*s", tgid, r->path[0] == '/' ? "root" : "cwd",
		 r->path[0] == '/' ? "" : "/", (int)strnlen(r->path, sizeof(r->path)), r->path);
	fd = open_at(proc_fd, path);
	return is_file(fd, r) ? TAKE_FD(fd) : -ENOENT;
}

int gohttp2_exe_started(int proc_fd, const struct gohttp2_start_rec *r, bool *ret_ended)
{
	_cleanup_close_ int exe = gohttp2_exe_open(proc_fd, r->hdr.tgid);
	int fd;

	*ret_ended = !is_inode(exe, r);
	if (!*ret_ended)
		return TAKE_FD(exe);
	if (!r->path[0])
		return -ENOENT;
	fd = open_path(proc_fd, r, r->ppid);
	return fd < 0 && r->path[0] == '/' ? open_path(proc_fd, r, 1) : fd;
}
