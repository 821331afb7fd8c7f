/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Updates of arrays of maps without blocking. The update takes effect at once, but the call returns only after all
 * programs that may use the old map have ended: 10 ms and more each, a third of the start time. A thread of its own
 * makes the calls and waits, with the capabilities and the signal mask of the caller; a child process would copy the
 * page tables.
 */
#ifndef PROBE_ASYNC_MAP_UPDATE_H
#define PROBE_ASYNC_MAP_UPDATE_H

#include <stdbool.h>
#include <stdint.h>

struct async_map_update;

struct async_map_update_put {
	int outer_fd; /* array of maps */
	uint32_t key;
	int inner_fd;
};

int async_map_update_new(struct async_map_update **ret);
/* Before async_map_update_start(). The caller keeps the descriptors open until all are in place. 0 or -ENOMEM. */
int async_map_update_add(struct async_map_update *m, const struct async_map_update_put *p);
int async_map_update_start(struct async_map_update *m); /* 0 or -errno */

/* 0: all are in place; -EAGAIN: not yet; or -errno. Never sleeps. */
int async_map_update_poll(struct async_map_update *m);

/* Sleeps until all are in place, which usually they are. 0 or -errno; NULL: 0. */
int async_map_update_finish(struct async_map_update *m);

/* The thread has ended, a grace period after the update: async_map_update_free() does not wait. */
bool async_map_update_ended(struct async_map_update *m);
/* It ended before the grace period. */
bool async_map_update_failed(const struct async_map_update *m);

/* Waits for the thread, up to an RCU grace period; NULL is fine. */
void async_map_update_free(struct async_map_update *m);

#endif
