/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that starts workers for this one.
 *
 * fork() copies the page tables of the caller, which then copies each page that it writes: 8 ms and up to 250 ms
 * more for an agent of 240 MB, for each program that starts. The spawner is forked while the process is small and
 * forks the workers: they are children of this process (CLONE_PARENT), without a copy of what it has read since.
 *
 * It takes workers whose functions are declared by WORKER_PLAIN() and that keep no rights: with it, whoever takes
 * over this process can start confined workers, nothing else.
 */
#ifndef WORKER_SPAWNER_H
#define WORKER_SPAWNER_H

#include <sys/types.h>

struct worker_child;
struct err;

/*
 * Starts the spawner of this process, from then on used by worker_start(); call it early, before other threads. Does
 * nothing if one runs. It ends with the process. 0 or -errno: workers are then forked directly.
 */
int spawner_start(struct err *err);
void spawner_stop(void);
pid_t spawner_pid(void);	/* 0: none runs */

/*
 * Internal to src/worker: starts @c with a copy of its context. Descriptors stay the caller's. The worker's pid,
 * -ENOENT if it has to be forked directly, or -errno.
 */
pid_t spawner_spawn(const struct worker_child *c);

#endif
