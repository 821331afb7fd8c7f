/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the cgroup2 file system, which may be mounted below a cgroup v1 tree, and such trees.
 */
#ifndef HOST_CGROUP2_H
#define HOST_CGROUP2_H

/* Mount point of the whole tree below @host_root ("" = none); NULL if not mounted. Owned by the caller. */
char *cgroup2_mount(const char *host_root);

/* The same of the cgroup v1 tree with this controller ("cpu"). */
char *cgroup2_mount_v1(const char *host_root, const char *controller);

/* Opens the root of the tree. A descriptor or -errno; -ENOENT if not mounted. */
int cgroup2_open(const char *host_root);

#endif
