// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/rodata.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* libbpf names the map of a section <object><section>, with a truncated object name. */
static struct bpf_map *section_map(struct bpf_object *obj, const char *section)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, obj) {
		const char *name = strchr(bpf_map__name(map), '.');

		if (bpf_map__is_internal(map) && name && !strcmp(name, section))
			return map;
	}
	return NULL;
}

/* Address of a variable of @section in the object's image, from its BTF; or NULL. */
static void *find_var(struct bpf_object *obj, const char *section, const char *name, size_t size)
{
	const struct btf *btf = bpf_object__btf(obj);
	struct bpf_map *map = section_map(obj, section);
	int id = btf ? btf__find_by_name_kind(btf, section, BTF_KIND_DATASEC) : -1;
	const struct btf_type *sec;
	size_t image_size = 0;
	char *image;

	if (id < 0 || !map)
		return NULL;
	image = bpf_map__initial_value(map, &image_size);
	sec = btf__type_by_id(btf, (uint32_t)id);
	for (int i = 0; image && i < btf_vlen(sec); i++) {
		const struct btf_var_secinfo *var = btf_var_secinfos(sec) + i;
		const struct btf_type *t = btf__type_by_id(btf, var->type);

		if (!strcmp(btf__name_by_offset(btf, t->name_off), name) && var->size == size &&
		    var->offset + size <= image_size)
			return image + var->offset;
	}
	return NULL;
}

int probe_rodata_set(struct bpf_object *obj, const char *name, const void *value, size_t size)
{
	void *p = find_var(obj, ".rodata", name, size);

	if (!p)
		return -ENOENT;
	memcpy(p, value, size);
	return 0;
}

void *probe_rodata_var(struct bpf_object *obj, const char *name, size_t size)
{
	void *p = find_var(obj, ".bss", name, size);

	return p ? p : find_var(obj, ".data", name, size);
}

int probe_rodata_map_variables(struct bpf_object *obj)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct bpf_map *map;

	bpf_object__for_each_map(map, obj) {
		const char *section = strchr(bpf_map__name(map), '.');
		size_t size = 0;
		void *at = bpf_map__is_internal(map) ? bpf_map__initial_value(map, &size) : NULL;

		if (!at || !section || (strcmp(section, ".bss") != 0 && strcmp(section, ".data") != 0) ||
		    !(bpf_map__map_flags(map) & BPF_F_MMAPABLE))
			continue;
		if (mmap(at, (size + page - 1) / page * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			 bpf_map__fd(map), 0) == MAP_FAILED)
			return -errno;
	}
	return 0;
}

const void *probe_rodata(struct bpf_object *obj, const char *name, size_t size)
{
	return find_var(obj, ".rodata", name, size);
}
