/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executable mappings of processes, by time. Knows numbers only; the owner of the table knows the modules.
 *
 * A forked process shares its parent's list until one of the two changes; the list before an exec is kept for older
 * samples; an exited process is kept for a while. Time is that of the events: the table has no clock of its own.
 */
#ifndef SYM_MAPTAB_H
#define SYM_MAPTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sym/maps/map_space.h"

struct map_key {
	uint32_t tgid;
	uint64_t start_ns;	/* 0 = whichever process has the pid at that time */
};

/* Data of the table's owner per process; zeroed at first and at exec, where the ids remain. */
struct map_who {
	struct map_key key;
	uint32_t ns_tgid, uid;	/* ns_tgid 0 = unknown, and so is uid */
	uint32_t jit;		/* module of its generated code, 0 = none */
};

/* A process at a point in time; valid until the table changes. */
struct map_view {
	const struct map_space *space;
	struct map_who *who;
	uint64_t generation;	/* changes whenever space changes; never 0 */
};

struct maptab_stats {
	uint64_t processes, spaces, mappings, bytes;
	uint64_t evicted;	/* processes evicted for lack of room */
	uint64_t refused;	/* mappings that did not fit their process */
};

struct maptab *maptab_new(size_t budget_bytes);
void maptab_free(struct maptab *t);	/* NULL is fine */

/* Each returns 0 or -ENOMEM. Facts may come in any order; an older fact never overrides a newer one. */
int maptab_fork(struct maptab *t, uint64_t ts_ns, struct map_key child, struct map_key parent);

/* Drops memory older than @image_ns; 0 = the time is unknown. */
int maptab_exec(struct maptab *t, uint64_t ts_ns, struct map_key key, uint64_t image_ns);

/* @m->since_ns: when it was mapped, or when a snapshot saw it. */
int maptab_map(struct maptab *t, struct map_key key, const struct mapping *m, bool snapshot);
void maptab_exit(struct maptab *t, uint64_t ts_ns, struct map_key key);

/* Sets the ids of a process and adds it if it is new. 0 or -ENOMEM. */
int maptab_ids(struct maptab *t, uint64_t ts_ns, struct map_key key, uint32_t ns_tgid, uint32_t uid);

/* False if the process was unknown at @ts_ns. */
bool maptab_find(struct maptab *t, struct map_key key, uint64_t ts_ns, struct map_view *ret);

void maptab_stats(const struct maptab *t, struct maptab_stats *ret);

#endif
