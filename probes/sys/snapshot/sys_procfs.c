// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/sys/snapshot/sys_procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"

int sys_procfs_read(int dir_fd, const char *name, struct buf *into, size_t cap)
{
	_cleanup_close_ int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	ssize_t n;

	buf_reset(into);
	if (fd < 0)
		return -errno;
	while (into->len < cap) {
		char *room = buf_reserve(into, cap - into->len + 1);

		if (!room)
			return -ENOMEM;
		n = read(fd, room, cap - into->len);
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		buf_commit(into, (size_t)n);
	}
	if (buf_add_char(into, '\0') < 0)
		return -ENOMEM;
	into->len--;
	return (int)into->len;
}

size_t sys_procfs_link(int dir_fd, const char *name, char *to, size_t cap)
{
	ssize_t n = readlinkat(dir_fd, name, to, cap - 1);

	n = n < 0 ? 0 : n;
	to[n] = '\0';
	return (size_t)n;
}
