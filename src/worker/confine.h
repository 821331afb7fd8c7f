/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Giving up rights, for the calling process and for good. Internal to src/worker.
 */
#ifndef WORKER_CONFINE_H
#define WORKER_CONFINE_H

#include <sys/types.h>

struct worker_opts;

/*
 * Standard input becomes @in_fd (or /dev/null), standard output @out_fd, and of the others only @keep_fd
 * (above 2) stays. Then user, capabilities, limits and the system-call filter. The worker dies with @parent.
 * 0, or -errno with *ret_step naming what failed.
 */
int confine(const struct worker_opts *o, int in_fd, int out_fd, int keep_fd, pid_t parent, const char **ret_step);

#endif
