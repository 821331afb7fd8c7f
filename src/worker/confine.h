/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drops the privileges of the calling process, irrevocably. Internal to src/worker.
 */
#ifndef WORKER_CONFINE_H
#define WORKER_CONFINE_H

#include <sys/types.h>

struct worker_opts;

/*
 * Standard input becomes @in_fd (or /dev/null), standard output @out_fd; of other descriptors only @keep_fd (above 2)
 * and those of @o stay. Then drops user and capabilities, sets limits and the system-call filter. The worker dies
 * with @parent. 0, or -errno and the step that failed in *ret_step.
 */
int confine(const struct worker_opts *o, int in_fd, int out_fd, int keep_fd, pid_t parent, const char **ret_step);

#endif
