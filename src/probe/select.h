/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The selection that all probes have: sets as hash maps, and read-only switches (bpf/filter.bpf.h). Internal to
 * src/probe.
 */
#ifndef PROBE_SELECT_H
#define PROBE_SELECT_H

struct bpf_object;
struct map_types;
struct probe_select;

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
