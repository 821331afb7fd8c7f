// SPDX-License-Identifier: GPL-2.0-or-later
#include "container/container_file.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "container/container_json.h"

struct json_field { const char *path; size_t off, size; };

#define WANT(path_, member) \
	{ path_, offsetof(struct container_said, member), sizeof(((struct container_said *)0)->member) }

static const struct json_field docker_fields[] = {
	WANT("\x1fName", name), WANT("\x1f" "Config\x1fImage", image), WANT("\x1fImage", image_id),
	WANT("\x1f" "Config\x1fLabels\x1fio.kubernetes.pod.name", pod),
	WANT("\x1f" "Config\x1fLabels\x1fio.kubernetes.pod.namespace", pod_namespace),
};

static const struct json_field oci_fields[] = {
	WANT("\x1f" "annotations\x1fnerdctl/name", name),
	WANT("\x1f" "annotations\x1fio.kubernetes.cri.container-name", name),
	WANT("\x1f" "annotations\x1fio.kubernetes.cri.image-name", image),
	WANT("\x1f" "annotations\x1fio.kubernetes.cri.sandbox-name", pod),
	WANT("\x1f" "annotations\x1fio.kubernetes.cri.sandbox-namespace", pod_namespace),
	WANT("\x1f" "annotations\x1fio.kubernetes.container.name", name),
	WANT("\x1f" "annotations\x1fio.kubernetes.cri-o.ImageName", image),
	WANT("\x1f" "annotations\x1fio.kubernetes.cri-o.ImageRef", image_id),
	WANT("\x1f" "annotations\x1fio.kubernetes.pod.name", pod),
	WANT("\x1f" "annotations\x1fio.kubernetes.pod.namespace", pod_namespace),
};

/* Paths in the metadata text of an entry of the list. */
static const struct json_field storage_fields[] = {
	WANT("\x1fname", name), WANT("\x1fimage-name", image), WANT("\x1fimage-id", image_id),
};

struct search {
	const struct json_field *fields;
	size_t n;
	const char *id;
	struct container_said now, *ret;
	bool is_it, found;
};

static void put(char *to, size_t size, const struct buf *text)
{
	size_t len = MIN(text->len, size - 1);

	if (*to)
		return;	/* the first value wins */
	memcpy(to, text->data, len);
	to[len] = '\0';
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)to[i] < 0x20 || to[i] == 0x7f)
			to[i] = '?';
}

static void on_value(void *ctx, const char *path, const struct buf *text)
{
	struct search *s = ctx;

	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(path, s->fields[i].path))
			put((char *)&s->now + s->fields[i].off, s->fields[i].size, text);
	s->now.by_crio |= !strcmp(path, "\x1f" "annotations\x1fio.kubernetes.cri-o.ImageName");
}

static int parse_one(const struct json_field *fields, size_t n, const void *data, size_t len,
		     struct container_said *ret)
{
	static const struct container_json_ops ops = { .text = on_value };
	struct search s = { .fields = fields, .n = n };
	int r = container_json_walk(data, len, &ops, &s);

	*ret = s.now;
	return r;
}

/* ---- the list of containers/storage: the entry with the id, its names, and JSON within JSON ---- */

static void on_entry_value(void *ctx, const char *path, const struct buf *text)
{
	struct search *s = ctx;
	struct container_said inner;

	if (!strcmp(path, "\x1fid"))
		s->is_it = !strcmp(text->data, s->id);
	else if (!strcmp(path, "\x1fnames"))
		put(s->now.name, sizeof(s->now.name), text);
	else if (!strcmp(path, "\x1fimage"))
		put(s->now.image_id, sizeof(s->now.image_id), text);
	else if (!strcmp(path, "\x1fmetadata") &&
		 parse_one(storage_fields, ARRAY_SIZE(storage_fields), text->data, text->len, &inner) == 0 &&
		 *inner.image)
		memcpy(s->now.image, inner.image, sizeof(inner.image));
}

static void on_entry_end(void *ctx, const char *path)
{
	struct search *s = ctx;

	if (*path)
		return;
	if (s->is_it && !s->found) {
		*s->ret = s->now;
		s->found = true;
	}
	s->is_it = false;
	s->now = (struct container_said){ 0 };
}

static int parse_list(const void *data, size_t len, const char *id, struct container_said *ret)
{
	static const struct container_json_ops ops = { .text = on_entry_value, .end = on_entry_end };
	struct search s = { .id = id, .ret = ret };
	int r = container_json_walk(data, len, &ops, &s);

	return r < 0 ? r : s.found ? 0 : -ENOENT;
}

int container_file_parse(enum container_file kind, const void *data, size_t len, const char *id,
			 struct container_said *ret)
{
	int r;

	*ret = (struct container_said){ 0 };
	if (kind == CONTAINER_STORAGE)
		r = parse_list(data, len, id, ret);
	else if (kind == CONTAINER_DOCKER)
		r = parse_one(docker_fields, ARRAY_SIZE(docker_fields), data, len, ret);
	else
		r = parse_one(oci_fields, ARRAY_SIZE(oci_fields), data, len, ret);
	if (r >= 0 && ret->name[0] == '/')	/* docker's names begin with a slash */
		memmove(ret->name, ret->name + 1, strlen(ret->name));
	return r < 0 ? r : *ret->name ? 0 : -ENOENT;
}
