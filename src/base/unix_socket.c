// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/unix_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

#define BACKLOG 512
#define NO_GROUP ((gid_t)-1)

/* For this thread only: the C library would change all threads, by a signal. */
static int set_group(gid_t gid)
{
	return (int)syscall(SYS_setresgid, (gid_t)-1, gid, (gid_t)-1);
}

struct unix_socket_mask unix_socket_mask_set(gid_t gid, mode_t umask_)
{
	struct unix_socket_mask old = { .gid = NO_GROUP, .umask = umask(umask_) };
	const gid_t was = getegid();

	if (gid && set_group(gid) == 0)
		old.gid = was;
	return old;
}

void unix_socket_mask_reset(const struct unix_socket_mask *old)
{
	umask(old->umask);
	if (old->gid != NO_GROUP && set_group(old->gid) < 0)
		abort();	/* was ours before */
}

static int open_socket(const char *path, int flags, struct sockaddr_un *ret, struct err *err)
{
	int fd;

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (!*path || strlen(path) >= sizeof(ret->sun_path))
		return err_set(err, -EINVAL, "%s: a socket path has 1 to %zu bytes", path, sizeof(ret->sun_path) - 1);
	memcpy(ret->sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	return fd < 0 ? err_errno(err, -errno, "cannot create a socket") : fd;
}

int unix_socket_connect(const char *path, int flags, struct err *err)
{
	struct sockaddr_un a;
	_cleanup_close_ int fd = open_socket(path, flags, &a, err);

	if (fd < 0)
		return fd;
	if (connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		return err_errno(err, -errno, "cannot connect to %s", path);
	return TAKE_FD(fd);
}

int unix_socket_listen(const char *path, gid_t gid, mode_t mode, struct err *err)
{
	struct sockaddr_un a;
	_cleanup_close_ int fd = open_socket(path, SOCK_NONBLOCK, &a, err);
	struct unix_socket_mask old;
	int r;

	if (fd < 0)
		return fd;
	old = unix_socket_mask_set(gid, ~mode & 0777);
	r = bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 ? -errno : 0;
	unix_socket_mask_reset(&old);
	if (r < 0)
		return err_errno(err, r, "cannot serve %s", path);
	/* a member may give a file to its group, without the right to change its own */
	if ((gid && old.gid == NO_GROUP && chown(path, (uid_t)-1, gid) < 0) || listen(fd, BACKLOG) < 0) {
		r = -errno;
		unlink(path);
		return err_errno(err, r, "cannot serve %s", path);
	}
	return TAKE_FD(fd);
}
