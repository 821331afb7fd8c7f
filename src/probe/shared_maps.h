/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps that BPF objects have in common, by name: "sonde_*" for all objects of a pipeline, "inst_*" for the objects of
 * one instance. The first object that has such a map creates it; later objects reuse it. Internal to src/probe.
 */
#ifndef PROBE_SHARED_MAPS_H
#define PROBE_SHARED_MAPS_H

#include "base/vec.h"

#define SHARED_MAPS_ALL (-1)	/* in place of an instance: shared by all */

struct bpf_object;
struct err;

struct shared_map { char name[32]; int fd; int instance; };
struct shared_maps { VEC(struct shared_map) vec; };

void shared_maps_fini(struct shared_maps *s);

/* Takes ownership of @fd, which may be a -errno to return. 0 or -errno. */
int shared_maps_add(struct shared_maps *s, const char *name, int instance, int fd);

/* fd of the map of @instance, else of the map that all share, else -ENOENT. */
int shared_maps_fd(const struct shared_maps *s, const char *name, int instance);

/* Before load: makes @obj reuse the maps that exist. -EINVAL if type, key or value size differ. */
int shared_maps_reuse(const struct shared_maps *s, struct bpf_object *obj, int instance, struct err *err);

/* After load: keeps the maps that @obj created. */
int shared_maps_keep(struct shared_maps *s, struct bpf_object *obj, int instance);

/* Closes the maps of @instance. */
void shared_maps_forget(struct shared_maps *s, int instance);

#endif
