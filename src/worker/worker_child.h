/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first steps of a new worker. Internal to src/worker.
 */
#ifndef WORKER_CHILD_H
#define WORKER_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "worker/worker_opts.h"

/* Sent by a worker before it runs: code 0, or why it could not drop its privileges. */
struct start_report {
	int code;
	char step[60];
};

struct worker_child {
	const struct worker_opts *opts;
	worker_fn fn;
	void *ctx;
	int in_fd;		/* -1 = none */
	int answer_fd, report_fd;
	pid_t parent;
};

/* Is the function declared by WORKER_PLAIN()? */
bool worker_child_is_plain(worker_fn fn);

/* In the new process: drops its privileges, reports, runs the function. */
_Noreturn void worker_child_run(const struct worker_child *c);

#endif
