// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/pids.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

#define INITIAL 0xeffffffcu	/* inode of the initial pid namespace: PROC_PID_INIT_INO */

bool pids_are_initial(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == INITIAL;
}

bool pids_live_one(const char *host_root, uint32_t pid)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/proc/%u", host_root, pid);
	return access(path, F_OK) == 0 || errno != ENOENT;
}

size_t pids_live(const char *host_root, const uint32_t *pids, size_t n)
{
	size_t live = 0;

	for (size_t i = 0; i < n; i++)
		live += pids_live_one(host_root, pids[i]);
	return live;
}

int pids_check(const char *host_root, const uint32_t *pids, size_t n, struct err *err)
{
	if (!n || (!*host_root && !pids_are_initial()) || pids_live(host_root, pids, n))
		return 0;
	if (n == 1)
		return err_set(err, -ESRCH, "no such process: %u", pids[0]);
	return err_set(err, -ESRCH, "no such processes: %u and the other %zu of --pid", pids[0], n - 1);
}
