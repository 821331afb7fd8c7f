/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits of memory and descriptors of this process. Checked before the first map is created, so that a low limit
 * leads to smaller maps or an error message, not to the OOM killer or a partial start.
 */
#ifndef HOST_RESOURCES_H
#define HOST_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>

struct err;

struct memory_room {
	uint64_t bytes;		/* available; UINT64_MAX = unlimited */
	bool by_cgroup;		/* limited by a cgroup, else by the host's free memory */
};

/* The lower of what the process's memory cgroups (v2 or v1, all levels) and the host have left. */
struct memory_room resources_memory(void);

/* Path of the memory controller in a line of /proc/PID/cgroup ("9:memory:/a/b", "0::/a/b"); false for others. */
bool resources_cgroup_line(const char *line, const char **ret_path, bool *ret_v2);

/* Raises the soft limit of open files to the need of @n_cpus CPUs. -EMFILE if the hard limit is too low. */
int resources_files(unsigned n_cpus, struct err *err);

#endif
