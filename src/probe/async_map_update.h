/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps into maps, without waiting. What is put into an array of maps is there at once, but the call returns only when
 * every program that may see what was there before has ended: 10 ms and more each, a third of what a start took. A
 * child process makes the calls, and waits.
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
/* Until async_map_update_start(). The descriptors stay the caller's, open until async_map_update_finish(). 0 or
 * -ENOMEM. */
int async_map_update_add(struct async_map_update *m, const struct async_map_update_put *p);
int async_map_update_start(struct async_map_update *m); /* 0 or -errno */

/* Returns when all are in place, as a rule at once: 0, or -errno when one cannot be. May be called again; NULL: 0. */
int async_map_update_finish(struct async_map_update *m);

/* Whether the child has ended, so that async_map_update_free() takes no time. */
bool async_map_update_ended(struct async_map_update *m);

/* Takes the child's end, which may take a grace period; NULL is fine. */
void async_map_update_free(struct async_map_update *m);

#endif
