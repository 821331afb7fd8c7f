/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of cgroups by id, from their mount. For live halves of probes: a name is asked for when an id is first seen
 * and travels as a record from then on.
 */
#ifndef HOST_CGROUP_NAMES_H
#define HOST_CGROUP_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct cgroup_names;

/* Opens the cgroup2 mount below @host_root ("" = ours), from mountinfo. -ENOENT when there is none. */
int cgroup_names_open(const char *host_root, struct cgroup_names **ret);
/* The same of cgroup v1 and the tree of @controller ("cpu"). */
int cgroup_names_open_v1(const char *host_root, const char *controller, struct cgroup_names **ret);
void cgroup_names_close(struct cgroup_names *c); /* NULL is fine */

/* Descriptor of the mount's root directory; stays the struct's. */
int cgroup_names_fd(const struct cgroup_names *c);

/*
 * The path of cgroup @id below the mount ("/" is the root) into @buf, once: 1 the first time an id is asked
 * for, 0 after that, -ENOENT when it is gone already.
 */
int cgroup_names_first(struct cgroup_names *c, uint64_t id, char *buf, size_t cap);

#endif
