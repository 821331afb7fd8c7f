/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process without rights that does the parsing of untrusted bytes.
 *
 * The worker is forked, gives up user, groups, capabilities and all descriptors but the two it is given, sets
 * limits on memory, CPU time and file size, and installs a seccomp filter that leaves read, write, seek, select,
 * anonymous memory and exit: anything else kills it. Descriptor in, bounded answer out, deadline.
 *
 * In builds with sanitizers the address-space limit and the filter are left out: their runtimes need more.
 */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct worker;

#define WORKER_FDS_MAX 32

struct worker_opts {
	const char *name;		/* for ps and messages */
	uint64_t memory_bytes;		/* address space above what it has at the fork; 0 = 256 MiB */
	uint64_t cpu_seconds;		/* 0 = none */
	uint64_t cpu_ns;		/* a finer limit; 0 = none */
	bool refuse;			/* system calls beyond its own fail, and do not kill it: libraries try them */
	uint32_t uid, gid;		/* to become, when started as root; 0 = nobody */
	const int *fds;			/* other descriptors that stay open, above 2, under their numbers */
	size_t n_fds;			/* at most WORKER_FDS_MAX */
	/*
	 * worker_start() returns at once, and worker_finish() tells of a worker that could not give up its rights (it
	 * ends before it looks at its input). For callers that must not wait for a scheduler.
	 */
	bool later;
	/*
	 * It talks to the network by libraries that load others and start threads: descriptors, reading of files,
	 * sockets and threads stay; user, capabilities, new programs, written files and what only rights are for go.
	 */
	bool network;
	/*
	 * Capabilities that it keeps, and its user with them: it opens files for a parent that gave up its own
	 * (worker/opener.h). 0 = none. It may open, and pass descriptors on; nothing else comes back.
	 */
	uint64_t rights;
	int unlink_fd;			/* with rights: the folder in which it may remove files, above 2; 0 = none */
	int nice;			/* also of a session of its own; 0 = the caller's; without rights likewise */
};

/*
 * Confines the calling process for good: uid 65534, no capabilities, a filter that leaves reading files, writing to
 * open ones, and workers without rights. For a command that has opened all it needs and goes on to decode untrusted
 * bytes. @accepts: it serves a socket that listens already, and may accept connections there. 0 or -errno; a process
 * that keeps rights must not go on. Nothing in builds with sanitizers.
 */
int worker_confine_self(bool accepts, struct err *err);

/* False in builds with sanitizers: memory limit and system-call filter are off. */
bool worker_confines(void);

/*
 * Runs in the worker: @in_fd is the untrusted input (-1 if none), @out_fd a pipe to the parent. Its return
 * value (0..255) becomes the worker's exit status. It may allocate, and what it wrote to its copy of the
 * parent's memory is gone with it.
 */
typedef int (*worker_fn)(void *ctx, int in_fd, int out_fd);

/*
 * @in_fd is duplicated into the worker (they share the file position). @ctx is seen by the worker as a copy
 * (fork). Returns when the worker has given up its rights: a worker that cannot is no worker, and the reason
 * stands in @err. The worker dies with the thread that starts it; other threads of the process hold no lock that @fn
 * needs (malloc's and stdio's are libc's care).
 */
int worker_start(const struct worker_opts *o, worker_fn fn, void *ctx, int in_fd, struct worker **ret,
		 struct err *err);

int worker_fd(const struct worker *w);	/* read end of its answers; EOF when it ended */
pid_t worker_pid(const struct worker *w);
int worker_end_fd(const struct worker *w);	/* readable when it has ended: worker_finish() does not wait then */

/*
 * Stops reading, waits until it ended, at most @timeout_ns (0 = for ever), then kills it. Exit status, or
 * -ETIMEDOUT, or -ECHILD when a signal (a forbidden system call, a limit, a crash) ended it; @err says which.
 * Frees @w.
 */
int worker_finish(struct worker *w, uint64_t timeout_ns, struct err *err);
void worker_kill(struct worker *w);	/* at once; NULL is fine; frees */

/*
 * One request, one answer: runs @fn on @in_fd in a fresh worker and reads at most @cap bytes of answer.
 * Returns the answer's length, -EMSGSIZE beyond @cap, -ETIMEDOUT, or -ECHILD, also when it ended with a status
 * other than 0. @timeout_ns 0 = no deadline.
 */
ssize_t worker_call(const struct worker_opts *o, worker_fn fn, void *ctx, int in_fd, void *answer, size_t cap,
		    uint64_t timeout_ns, struct err *err);

#endif
