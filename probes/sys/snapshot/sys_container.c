// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files with the metadata of containers: docker's data root, containers/storage (podman, cri-o), and the bundles of
 * containerd's tasks, each at its default location.
 */
#include "probes/sys/snapshot/sys_container.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/vec.h"
#include "event/event.h"
#include "event/json.h"
#include "event/params.h"
#include "scap/container_file.h"
#include "scap/schema.h"
#include "scap/state/state.h"
#include "worker/worker.h"

#define ID_BYTES 72		/* as in scap_state_container_id() */
#define IDS_MAX 65536u		/* containers that are looked up; further ones keep their id as name */
#define TIMEOUT_NS 2000000000ull
#define STORAGE "var/lib/containers/storage/overlay-containers"
#define TASKS "run/containerd/io.containerd.runtime.v2.task"

/* libscap's numbers of container engines. */
#define ENGINE_DOCKER 0
#define ENGINE_CRI 6
#define ENGINE_CONTAINERD 7
#define ENGINE_CRIO 8
#define ENGINE_PODMAN 11

static const struct place { const char *path; enum container_file kind; int engine; } places[] = {
	{ "var/lib/docker/containers/%s/config.v2.json", CONTAINER_DOCKER, ENGINE_DOCKER },
	{ "run/containers/storage/overlay-containers/%s/userdata/config.json", CONTAINER_OCI, ENGINE_CRIO },
	{ STORAGE "/containers.json", CONTAINER_STORAGE, ENGINE_PODMAN },
	{ STORAGE "/volatile-containers.json", CONTAINER_STORAGE, ENGINE_PODMAN },
};

struct id { char text[ID_BYTES]; };

struct containers {
	int root_fd;
	VEC(struct id) ids;	/* containers seen in cgroups */
	size_t n_reported;		/* ids that were looked up */
};

struct containers *sys_container_new(const char *host_root)
{
	struct containers *c = calloc(1, sizeof(*c));

	if (c)
		c->root_fd = open(*host_root ? host_root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return c;
}

void sys_container_free(struct containers *c)
{
	if (!c)
		return;
	if (c->root_fd >= 0)
		close(c->root_fd);
	vec_fini(&c->ids);
	free(c);
}

void sys_container_note(struct containers *c, const char *cgroups, size_t len)
{
	struct id id = { 0 };

	if (!scap_state_container_id(cgroups, len, id.text))
		return;
	for (size_t i = c->ids.len; i > 0; i--)
		if (!strcmp(c->ids.items[i - 1].text, id.text))
			return;
	if (c->ids.len < IDS_MAX && vec_grow(&c->ids) >= 0)
		c->ids.items[c->ids.len++] = id;
}

/* ---- files ---- */

/* Opens a regular file or directory below the host's root without following links out of it. */
static int open_below(const struct containers *c, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(flags | O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY),
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	_cleanup_close_ int fd = (int)syscall(SYS_openat2, c->root_fd, path, &how, sizeof(how));
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!(flags & O_DIRECTORY) && (!S_ISREG(st.st_mode) || st.st_size > (off_t)CONTAINER_FILE_MAX))
		return -EINVAL;
	return TAKE_FD(fd);
}

struct question { enum container_file kind; const char *id; };

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

/* The worker parsed a hostile file: its answer is checked too. */
static bool ask_file(const struct containers *c, const char *path, enum container_file kind, const char *id,
		     struct container_said *ret)
{
	const struct worker_opts o = { .name = "sonde-container", .cpu_seconds = 2 };
	struct question q = { .kind = kind, .id = id };
	_cleanup_close_ int fd = open_below(c, path, 0);

	if (fd < 0 || worker_call(&o, parse_file, &q, fd, ret, sizeof(*ret), TIMEOUT_NS, NULL) != sizeof(*ret))
		return false;
	ret->name[sizeof(ret->name) - 1] = ret->image[sizeof(ret->image) - 1] = '\0';
	ret->image_id[sizeof(ret->image_id) - 1] = ret->pod[sizeof(ret->pod) - 1] = '\0';
	ret->pod_namespace[sizeof(ret->pod_namespace) - 1] = '\0';
	return *ret->name != '\0';
}

/* containerd has one folder per namespace, with arbitrary names. */
static bool ask_tasks(const struct containers *c, const char *id, struct container_said *ret)
{
	int fd = open_below(c, TASKS, O_DIRECTORY);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *e;
	bool found = false;
	char path[PATH_MAX];

	if (!dir && fd >= 0)
		close(fd);
	while (dir && !found && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s/%s/config.json", TASKS, e->d_name, id);
		found = *e->d_name != '.' && ask_file(c, path, CONTAINER_OCI, id, ret);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Returns the engine's number, or -1 if no engine has the container. */
static int look_up(const struct containers *c, const char *id, struct container_said *ret)
{
	char path[PATH_MAX];

	/* an id becomes part of a path: reject ids that are not a single component */
	if (strchr(id, '/') || *id == '.')
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const char *form = places[i].path, *at = strstr(form, "%s");

		snprintf(path, sizeof(path), "%.*s%s%s", (int)(at ? (size_t)(at - form) : strlen(form)), form,
			 at ? id : "", at ? at + 2 : "");
		if (ask_file(c, path, places[i].kind, id, ret))
			return places[i].engine == ENGINE_CRIO && !ret->by_crio ? ENGINE_PODMAN : places[i].engine;
	}
	if (ask_tasks(c, id, ret))
		return *ret->pod ? ENGINE_CRI : ENGINE_CONTAINERD;
	return -1;
}

/* ---- the event ---- */

static void add_text(struct json *j, const char *key, const char *s, size_t len)
{
	json_key(j, key);
	json_str(j, s, len);
}

/* Splits "docker.io/library/nginx:1.25@sha256:...". */
static void add_image(struct json *j, const struct container_said *s)
{
	const char *digest = strchrnul(s->image, '@'), *slash = memrchr(s->image, '/', (size_t)(digest - s->image));
	const char *from = slash ? slash : s->image, *colon = memchr(from, ':', (size_t)(digest - from));
	const char *end = colon ? colon : digest;

	add_text(j, "image", s->image, strlen(s->image));
	add_text(j, "imageid", s->image_id, strlen(s->image_id));
	add_text(j, "imagerepo", s->image, (size_t)(end - s->image));
	add_text(j, "imagetag", colon ? colon + 1 : "", colon ? (size_t)(digest - colon - 1) : 0);
	add_text(j, "imagedigest", *digest ? digest + 1 : "", *digest ? strlen(digest + 1) : 0);
}

static void add_labels(struct json *j, const struct container_said *s)
{
	json_key(j, "labels");
	json_open(j, '{');
	if (*s->pod)
		add_text(j, "io.kubernetes.pod.name", s->pod, strlen(s->pod));
	if (*s->pod_namespace)
		add_text(j, "io.kubernetes.pod.namespace", s->pod_namespace, strlen(s->pod_namespace));
	json_close(j, '}');
}

static int tell(const char *id, int engine, const struct container_said *s,
		int (*fn)(void *ctx, const struct params_out *ev), void *ctx)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct json j = { .out = &b };
	struct params_out o = { 0 };
	size_t shown = strnlen(id, ID_SHORT);
	int r;

	json_open(&j, '{');
	json_key(&j, "container");
	json_open(&j, '{');
	add_text(&j, "id", id, shown);
	add_text(&j, "name", engine < 0 ? id : s->name, engine < 0 ? shown : strlen(s->name));
	if (engine >= 0) {
		json_key(&j, "type");
		json_u64(&j, (uint64_t)engine);
		add_image(&j, s);
		add_labels(&j, s);
	}
	json_close(&j, '}');
	json_close(&j, '}');
	params_begin(&o, SCAP_CONTAINER_JSON_E, -1);
	o.head.flags = PARAMS_HAS_WORD;
	o.head.word = SCAP_WORD_STATE_ONLY;
	params_add_str(&o, b.data, b.len);
	r = buf_error(&b);
	if (r >= 0)
		r = fn(ctx, &o);
	params_out_fini(&o);
	return r;
}

int sys_container_report(struct containers *c, int (*fn)(void *ctx, const struct params_out *ev), void *ctx)
{
	int r = 0;

	while (r >= 0 && c->n_reported < c->ids.len) {
		struct container_said said = { 0 };
		const struct id id = c->ids.items[c->n_reported++];

		r = tell(id.text, look_up(c, id.text, &said), &said, fn, ctx);
	}
	return r < 0 ? r : 0;
}
