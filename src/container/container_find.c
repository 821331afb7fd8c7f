// SPDX-License-Identifier: GPL-2.0-or-later
#include "container/container_find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "container/container.h"
#include "worker/worker.h"

#define TIMEOUT_NS 2000000000ull
#define STORAGE "var/lib/containers/storage/overlay-containers"
#define TASKS "run/containerd/io.containerd.runtime.v2.task"

static const struct place { const char *path; enum container_file kind; int engine; } places[] = {
	{ "var/lib/docker/containers/%s/config.v2.json", CONTAINER_DOCKER, CONTAINER_ENGINE_DOCKER },
	{ "run/containers/storage/overlay-containers/%s/userdata/config.json", CONTAINER_OCI, CONTAINER_ENGINE_CRIO },
	{ STORAGE "/containers.json", CONTAINER_STORAGE, CONTAINER_ENGINE_PODMAN },
	{ STORAGE "/volatile-containers.json", CONTAINER_STORAGE, CONTAINER_ENGINE_PODMAN },
};

int container_find_root(const char *host_root)
{
	int fd = open(*host_root ? host_root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Opens a regular file or directory below the host's root without following links out of it. */
static int open_below(int root_fd, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(flags | O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY),
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	_cleanup_close_ int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!(flags & O_DIRECTORY) && (!S_ISREG(st.st_mode) || st.st_size > (off_t)CONTAINER_FILE_MAX))
		return -EINVAL;
	return TAKE_FD(fd);
}

/* Files of many containers are parsed only if they have @id. */
static bool mentions(int fd, const char *id)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	ssize_t n = 1;

	while (n > 0 && text.len < CONTAINER_FILE_MAX) {
		char *room = buf_reserve(&text, 65536);

		n = room ? pread(fd, room, 65536, (off_t)text.len) : -1;
		if (n > 0)
			buf_commit(&text, (size_t)n);
	}
	return n >= 0 && memmem(buf_str(&text), text.len, id, strlen(id));
}

struct question { enum container_file kind; char id[CONTAINER_ID_MAX]; };

/* Runs in the worker. */
static int parse_file(void *ctx, int in_fd, int out_fd)
{
	const struct question *q = ctx;
	struct container_said said;
	struct buf text = { 0 };
	ssize_t n = 1;

	while (n > 0 && text.len < CONTAINER_FILE_MAX) {
		char *room = buf_reserve(&text, 65536);

		n = room ? read(in_fd, room, 65536) : -1;
		if (n > 0)
			buf_commit(&text, (size_t)n);
	}
	if (n < 0 || container_file_parse(q->kind, text.data, text.len, q->id, &said) < 0)
		return 1;
	return write(out_fd, &said, sizeof(said)) == sizeof(said) ? 0 : 1;
}
WORKER_PLAIN(parse_file);

/* The worker parsed a hostile file: its answer is checked too. */
static bool ask_file(int root_fd, const char *path, enum container_file kind, const char *id,
		     struct container_said *ret)
{
	struct question q = { .kind = kind };
	const struct worker_opts o = { .name = "sonde-container", .cpu_seconds = 2, .ctx_bytes = sizeof(q) };
	_cleanup_close_ int fd = open_below(root_fd, path, 0);

	snprintf(q.id, sizeof(q.id), "%s", id);
	if (fd >= 0 && kind == CONTAINER_STORAGE && !mentions(fd, id))
		return false;
	if (fd < 0 || worker_call(&o, parse_file, &q, fd, ret, sizeof(*ret), TIMEOUT_NS, NULL) != sizeof(*ret))
		return false;
	ret->name[sizeof(ret->name) - 1] = ret->image[sizeof(ret->image) - 1] = '\0';
	ret->image_id[sizeof(ret->image_id) - 1] = ret->pod[sizeof(ret->pod) - 1] = '\0';
	ret->pod_namespace[sizeof(ret->pod_namespace) - 1] = '\0';
	return *ret->name != '\0';
}

/* containerd has one folder per namespace, with arbitrary names. */
static bool ask_tasks(int root_fd, const char *id, struct container_said *ret)
{
	_cleanup_close_ int fd = open_below(root_fd, TASKS, O_DIRECTORY);
	_cleanup_(closedirp) DIR *dir = fd < 0 ? NULL : io_opendir(fd, ".");
	const struct dirent *e;
	bool found = false;
	char path[PATH_MAX];

	while (dir && !found && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s/%s/config.json", TASKS, e->d_name, id);
		found = *e->d_name != '.' && ask_file(root_fd, path, CONTAINER_OCI, id, ret);
	}
	return found;
}

int container_find(int root_fd, const char *id, struct container_said *ret)
{
	char path[PATH_MAX];

	/* an id becomes part of a path: reject ids that are not a single component */
	if (strchr(id, '/') || *id == '.')
		return CONTAINER_ENGINE_NONE;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const char *form = places[i].path, *at = strstr(form, "%s");

		snprintf(path, sizeof(path), "%.*s%s%s", (int)(at ? (size_t)(at - form) : strlen(form)), form,
			 at ? id : "", at ? at + 2 : "");
		if (ask_file(root_fd, path, places[i].kind, id, ret))
			return places[i].engine == CONTAINER_ENGINE_CRIO && !ret->by_crio ? CONTAINER_ENGINE_PODMAN
											   : places[i].engine;
	}
	if (ask_tasks(root_fd, id, ret))
		return *ret->pod ? CONTAINER_ENGINE_CRI : CONTAINER_ENGINE_CONTAINERD;
	return CONTAINER_ENGINE_NONE;
}
