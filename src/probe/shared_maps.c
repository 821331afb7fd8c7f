// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/shared_maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

#define PREFIX "sonde_"
#define INSTANCE_PREFIX "inst_"

void shared_maps_fini(struct shared_maps *s)
{
	for (size_t i = 0; i < s->vec.len; i++)
		close(s->vec.items[i].fd);
	vec_fini(&s->vec);
}

static const struct shared_map *find(const struct shared_maps *s, const char *name, int instance)
{
	const struct shared_map *ret = NULL;

	vec_each(m, &s->vec) {
		if (strcmp(m->name, name))
			continue;
		if (m->instance == instance)
			return m;
		if (m->instance == SHARED_MAPS_ALL)
			ret = m;
	}
	return ret;
}

int shared_maps_fd(const struct shared_maps *s, const char *name, int instance)
{
	const struct shared_map *m = find(s, name, instance);

	return m ? m->fd : -ENOENT;
}

int shared_maps_add(struct shared_maps *s, const char *name, int instance, int fd)
{
	struct shared_map *m;

	if (fd < 0)
		return fd;
	if (vec_grow(&s->vec) < 0) {
		close(fd);
		return -ENOMEM;
	}
	m = &s->vec.items[s->vec.len++];
	snprintf(m->name, sizeof(m->name), "%s", name);
	m->fd = fd;
	m->instance = instance;
	return 0;
}

/* ---- objects ---- */

static bool is_of_instance(const char *name)
{
	return !strncmp(name, INSTANCE_PREFIX, strlen(INSTANCE_PREFIX));
}

static bool is_shared(const struct bpf_map *map)
{
	const char *name = bpf_map__name(map);

	return !bpf_map__is_internal(map) && (!strncmp(name, PREFIX, strlen(PREFIX)) || is_of_instance(name));
}

/* Sizes are set at run time and may differ from the object's; type, key and value may not. */
static int check_shape(const struct bpf_map *map, int fd)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);

	if (bpf_map_get_info_by_fd(fd, &info, &len) < 0)
		return -errno;
	return info.type == bpf_map__type(map) && info.key_size == bpf_map__key_size(map) &&
	       info.value_size == bpf_map__value_size(map) ? 0 : -EINVAL;
}

int shared_maps_reuse(const struct shared_maps *s, struct bpf_object *obj, int instance, struct err *err)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, obj) {
		const struct shared_map *have = is_shared(map) ? find(s, bpf_map__name(map), instance) : NULL;
		int r;

		if (!have)
			continue;
		r = check_shape(map, have->fd);
		if (r >= 0)
			r = bpf_map__reuse_fd(map, have->fd);
		if (r == -EINVAL)
			return err_set(err, r, "map %s differs between programs", have->name);
		if (r < 0)
			return err_errno(err, r, "cannot share the map %s", have->name);
	}
	return 0;
}

int shared_maps_keep(struct shared_maps *s, struct bpf_object *obj, int instance)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, obj) {
		const char *name = bpf_map__name(map);
		int owner = is_of_instance(name) ? instance : SHARED_MAPS_ALL, r;

		if (!is_shared(map) || find(s, name, owner))
			continue;
		r = shared_maps_add(s, name, owner, dup(bpf_map__fd(map)));
		if (r < 0)
			return r;
	}
	return 0;
}

/* Backwards: the last item fills the gap. */
void shared_maps_forget(struct shared_maps *s, int instance)
{
	for (size_t i = s->vec.len; i-- > 0;) {
		if (s->vec.items[i].instance != instance)
			continue;
		close(s->vec.items[i].fd);
		s->vec.items[i] = s->vec.items[--s->vec.len];
	}
}
