// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Containers: the id from the paths of cgroups, and what container events say in JSON.
 */
#include <string.h>

#include "base/macros.h"
#include "base/str.h"
#include "container/container.h"
#include "container/container_json.h"
#include "scap/state/state.h"
#include "scap/state/state_tables.h"

#define ID_SHOWN 12	/* digits, as sysdig and the engines print it */
#define CONTAINERS_MAX 65536u

bool scap_state_container_id(const char *cgroups, size_t len, char *ret)
{
	char path[PATH_BYTES_MAX];

	for (size_t i = 0; i < len;) {
		size_t one = strnlen(cgroups + i, len - i);
		const char *eq = memchr(cgroups + i, '=', one);
		size_t from = eq ? (size_t)(eq - cgroups) + 1 : i, n = i + one - from;

		if (n < sizeof(path)) {
			memcpy(path, cgroups + from, n);
			path[n] = '\0';
			if (container_from_cgroup(path, ret))
				return true;
		}
		i += one + 1;
	}
	return false;
}

struct scap_str *state_container_of_cgroups(struct scap_state *st, const char *cgroups, size_t len)
{
	char id[CONTAINER_ID_MAX];

	return scap_state_container_id(cgroups, len, id) ? state_str_new(st, id, MIN(strlen(id), (size_t)ID_SHOWN))
							 : NULL;
}

/* ---- {"container":{...}} ---- */

#define MEMBER(name) "\x1f" "container\x1f" name
#define MOUNT(name) MEMBER("Mounts\x1f" name)

enum mount_part { MOUNT_SOURCE, MOUNT_DEST, MOUNT_MODE, MOUNT_RDWR, MOUNT_PROPAGATION, MOUNT_PART__MAX };

struct reading {
	struct scap_state *st;
	struct scap_container *ct;
	struct buf part[MOUNT_PART__MAX];	/* of the mount at hand */
	struct buf mounts;			/* as sysdig writes them */
};

static void take_mount_part(struct reading *r, const char *path, const struct buf *text)
{
	static const char *const paths[MOUNT_PART__MAX] = {
		[MOUNT_SOURCE] = MOUNT("Source"), [MOUNT_DEST] = MOUNT("Destination"), [MOUNT_MODE] = MOUNT("Mode"),
		[MOUNT_RDWR] = MOUNT("RW"), [MOUNT_PROPAGATION] = MOUNT("Propagation"),
	};

	for (size_t i = 0; i < MOUNT_PART__MAX; i++) {
		if (strcmp(path, paths[i]) != 0)
			continue;
		buf_reset(&r->part[i]);
		buf_add(&r->part[i], text->data, text->len);
	}
}

static void on_text(void *ctx, const char *path, const struct buf *text)
{
	struct reading *r = ctx;
	struct scap_container *ct = r->ct;
	struct { const char *path; struct scap_str **slot; } const strings[] = {
		{ MEMBER("id"), &ct->id }, { MEMBER("name"), &ct->name }, { MEMBER("image"), &ct->image },
		{ MEMBER("imageid"), &ct->image_id }, { MEMBER("imagerepo"), &ct->repo },
		{ MEMBER("imagetag"), &ct->tag }, { MEMBER("imagedigest"), &ct->digest },
	};

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		if (!strcmp(path, strings[i].path) && !*strings[i].slot)
			*strings[i].slot = state_str_new(r->st, text->data, text->len);
	take_mount_part(r, path, text);
}

static void on_bare(void *ctx, const char *path, const struct buf *text)
{
	/* By libscap's number. */
	static const char *const types[] = {
		"docker", "lxc", "libvirt-lxc", "mesos", "rkt", "custom", "cri", "containerd", "cri-o", "bpm",
		"static", "podman",
	};
	struct reading *r = ctx;
	uint32_t n;

	if (!strcmp(path, MEMBER("privileged")))
		r->ct->privileged = text->data[0] == 't' ? 2 : 1;
	if (!strcmp(path, MEMBER("type")) && !r->ct->type && str_to_u32(text->data, 10, &n) == 0 &&
	    n < ARRAY_SIZE(types))
		r->ct->type = state_str_new(r->st, types[n], strlen(types[n]));
	take_mount_part(r, path, text);
}

static void on_end(void *ctx, const char *path)
{
	struct reading *r = ctx;

	if (strcmp(path, MEMBER("Mounts")) != 0)
		return;
	if (r->mounts.len)
		buf_add_char(&r->mounts, ',');
	for (size_t i = 0; i < MOUNT_PART__MAX; i++) {
		if (i)
			buf_add_char(&r->mounts, ':');
		buf_add(&r->mounts, r->part[i].data, r->part[i].len);
		buf_reset(&r->part[i]);
	}
}

/* A broken text gives what stands before the fault. */
static void read_json(struct scap_state *st, const char *json, size_t len, struct scap_container *ct)
{
	static const struct container_json_ops ops = { .text = on_text, .bare = on_bare, .end = on_end };
	struct reading r = { .st = st, .ct = ct };

	container_json_walk(json, len, &ops, &r);
	ct->mounts = r.mounts.len ? state_str_new(st, r.mounts.data, r.mounts.len) : NULL;
	for (size_t i = 0; i < MOUNT_PART__MAX; i++)
		buf_fini(&r.part[i]);
	buf_fini(&r.mounts);
}

void state_container_free(struct scap_state *st, struct scap_container *ct)
{
	state_str_unref(st, ct->id);
	state_str_unref(st, ct->name);
	state_str_unref(st, ct->image);
	state_str_unref(st, ct->type);
	state_str_unref(st, ct->image_id);
	state_str_unref(st, ct->repo);
	state_str_unref(st, ct->tag);
	state_str_unref(st, ct->digest);
	state_str_unref(st, ct->mounts);
	state_str_unref(st, ct->json);
}

void state_container_fold(struct scap_state *st, const struct params *p)
{
	struct scap_container ct = { 0 }, *old;
	size_t len;
	const char *json = params_str(p, 0, &len);

	if (!json)
		return;
	read_json(st, json, len, &ct);
	ct.json = ct.id ? state_str_new(st, json, len) : NULL;
	old = ct.id ? (struct scap_container *)scap_state_container(st, ct.id) : NULL;
	if (old) {
		state_container_free(st, old);
		*old = ct;
		st->last_container = ct.id;
		return;
	}
	if (!ct.id || st->containers.len >= CONTAINERS_MAX || vec_push(&st->containers, ct) < 0) {
		state_container_free(st, &ct);
		return;
	}
	st->last_container = ct.id;
}

const struct scap_str *scap_state_last_container(const struct scap_state *st)
{
	return st->last_container;
}

const struct scap_container *scap_state_container(const struct scap_state *st, const struct scap_str *id)
{
	return id ? vec_find(it, &st->containers, it->id && !strcmp(it->id->data, id->data)) : NULL;
}
