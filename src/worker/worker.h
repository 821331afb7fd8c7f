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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct worker;

#define WORKER_FDS_MAX 32
#define WORKER_FD_FIRST 3		/* number of the first further descriptor in a plain worker */
#define WORKER_CTX_MAX (64u << 10)

struct worker_opts {
	const char *name;		/* for ps and messages */
	uint64_t memory_bytes;		/* address space in addition to that at the fork; 0 = 256 MiB */
	uint64_t cpu_seconds;		/* 0 = none */
	uint64_t cpu_ns;		/* a finer limit; 0 = none */
	bool asks;			/* its input is the socket of an opener (worker/opener.h) */
	bool refuse;			/* forbidden system calls fail instead of killing it: libraries try some */
	uint32_t uid, gid;		/* new user if started as root; 0 = `nobody` */
	const int *fds;			/* further descriptors above 2 that stay open */
	size_t n_fds;			/* at most WORKER_FDS_MAX */
	size_t ctx_bytes;		/* of a plain worker's context, at most WORKER_CTX_MAX; 0 = it gets NULL */
	/*
	 * worker_start() returns at once; worker_finish() reports a worker that could not drop its privileges (it
	 * exits before it reads its input). For callers that must not wait for the scheduler.
	 */
	bool later;
	/*
	 * It uses the network through libraries that load others and start threads: new descriptors, reading files,
	 * sockets and threads stay allowed; user, capabilities, execve(), writing files and privileged system calls
	 * do not.
	 */
	bool network;
	/*
	 * Capabilities that it keeps, with its user: it opens files for an unprivileged parent (worker/opener.h).
	 * 0 = none. It may open files and pass descriptors, no more.
	 */
	uint64_t rights;
	int unlink_fd;			/* with rights: directory in which it may remove files, above 2; 0 = none */
	/*
	 * It writes the files of a store: it keeps its user, without capabilities, and may create, rename and remove
	 * files, start threads and use the descriptors of @fds as sockets. With @gid it has that group.
	 */
	bool store;
	int nice;			/* priority; 0 = the caller's; ignored if not permitted */
};

/*
 * Confines the calling process irrevocably: uid 65534, no capabilities, a filter that allows reading files, writing
 * to open descriptors and starting workers. For a command that has opened its files and is about to decode untrusted
 * bytes. @accepts: it may accept connections on a listening socket. 0 or -errno; after a failure the process must
 * exit. Does nothing in builds with sanitizers.
 */
int worker_confine_self(bool accepts, struct err *err);

/* False in builds with sanitizers: they have neither memory limit nor system-call filter. */
bool worker_confines(void);

/*
 * Runs in the worker: @in_fd is the untrusted input (-1 = none), @out_fd a pipe to the parent. The return value
 * (0..255) is the worker's exit status. It may allocate; changes to its copy of the parent's memory are lost.
 */
typedef int (*worker_fn)(void *ctx, int in_fd, int out_fd);

/*
 * Declares a worker_fn plain: it uses its context, worker_opts.ctx_bytes without pointers, its descriptors, in the
 * order of worker_opts.fds from WORKER_FD_FIRST on, and nothing else that the process has made since its start. A
 * plain worker is started by the spawner, if one runs: worker/spawner.h.
 */
#define WORKER_PLAIN(fn) \
	static const worker_fn fn##_plain __attribute__((used, section("plain_workers"))) = fn

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
