/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads beside the one of the loop, which handles all signals. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* Runs @fn(@ctx) in a thread with all signals blocked. 0 or -errno. */
static inline int thread_start(pthread_t *ret, void *(*fn)(void *ctx), void *ctx)
{
	sigset_t all, before;
	int code;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(ret, NULL, fn, ctx);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -code;
}

#endif
