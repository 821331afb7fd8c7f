/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An unprivileged process that parses untrusted bytes.
 *
 * The worker is forked, drops user, groups, capabilities and all descriptors but input and output, limits its memory,
 * CPU time and file size, and installs a seccomp filter that allows read, write, seek, select, anonymous memory and
 * exit; other calls kill it. It reads a descriptor and writes a bounded answer before a deadline.
 *
 * Builds with sanitizers have neither the address-space limit nor the filter: the runtimes need more.
 */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "worker/worker_opts.h"

struct err;
struct worker;

/*
 * The worker gets a duplicate of @in_fd (with a shared file position) and, by fork(), a copy of @ctx. Returns when
 * the worker has dropped its privileges; if it cannot, fails with the reason in @err. The worker dies with the thread
 * that started it. Other threads must not hold a lock that @fn takes (libc handles those of malloc and stdio).
 */
int worker_start(const struct worker_opts *o, worker_fn fn, void *ctx, int in_fd, struct worker **ret,
		 struct err *err);

int worker_fd(const struct worker *w);	/* read end of its answer; EOF when it exits */
pid_t worker_pid(const struct worker *w);
int worker_end_fd(const struct worker *w);	/* readable when it has ended: worker_finish() does not wait then */

/*
 * Stops reading and waits for the exit, at most @timeout_ns (0 = for ever), then kills the worker. Returns the exit
 * status, -ETIMEDOUT, or -ECHILD if a signal ended it (a forbidden system call, a limit, a crash), with the reason in
 * @err. Frees @w.
 */
int worker_finish(struct worker *w, uint64_t timeout_ns, struct err *err);
void worker_kill(struct worker *w);	/* at once; NULL is fine; frees */

/*
 * Runs @fn on @in_fd in a new worker and reads its answer of at most @cap bytes. Returns the answer's length,
 * -EMSGSIZE if it exceeds @cap, -ETIMEDOUT, or -ECHILD, also for an exit status other than 0. @timeout_ns 0 = no
 * deadline.
 */
ssize_t worker_call(const struct worker_opts *o, worker_fn fn, void *ctx, int in_fd, void *answer, size_t cap,
		    uint64_t timeout_ns, struct err *err);

#endif
