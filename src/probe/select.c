// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/select.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "probe/rodata.h"
#include "probe/typed_map.h"

#define COMM_BYTES 16	/* TASK_COMM_LEN */
#define MAX_TREE 65536	/* processes of a tree that are alive at a time */

typedef int (*add_fn)(void *ctx, const char *name, int fd);

struct set_builder {
	const struct map_types *types;
	add_fn add;
	void *ctx;
};

/* The kernel refuses a map without room for an entry. */
static int make_set(const struct set_builder *b, const char *name, const void *keys, uint32_t key_size, size_t n)
{
	int fd = typed_map_create(b->types, BPF_MAP_TYPE_HASH, name, key_size, 1, n ? (uint32_t)n : 1, 0);
	int r = b->add(b->ctx, name, fd);
	const uint8_t one = 1;

	for (size_t i = 0; r >= 0 && i < n; i++)
		if (bpf_map_update_elem(fd, (const char *)keys + i * key_size, &one, BPF_ANY) < 0)
			r = -errno;
	return r;
}

static int make_comm_set(const struct set_builder *b, const struct probe_select *s)
{
	_cleanup_free_ char (*comms)[COMM_BYTES] = calloc(s->n_comms + 1, sizeof(*comms));

	if (!comms)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_comms; i++)
		snprintf(comms[i], sizeof(comms[i]), "%s", s->comms[i]);
	return make_set(b, "sonde_comms", comms, sizeof(*comms), s->n_comms);
}

/*
 * The proc probe adds and removes processes while it runs. Preallocated: before Linux 6.1 perf_event programs may not
 * use other hash maps.
 */
static int make_tree(const struct set_builder *b, const struct probe_select *s)
{
	int fd = typed_map_create(b->types, BPF_MAP_TYPE_HASH, "sonde_tree", sizeof(*s->tree), 1,
				  s->n_tree ? MAX_TREE : 1, 0);
	int r = b->add(b->ctx, "sonde_tree", fd);
	const uint8_t one = 1;

	for (size_t i = 0; r >= 0 && i < s->n_tree; i++)
		if (bpf_map_update_elem(fd, &s->tree[i], &one, BPF_ANY) < 0)
			r = -errno;
	return r;
}

int probe_select_make(const struct probe_select *s, const struct map_types *types, add_fn add, void *ctx)
{
	const struct set_builder b = { .types = types, .add = add, .ctx = ctx };
	int r = make_set(&b, "sonde_pids", s->pids, sizeof(*s->pids), s->n_pids);

	if (r >= 0)
		r = make_comm_set(&b, s);
	if (r >= 0)
		r = make_set(&b, "sonde_cgroups", s->cgroups, sizeof(*s->cgroups), s->n_cgroups);
	if (r >= 0)
		r = make_set(&b, "sonde_netns", s->netns, sizeof(*s->netns), s->n_netns);
	return r < 0 ? r : make_tree(&b, s);
}

static const char *const switches[] = {
	"sonde_select_pids", "sonde_select_comms", "sonde_select_cgroups", "sonde_select_netns", "sonde_select_tree",
};

unsigned probe_select_flags(const struct probe_select *s)
{
	const size_t n[] = { s->n_pids, s->n_comms, s->n_cgroups, s->n_netns, s->n_tree };
	unsigned flags = 0;

	_Static_assert(ARRAY_SIZE(n) == ARRAY_SIZE(switches), "a switch per list");
	for (size_t i = 0; i < ARRAY_SIZE(n); i++)
		flags |= (unsigned)!!n[i] << i;
	return flags;
}

void probe_select_apply(unsigned flags, struct bpf_object *obj)
{
	for (size_t i = 0; i < ARRAY_SIZE(switches); i++) {
		bool on = flags & 1u << i;

		probe_rodata_set(obj, switches[i], &on, sizeof(on));	/* -ENOENT: unused by the object */
	}
}
