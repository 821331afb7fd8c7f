// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Event types of one pipeline, by number and name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "event/core.h"

struct registry {
	VEC(const struct event_desc *) descs;	/* static rows in the order of registration */
	struct map by_type;			/* uint16_t -> const struct event_desc * */
};

struct registry *registry_new(void)
{
	struct registry *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	map_init(&r->by_type, sizeof(uint16_t), sizeof(struct event_desc *));
	if (registry_add(r, core_descs) < 0) {
		registry_free(r);
		return NULL;
	}
	return r;
}

void registry_free(struct registry *r)
{
	if (!r)
		return;
	map_fini(&r->by_type);
	vec_fini(&r->descs);
	free(r);
}

static int add_one(struct registry *r, const struct event_desc *d)
{
	if (registry_find_name(r, d->name) || registry_find(r, d->type))
		return -EEXIST;
	if (vec_grow(&r->descs) < 0 || map_put(&r->by_type, &d->type, &d) < 0)
		return -ENOMEM;
	r->descs.items[r->descs.len++] = d;
	return 0;
}

int registry_add(struct registry *r, const struct event_desc *const *descs)
{
	for (; *descs; descs++) {
		int ret = add_one(r, *descs);

		if (ret < 0)
			return ret;
	}
	return 0;
}

const struct event_desc *registry_find(const struct registry *r, uint16_t type)
{
	return map_find_ptr(&r->by_type, &type);
}

const struct event_desc *registry_find_name(const struct registry *r, const char *name)
{
	for (size_t i = 0; i < r->descs.len; i++)
		if (!strcmp(r->descs.items[i]->name, name))
			return r->descs.items[i];
	return NULL;
}

const struct event_desc *registry_next(const struct registry *r, size_t *pos)
{
	return *pos < r->descs.len ? r->descs.items[(*pos)++] : NULL;
}
