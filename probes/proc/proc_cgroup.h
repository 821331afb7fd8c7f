/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of cgroups (v2) by id, from the cgroup2 mount. Part of the live half: a name is asked for when an id
 * is first seen and travels as a record from then on.
 */
#ifndef PROC_CGROUP_H
#define PROC_CGROUP_H

#include <stddef.h>
#include <stdint.h>

struct cgroup_names;

/* Opens the cgroup2 mount below @host_root ("" = ours), from mountinfo. -ENOENT when there is none. */
int proc_cgroup_open(const char *host_root, struct cgroup_names **ret);
void proc_cgroup_close(struct cgroup_names *c); /* NULL is fine */

/* Descriptor of the mount's root directory; stays the struct's. */
int proc_cgroup_fd(const struct cgroup_names *c);

/*
 * The path of cgroup @id below the mount ("/" is the root) into @buf, once: 1 the first time an id is asked
 * for, 0 after that, -ENOENT when it is gone already.
 */
int proc_cgroup_first(struct cgroup_names *c, uint64_t id, char *buf, size_t cap);

#endif
