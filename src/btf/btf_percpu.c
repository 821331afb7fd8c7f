// SPDX-License-Identifier: GPL-2.0-or-later
#include "btf/btf_percpu.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Sections are near the end. */
static const struct btf_type *percpu_section(const struct btf *types)
{
	for (uint32_t id = btf__type_cnt(types) - 1; id > 0; id--) {
		const struct btf_type *t = btf__type_by_id(types, id);

		if (btf_is_datasec(t) && !strcmp(btf__name_by_offset(types, t->name_off), ".data..percpu"))
			return t;
	}
	return NULL;
}

static bool offset_of(const struct btf *types, const struct btf_type *section, const char *name, int64_t *ret)
{
	const struct btf_var_secinfo *vars = btf_var_secinfos(section);

	for (int i = 0; i < btf_vlen(section); i++) {
		const struct btf_type *var = btf__type_by_id(types, vars[i].type);

		if (var && !strcmp(btf__name_by_offset(types, var->name_off), name)) {
			*ret = vars[i].offset;
			return true;
		}
	}
	return false;
}

int btf_percpu_distance(const struct btf *types, const char *from, const char *to, int64_t *ret)
{
	const struct btf_type *section = percpu_section(types);
	int64_t a, b;

	if (!section || !offset_of(types, section, from, &a) || !offset_of(types, section, to, &b))
		return -ENOENT;
	*ret = b - a;
	return 0;
}
