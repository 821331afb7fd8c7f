/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds processes, containers and socket owners to events, from tables filled by the stream itself. Never reads /proc,
 * so live runs and replays have the same data.
 */
#ifndef ENRICH_ENRICH_H
#define ENRICH_ENRICH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct enrich;
struct event;

struct enrich_stats {
	uint64_t processes, sockets;	/* table entries */
	uint64_t evicted;		/* entries removed for the memory budget */
	uint64_t unresolved;		/* events whose process was unknown */
};

/* @budget_bytes: limit of all tables (0 = 64 MiB). */
struct enrich *enrich_new(size_t budget_bytes);
void enrich_free(struct enrich *e);

/*
 * Updates the tables from state events (by section and field names, not by probe), then extends @ev: SEC_PROC if its
 * process is known at its time, and the process keys if only the socket was known. Added data belongs to the tables
 * until the next event, or to @scratch. 0 or -ENOMEM.
 */
int enrich_event(struct enrich *e, struct event *ev, struct arena *scratch);

/* Records about processes up to @ts_ns were lost: owners known so far are unreliable until read again. */
void enrich_lost(struct enrich *e, uint64_t ts_ns);

/* User of the process (@tgid, @start_ns) at @ts_ns. False if it is unknown or a lost record may have changed it. */
bool enrich_owner(struct enrich *e, uint32_t tgid, uint64_t start_ns, uint64_t ts_ns, uint32_t *ret_uid);

void enrich_stats(const struct enrich *e, struct enrich_stats *ret);

#endif
