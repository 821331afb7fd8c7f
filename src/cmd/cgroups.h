/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cgroup2 tree of this host: its mount point, and the cgroups of a container.
 */
#ifndef CMD_CGROUPS_H
#define CMD_CGROUPS_H

#include <stddef.h>
#include <stdint.h>

/* Reads mountinfo, since the mount may be part of a hybrid tree. 0, -ENOENT, or another errno. */
int cgroups_mount(char *ret, size_t cap);

/*
 * Ids of the topmost cgroups of the container whose id begins with @id. Returns how many, at most @cap; 0 also if
 * more exist, or the tree cannot be read.
 */
size_t cgroups_of_container(const char *id, uint64_t *ret, size_t cap);

#endif
