/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cgroup2 tree of this host: where it is mounted, and which cgroups are a container's.
 */
#ifndef CMD_CGROUPS_H
#define CMD_CGROUPS_H

#include <stddef.h>
#include <stdint.h>

/* The mount may lie within a hybrid tree: mountinfo says where it is. 0, -ENOENT, or another errno. */
int cgroups_mount(char *ret, size_t cap);

/*
 * Ids of the topmost cgroups that belong to the container whose id begins with @id. Returns how many, at most @cap;
 * 0 also when there are more than that, or the tree cannot be read.
 */
size_t cgroups_of_container(const char *id, uint64_t *ret, size_t cap);

#endif
