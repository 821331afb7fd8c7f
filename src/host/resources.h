/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory and descriptors that this process may use. Read before the first map is made, so that a small limit means
 * smaller maps or an error message, and not the OOM killer or a failure half-way.
 */
#ifndef PROBE_RESOURCES_H
#define PROBE_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>

struct err;

struct memory_room {
	uint64_t bytes;		/* that may still be taken; UINT64_MAX when nothing limits it */
	bool by_cgroup;		/* else by the host's free memory */
};

/* Of this process's memory cgroups (version 2 or 1, all levels) and of the host, whichever has less. */
struct memory_room resources_memory(void);

/* "memory:/a/b" and "0::/a/b" of /proc/PID/cgroup: the path of the memory controller, or false. */
bool resources_cgroup_line(const char *line, const char **ret_path, bool *ret_v2);

/* Raises the soft limit of open files as far as it is needed for @n_cpus. -EMFILE when the hard one is too low. */
int resources_files(unsigned n_cpus, struct err *err);

#endif
