/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executable mappings of processes, by time. Knows numbers only: what a module is, its owner knows.
 *
 * A fork shares the list of its maker until one of the two changes; what exec leaves behind stays for samples that
 * are older; an exited process stays for a while. Time is that of the events: the table has no clock of its own.
 */
#ifndef SYM_MAPTAB_H
#define SYM_MAPTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct maptab;
struct map_space;

struct mapping {
	uint64_t start, end;	/* addresses; end is the first behind it */
	uint64_t off;		/* in the file, of start */
	uint64_t since_ns;
	uint32_t module;
	uint32_t pad;
};

struct map_key {
	uint32_t tgid;
	uint64_t start_ns;	/* 0 = whoever has the pid at that time */
};

/* What the owner of the table keeps with a process; zeroed at first and, but for the ids, at exec. */
struct map_who {
	struct map_key key;
	uint32_t ns_tgid, uid;	/* ns_tgid 0 = not known, nor is uid */
	uint32_t jit;		/* module of its own code, 0 = none */
};

/* A process at some time; good until the table changes. */
struct map_view {
	const struct map_space *space;
	struct map_who *who;
	uint64_t generation;	/* another one whenever what space says changes; never 0 */
};

struct maptab_stats {
	uint64_t processes, spaces, mappings, bytes;
	uint64_t evicted;	/* processes forgotten for lack of room */
	uint64_t refused;	/* mappings that did not fit their process */
};

struct maptab *maptab_new(size_t budget_bytes);
void maptab_free(struct maptab *t);	/* NULL is fine */

/* Each 0 or -ENOMEM. Facts may come in any order; none undoes a younger one. */
int maptab_fork(struct maptab *t, uint64_t ts_ns, struct map_key child, struct map_key maker);

/* The memory before @image_ns is gone; 0 = nobody knows when. */
int maptab_exec(struct maptab *t, uint64_t ts_ns, struct map_key key, uint64_t image_ns);

/* @m->since_ns is when it was made, or when a snapshot saw it. */
int maptab_map(struct maptab *t, struct map_key key, const struct mapping *m, bool snapshot);
void maptab_exit(struct maptab *t, uint64_t ts_ns, struct map_key key);

/* Ids of a process; makes it known. 0 or -ENOMEM. */
int maptab_ids(struct maptab *t, uint64_t ts_ns, struct map_key key, uint32_t ns_tgid, uint32_t uid);

/* False when the process was not known at @ts_ns. */
bool maptab_find(struct maptab *t, struct map_key key, uint64_t ts_ns, struct map_view *ret);

/* The mapping that holds @addr, or NULL. */
const struct mapping *map_space_at(const struct map_space *s, uint64_t addr);

void maptab_stats(const struct maptab *t, struct maptab_stats *ret);

#endif
