/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The maps of the common selection (bpf/filter.bpf.h). Internal to src/probe.
 */
#ifndef PROBE_SELECT_H
#define PROBE_SELECT_H

struct bpf_object;
struct map_types;
struct probe_select;

/*
 * Makes the maps of @s and hands each to @add, which owns the descriptor (or takes the -errno) from then on. @types:
 * typed_map.h. 0 or -errno.
 */
int probe_select_make(const struct probe_select *s, const struct map_types *types,
		      int (*add)(void *ctx, const char *name, int fd), void *ctx);

/* Which parts are asked for: bits in the order of the read-only variables. */
unsigned probe_select_flags(const struct probe_select *s);
void probe_select_apply(unsigned flags, struct bpf_object *obj);

#endif
