/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drops the privileges of the calling process, irrevocably.
 */
#ifndef WORKER_CONFINE_H
#define WORKER_CONFINE_H

#include <stdbool.h>
#include <sys/types.h>

struct err;
struct worker_opts;

/*
 * Confines the calling process irrevocably: uid 65534, no capabilities, a filter that allows reading files, writing
 * to open descriptors and starting workers. For a command that has opened its files and is about to decode untrusted
 * bytes. @accepts: it may accept connections on a listening socket. 0 or -errno; after a failure the process must
 * exit. Does nothing in builds with sanitizers.
 */
int confine_self(bool accepts, struct err *err);

/* False in builds with sanitizers: they have neither memory limit nor system-call filter. */
bool confine_works(void);

/*
 * Internal to src/worker: standard input becomes @in_fd (or /dev/null), standard output @out_fd; of other descriptors
 * only @keep_fd (above 2) and those of @o stay. Then drops user and capabilities, sets limits and the system-call
 * filter. The worker dies with @parent. 0, or -errno and the step that failed in *ret_step.
 */
int confine(const struct worker_opts *o, int in_fd, int out_fd, int keep_fd, pid_t parent, const char **ret_step);

#endif
