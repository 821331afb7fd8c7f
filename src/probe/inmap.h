/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps into maps, without waiting. What is put into an array of maps is there at once, but the call returns only when
 * every program that may see what was there before has ended: 10 ms and more each, a third of what a start took. A
 * child process makes the calls, and waits.
 */
#ifndef PROBE_INMAP_H
#define PROBE_INMAP_H

#include <stdbool.h>
#include <stdint.h>

struct inmap;

struct inmap_put {
	int outer_fd;		/* array of maps */
	uint32_t key;
	int inner_fd;
};

int inmap_new(struct inmap **ret);
/* Until inmap_start(). The descriptors stay the caller's, open until inmap_finish(). 0 or -ENOMEM. */
int inmap_add(struct inmap *m, const struct inmap_put *p);
int inmap_start(struct inmap *m);	/* 0 or -errno */

/* Returns when all are in place, as a rule at once: 0, or -errno when one cannot be. May be called again; NULL: 0. */
int inmap_finish(struct inmap *m);

/* Whether the child has ended, so that inmap_free() takes no time. */
bool inmap_ended(struct inmap *m);

/* Takes the child's end, which may take a grace period; NULL is fine. */
void inmap_free(struct inmap *m);

#endif
