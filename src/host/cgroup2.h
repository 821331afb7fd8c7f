/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the cgroup2 tree is: its own mount, or one below a tree of the first version.
 */
#ifndef PROBE_CGROUP2_H
#define PROBE_CGROUP2_H

/* The place where it is mounted whole, below @host_root ("" = here); NULL = nowhere. Owned by the caller. */
char *cgroup2_mount(const char *host_root);

/* Its root directory, open, or -errno; -ENOENT when it is not mounted. */
int cgroup2_open(const char *host_root);

#endif
