/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Function and rights of a worker, for its caller (worker.h) and the processes that start it.
 */
#ifndef WORKER_WORKER_OPTS_H
#define WORKER_WORKER_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	uint32_t uid, gid;		/* new user if started as root; 0 = those of `nobody` */
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

#endif
