// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cgroup ids to paths. The id is the kernfs node's, which is also what file handles of that file system hold
 * (fs/kernfs/mount.c): so the kernel itself turns one into the other, without a walk over the tree.
 */
#include "host/cgroup_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "host/cgroup2.h"

#define FILEID_KERNFS 0xfe		/* include/linux/exportfs.h */
#define MAX_KNOWN 65536			/* then names are sent again */

struct cgroup_names {
	int fd;
	char *mount;			/* owned; where it is mounted */
	struct map known;		/* uint64_t id -> nothing */
};

DEFINE_CLEANUP(struct cgroup_names *, cgroup_names_close)

/* Takes @mount, owned. */
static int open_mount(char *mount, struct cgroup_names **ret)
{
	_cleanup_(cgroup_names_closep) struct cgroup_names *c = calloc(1, sizeof(*c));

	if (!c || !mount) {
		free(mount);
		return c ? -ENOENT : -ENOMEM;
	}
	c->fd = -1;
	map_init(&c->known, sizeof(uint64_t), 0);
	c->mount = mount;
	c->fd = open(c->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->fd < 0)
		return -errno;
	*ret = TAKE_PTR(c);
	return 0;
}

int cgroup_names_open(const char *host_root, struct cgroup_names **ret)
{
	return open_mount(cgroup2_mount(host_root), ret);
}

int cgroup_names_open_v1(const char *host_root, const char *controller, struct cgroup_names **ret)
{
	return open_mount(cgroup2_mount_v1(host_root, controller), ret);
}

void cgroup_names_close(struct cgroup_names *c)
{
	if (!c)
		return;
	cleanup_close(&c->fd);
	map_fini(&c->known);
	free(c->mount);
	free(c);
}

int cgroup_names_fd(const struct cgroup_names *c)
{
	return c->fd;
}

/* The directory of cgroup @id, or -errno: -ESTALE when it is gone. */
static int open_by_id(const struct cgroup_names *c, uint64_t id)
{
	struct {
		struct file_handle h;
		uint64_t id;
	} handle = { .h = { .handle_bytes = sizeof(id), .handle_type = FILEID_KERNFS }, .id = id };
	int fd;

	/* f_handle[] follows the two numbers directly */
	memcpy(handle.h.f_handle, &id, sizeof(id));
	fd = open_by_handle_at(c->fd, &handle.h, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int cgroup_names_first(struct cgroup_names *c, uint64_t id, char *buf, size_t cap)
{
	char link[64], path[4200];
	size_t prefix = strlen(c->mount);
	_cleanup_close_ int fd = -1;
	const char *below;
	ssize_t n;

	if (!id || map_find(&c->known, &id))
		return 0;
	if (c->known.len >= MAX_KNOWN)
		map_clear(&c->known);
	if (map_note(&c->known, &id) < 0)
		return -ENOMEM;
	fd = open_by_id(c, id);
	if (fd < 0)
		return -ENOENT;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return -errno;
	path[n] = '\0';
	if (strncmp(path, c->mount, prefix) != 0)
		return -ENOENT;
	below = path + prefix;
	if ((size_t)snprintf(buf, cap, "%s", *below ? below : "/") >= cap)
		return -ENAMETOOLONG;
	return 1;
}
