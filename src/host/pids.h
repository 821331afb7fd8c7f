/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks that selected processes exist. Process ids refer to the initial pid namespace; /proc answers only there.
 */
#ifndef HOST_PIDS_H
#define HOST_PIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* Is this process in the initial pid namespace? */
bool pids_are_initial(void);

/* Number of existing processes among @pids. @host_root: "" or the path of the host's root. */
size_t pids_live(const char *host_root, const uint32_t *pids, size_t n);
bool pids_live_one(const char *host_root, uint32_t pid);

/* -ESRCH with a message if none of @pids exists and /proc can tell, else 0. No pids: 0. */
int pids_check(const char *host_root, const uint32_t *pids, size_t n, struct err *err);

#endif
