/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Variables of BPF objects, by name.
 */
#ifndef PROBE_RODATA_H
#define PROBE_RODATA_H

#include <stddef.h>

struct bpf_object;

/* Sets the read-only variable @name of @size bytes before load. -ENOENT if no program of the object uses it. */
int probe_rodata_set(struct bpf_object *obj, const char *name, const void *value, size_t size);

/* Current value of such a variable before load, or NULL. */
const void *probe_rodata(struct bpf_object *obj, const char *name, size_t size);

/*
 * A writable variable of @size bytes in the loaded object: programs see what is stored there, for as long as the
 * object lives. NULL if no program of the object uses it.
 */
void *probe_rodata_var(struct bpf_object *obj, const char *name, size_t size);

/*
 * Maps the writable variables of a loaded object over its image, which libbpf does for skeletons only. Call it once,
 * before probe_rodata_var(). 0 or -errno.
 */
int probe_rodata_map_variables(struct bpf_object *obj);

#endif
