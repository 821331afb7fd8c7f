/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process without rights that does the parsing of untrusted bytes.
 *
 * The worker is forked, gives up user, capabilities, namespaces' worth of rights and all descriptors but
 * the ones it was given, sets limits on memory, CPU time and file size, and installs a seccomp filter that
 * leaves read, write, mmap of anonymous memory and exit. Descriptor in, bounded answer out, deadline.
 */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct worker;

struct worker_opts {
	const char *name;		/* for ps and messages */
	uint64_t memory_bytes;		/* address space above what it has at the fork; 0 = 256 MiB */
	uint64_t cpu_seconds;		/* 0 = none */
};

/*
 * Runs in the worker: @in_fd is the untrusted input (-1 if none), @out_fd a pipe to the parent. Its return
 * value (0..255) becomes the worker's exit status.
 */
typedef int (*worker_fn)(void *ctx, int in_fd, int out_fd);

/* @in_fd is duplicated into the worker. @ctx is seen by the worker as a copy (fork). */
int worker_start(const struct worker_opts *o, worker_fn fn, void *ctx, int in_fd, struct worker **ret,
		 struct err *err);

int worker_fd(const struct worker *w);	/* read end of its answers; EOF when it ended */
pid_t worker_pid(const struct worker *w);

/* Waits until it ended, at most @timeout_ns (0 = for ever), then kills it. Exit status, or -ETIMEDOUT, or
 * -ECHILD when a signal (seccomp, limits) ended it; @err says which. Frees @w. */
int worker_finish(struct worker *w, uint64_t timeout_ns, struct err *err);
void worker_kill(struct worker *w);	/* at once; NULL is fine; frees */

/*
 * One request, one answer: runs @fn on @in_fd in a fresh worker and reads at most @cap bytes of answer.
 * Returns the answer's length, -EMSGSIZE beyond @cap, -ETIMEDOUT, or -ECHILD.
 */
ssize_t worker_call(const struct worker_opts *o, worker_fn fn, void *ctx, int in_fd, void *answer, size_t cap,
		    uint64_t timeout_ns, struct err *err);

#endif
