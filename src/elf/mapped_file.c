// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opens in two steps: O_PATH names the file without calling a driver or blocking on a FIFO; if it is a regular file,
 * the second open reads. map_files: proc(5); openat2(2).
 */
#include "elf/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/*
 * Compares the inode number alone: on overlay and btrfs mounts stat() reports another device than the kernel's
 * records. Callers also require the same path or address range.
 */
static int reopen(int path_fd, uint64_t ino)
{
	char self[32];
	struct stat st;
	int fd;

	if (fstat(path_fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (ino && st.st_ino != ino)
		return -ESTALE;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
	fd = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static const char *last_part(const char *path, size_t *ret_len)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(path), cut = sizeof(deleted) - 1;
	const char *end = len > cut && !strcmp(path + len - cut, deleted) ? path + len - cut : path + len;
	const char *p = end;

	while (p > path && p[-1] != '/')
		p--;
	*ret_len = (size_t)(end - p);
	return p;
}

static bool same_name(const char *a, const char *b)
{
	size_t a_len, b_len;

	a = last_part(a, &a_len);
	b = last_part(b, &b_len);
	return a_len == b_len && !memcmp(a, b, a_len);
}

/* The process may have replaced the mapping at this address: without an inode number the names must agree. */
int mapped_file_open_range(int proc_fd, uint32_t tgid, const struct mapped_file *m)
{
	char link[80], target[PATH_MAX];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	if (!m->end)
		return -ENOENT;
	snprintf(link, sizeof(link), "%u/map_files/%llx-%llx", tgid, (unsigned long long)m->start,
		 (unsigned long long)m->end);
	if (!m->ino && m->path && *m->path) {
		n = readlinkat(proc_fd, link, target, sizeof(target) - 1);
		if (n < 0)
			return -errno;
		target[n] = '\0';
		if (!same_name(target, m->path))
			return -ESTALE;
	}
	fd = openat(proc_fd, link, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : reopen(fd, m->ino);
}

static int open_in(int root_fd, const char *path, bool no_link, uint64_t ino)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | (no_link ? O_NOFOLLOW : 0),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : reopen(fd, ino);
}

static int root_of(int proc_fd, uint32_t tgid)
{
	char root[32];
	int fd;

	snprintf(root, sizeof(root), "%u/root", tgid);
	fd = openat(proc_fd, root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int mapped_file_open_at(int root_fd, const char *path, bool no_link)
{
	return open_in(root_fd, path, no_link, 0);
}

int mapped_file_open_below(int proc_fd, uint32_t tgid, const char *path, bool no_link)
{
	_cleanup_close_ int root_fd = root_of(proc_fd, tgid);

	return root_fd < 0 ? root_fd : open_in(root_fd, path, no_link, 0);
}

int mapped_file_open(int proc_fd, uint32_t tgid, const struct mapped_file *m)
{
	_cleanup_close_ int root_fd = -1;
	int r = mapped_file_open_range(proc_fd, tgid, m);

	if (r >= 0 || r == -EINVAL || !m->path || m->path[0] != '/')
		return r;
	root_fd = root_of(proc_fd, tgid);
	return root_fd < 0 ? root_fd : open_in(root_fd, m->path, false, m->ino);
}
