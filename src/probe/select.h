/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The selection that all probes have: sets as hash maps, and read-only switches (bpf/filter.bpf.h). The functions are
 * internal to src/probe.
 */
#ifndef PROBE_SELECT_H
#define PROBE_SELECT_H

#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct map_types;

/* Lists are borrowed; an empty list selects all. */
struct probe_select {
	const uint32_t *pids;
	size_t n_pids;
	const char *const *comms;
	size_t n_comms;
	const uint64_t *cgroups;
	size_t n_cgroups;
	const uint32_t *netns;		/* inodes */
	size_t n_netns;
	const uint32_t *tree;		/* tgids; their future descendants are selected, too */
	size_t n_tree;
};

/*
 * Creates the maps of @s and passes each to @add, which takes ownership of the descriptor (or returns the -errno it
 * gets instead). @types: typed_map.h. 0 or -errno.
 */
int probe_select_make(const struct probe_select *s, const struct map_types *types,
		      int (*add)(void *ctx, const char *name, int fd), void *ctx);

/* The criteria that @s uses, as bits in the order of the read-only variables. */
unsigned probe_select_flags(const struct probe_select *s);
/* Before load: sets the read-only variables of @obj. */
void probe_select_apply(unsigned flags, struct bpf_object *obj);

#endif
