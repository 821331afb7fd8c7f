// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define READ_BYTES 4096

int io_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = TEMP_FAILURE_RETRY(write(fd, p, len));

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* @off: -1 = the descriptor's own position */
static int read_exactly(int fd, char *p, size_t len, off_t off)
{
	while (len) {
		ssize_t n = TEMP_FAILURE_RETRY(off < 0 ? read(fd, p, len) : pread(fd, p, len, off));

		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		p += n;
		off += off < 0 ? 0 : n;
		len -= (size_t)n;
	}
	return 0;
}

int io_read_all(int fd, void *ret, size_t len)
{
	return read_exactly(fd, ret, len, -1);
}

int io_read_at(int fd, void *ret, size_t len, uint64_t off)
{
	return off > INT64_MAX ? -EINVAL : read_exactly(fd, ret, len, (off_t)off);
}

int io_read_to_end(int fd, size_t max, struct buf *ret)
{
	size_t had = ret->len;

	for (;;) {
		void *room = buf_reserve(ret, READ_BYTES);
		ssize_t n = room ? read(fd, room, READ_BYTES) : 0;

		if (!room)
			return -ENOMEM;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		buf_commit(ret, (size_t)n);
		if (ret->len - had > max)
			return -EFBIG;
	}
}

int io_open_program(const char *name)
{
	_cleanup_free_ char *dirs = strdup(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
	char path[4096], *save = NULL;
	int fd = -1;

	if (strchr(name, '/'))
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	for (char *dir = dirs ? strtok_r(dirs, ":", &save) : NULL; fd < 0 && dir && !strchr(name, '/');
	     dir = strtok_r(NULL, ":", &save)) {
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		fd = access(path, X_OK) < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	}
	return fd < 0 ? -ENOENT : fd;
}

DIR *io_opendir(int dir_fd, const char *name)
{
	_cleanup_close_ int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir)
		fd = -1;
	return dir;
}
